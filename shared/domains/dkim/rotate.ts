import type { ChangePlan } from "../../changes/recorder.ts";
import { notFound, Problem } from "../../core/errors.ts";
import { later, minuteMs, monthsAfter } from "../../core/time.ts";
import type { Context } from "../../http/route.ts";
import type { Secrets } from "../../providers/secrets/secrets.ts";
import { dueWrite } from "../../table/due.ts";
import type { Reader } from "../../table/table.ts";
import { type DkimState, dkimQueue, notReady, isInUse, type StoredDomain } from "../domain.ts";
import { domainById } from "../find.ts";
import { Dkim, dkimKey, type KeyPair, newDkim, otherSelector, signingOf } from "../records/dkim-keys.ts";
import { planRecords } from "../records/plan.ts";
import { recordsIn } from "../records/stored-record.ts";
import { syncZone } from "../records/sync.ts";
import { dkimNameOf, dkimRecord } from "../records/system-records.ts";
import { type DomainDetail, domainDetail } from "../setup/detail.ts";
import { domainUpdate, systemWriter, type DomainWork } from "../setup/work.ts";
import { domainChange } from "../view.ts";
import { getZone } from "../zone.ts";

/**
 * Begins to rotate the DKIM key of a domain: makes a new key. If the domain has its system records, adds the record of
 * the new key beside the record of the old key. The old key signs until the worker sees the new record in the DNS.
 * `isServed` says whether our nameservers should serve the new record. Throws:
 * - 404 if the domain was deleted meanwhile;
 * - 409 `domain_not_ready` if the domain is not in use;
 * - 409 `rotation_running` while an earlier rotation is not complete;
 * - 409 `record_conflict` if a record of the customer has the name of the new key's record;
 * - 503 if the key service does not answer.
 */
export async function rotateDkim(
  found: StoredDomain,
  context: Context,
  secrets: Secrets,
): Promise<{ value: DomainDetail; isServed: boolean }> {
  const { table, commit, now } = context;
  requireRotatable(found);
  const next = await newDkim(found, secrets, now(), otherSelector(signingOf(found).selector));
  let isServed = false;
  const value = await commit(async () => {
    const domain = await domainById(table, found.account_id, found.id);
    if (!domain) throw notFound();
    requireRotatable(domain);
    const plan = await planRotation(table, domain, next, now());
    isServed = plan.isServed;
    return { ...plan.planned, value: await domainDetail(plan.planned.value, context) };
  });
  return { value, isServed };
}

function requireRotatable(domain: StoredDomain): void {
  const { name, status, dkim } = domain;
  if (!isInUse(domain)) throw notReady(status, `${name} is ${status}. Its DKIM key cannot be rotated.`);
  if (dkim?.next) throw nextWaits(name, dkim.next.selector);
  if (!dkim?.former) return;
  const { selector, removes_at } = dkim.former;
  const detail = `The record of the former key ${selector} of ${name} is still in the DNS, for the mail that this key signed. Rotate again after ${removes_at}.`;
  throw new Problem("rotation_running", detail, { removes_at });
}

const nextWaits = (name: string, selector: string): Problem =>
  new Problem("rotation_running", `The key ${selector} of ${name} waits until its record is seen in the DNS.`);

/** The time from the beginning of a rotation to the first look for the new record in the DNS, in milliseconds. */
const firstLookMs = minuteMs;

type Rotation = { planned: ChangePlan<StoredDomain>; isServed: boolean };

/**
 * Plans the beginning of a rotation. The caller makes the key `next` before the transaction, because a transaction must
 * not wait for a new key.
 */
async function planRotation(table: Reader, domain: StoredDomain, next: KeyPair, now: Date): Promise<Rotation> {
  const { account_id, id, name } = domain;
  const record = dkimRecord(next);
  const key = dkimKey(account_id, id);
  const signing = signingOf(domain);
  const [keys, zone, atNewName, ofSigningKey] = await Promise.all([
    table.get(key, Dkim),
    getZone(table, account_id, id),
    recordsIn(table, account_id, id, record.name),
    recordsIn(table, account_id, id, dkimNameOf(signing.selector), record.type),
  ]);
  if (!keys || !zone) throw notFound();
  const [inTheWay] = atNewName;
  // Another rotation has begun since the domain was read.
  if (inTheWay?.is_system_managed) throw nextWaits(name, next.selector);
  if (inTheWay) {
    const detail = `The name ${record.name} of ${name} has the record ${inTheWay.id}. The new key needs this name. Delete the record, and rotate the key again.`;
    throw new Problem("record_conflict", detail, { conflicts_with: inTheWay.id });
  }
  const hasMailRecords = ofSigningKey.some(({ is_system_managed }) => is_system_managed);
  const edits = hasMailRecords ? [{ zone, added: [record], isSystem: true }] : [];
  const { sole, changes } = await planRecords(table, account_id, edits, now);
  const at = now.toISOString();
  const due_at = later(now, firstLookMs);
  const dkim: DkimState = {
    selector: signing.selector,
    since: signing.since,
    next: { selector: next.selector, since: at },
    due_at,
    looks: 0,
  };
  const record_count = domain.record_count + (hasMailRecords ? 1 : 0);
  const { after, writes } = domainUpdate(domain, { dkim, record_count, updated_at: at });
  const planned = {
    value: after,
    writes: [
      ...writes,
      { update: key, set: { next }, if: { public_key: keys.public_key } },
      dueWrite(dkimQueue, [account_id, id], due_at),
    ],
    sole,
    changes: [await domainChange(table, "dkim_rotation_started", domain, after), ...changes],
  };
  return { planned, isServed: hasMailRecords && zone.wanted };
}

/**
 * Begins to rotate the DKIM key of an active domain, if the key is older than `dkim_rotation_months` allows. Throws 409
 * `record_conflict` and 503 as `rotateDkim` does, and 409 `rotation_running` if another rotation begins at the same
 * time.
 */
export async function rotateWhenDue({ account_id, id }: StoredDomain, work: DomainWork): Promise<void> {
  const { table, commit, now } = systemWriter(work, account_id);
  const found = await domainById(table, account_id, id);
  if (!found || !isDue(found, now())) return;
  const next = await newDkim(found, work.secrets, now(), otherSelector(signingOf(found).selector));
  await commit(async (): Promise<ChangePlan<undefined>> => {
    const domain = await domainById(table, account_id, id);
    if (!domain || !isDue(domain, now())) return { value: undefined, writes: [], changes: [] };
    const { planned } = await planRotation(table, domain, next, now());
    return { ...planned, value: undefined };
  });
  await syncZone(account_id, id, work);
}

function isDue(domain: StoredDomain, now: Date): boolean {
  const { status, dkim, dkim_rotation_months: months } = domain;
  if (months === null || status !== "active" || dkim?.next || dkim?.former) return false;
  return monthsAfter(new Date(signingOf(domain).since), months) <= now;
}
