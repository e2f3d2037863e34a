import type { ChangePlan } from "../../changes/recorder.ts";
import { dayMs, later, minuteMs } from "../../core/time.ts";
import { dueKey, forgetDue, moveDue } from "../../table/due.ts";
import type { Reader } from "../../table/table.ts";
import { type DkimState, dkimQueue, domainKey, isInUse, type StoredDomain } from "../domain.ts";
import { domainById } from "../find.ts";
import { Dkim, dkimKey, otherSelector } from "../records/dkim-keys.ts";
import { publicKeyIn } from "../records/mail-policies.ts";
import { absoluteName } from "../records/names.ts";
import { planRecords } from "../records/plan.ts";
import { recordsIn } from "../records/stored-record.ts";
import { syncZone } from "../records/sync.ts";
import { dkimNameOf, dkimRecord } from "../records/system-records.ts";
import { type ChangedMembers, domainUpdate, systemWriter, type DomainWork } from "../setup/work.ts";
import { domainChange } from "../view.ts";
import { getZone } from "../zone.ts";

/**
 * How long the record of a key stays in the DNS after the key signed its last mail, in milliseconds. A receiver may get
 * such mail late, and still needs the record.
 */
const retiringMs = 7 * dayMs;

/**
 * The waits between looks for the record of a new key, in milliseconds: from a minute to six hours. The last wait is
 * repeated.
 */
const lookWaitsMs = [1, 2, 5, 10, 30, 60, 180, 360].map((minutes) => minutes * minuteMs);

/** A domain whose DKIM key is being rotated. */
type Rotating = StoredDomain & { dkim: DkimState };

/** Whether a rotation of the domain's key is due at exactly this time. */
const isRotationDue = (domain: StoredDomain | undefined, at: string): domain is Rotating => domain?.dkim?.due_at === at;

/**
 * Advances the rotation of a domain's DKIM key. The rotation was queued for the time `at`. The new key signs once its
 * record is seen in the DNS. The record of the old key is removed seven days later. While a domain is not in use, its
 * rotation waits.
 */
export async function advanceDkim(accountId: string, id: string, at: string, work: DomainWork): Promise<void> {
  const domain = await domainById(work.table, accountId, id);
  if (!isRotationDue(domain, at)) return forgetRotation(accountId, id, at, work);
  const { next, former, looks } = domain.dkim;
  if (!isInUse(domain)) return wait(domain, dayMs, looks, work);
  if (next) {
    if (await isSeen(domain, next.selector, work)) return step(domain, planNewKey, work);
    const waitMs = lookWaitsMs[Math.min(looks, lookWaitsMs.length - 1)] ?? dayMs;
    return wait(domain, waitMs, looks + 1, work);
  }
  if (former) await step(domain, planKeyRemoval, work);
  await syncZone(accountId, id, work);
}

/** Removes the queue entry of a rotation for the time `at`, unless the rotation is still due at this time. */
const forgetRotation = (accountId: string, id: string, at: string, { table }: DomainWork): Promise<void> =>
  forgetDue(table, dueKey(dkimQueue, [accountId, id], at), async () => {
    const domain = await domainById(table, accountId, id);
    return {
      isDue: isRotationDue(domain, at),
      unchanged: { check: domainKey(accountId, id), if: domain ? { id, version: domain.version } : "absent" },
    };
  });

/** Whether the DNS has the record of the next key. */
async function isSeen({ account_id, id, name }: Rotating, selector: string, work: DomainWork): Promise<boolean> {
  const keys = await work.table.get(dkimKey(account_id, id), Dkim);
  if (keys?.next?.selector !== selector) return false;
  const { name: place, value } = dkimRecord(keys.next);
  const answer = await work.resolver.resolve(absoluteName(place, name), "TXT");
  if (answer.status !== "found") return false;
  return answer.records.some((one) => one.type === "TXT" && publicKeyIn(one.text) === publicKeyIn(value));
}

type RotationStep = (table: Reader, domain: Rotating, now: Date) => Promise<ChangePlan<undefined>>;

/** Takes a step of a rotation, unless another process has taken this step. */
async function step(domain: Rotating, plan: RotationStep, work: DomainWork): Promise<void> {
  const { table, commit, now } = systemWriter(work, domain.account_id);
  await commit(async (): Promise<ChangePlan<undefined>> => {
    const current = await domainById(table, domain.account_id, domain.id);
    const { due_at } = domain.dkim;
    if (due_at === null || !isRotationDue(current, due_at)) return { value: undefined, writes: [], changes: [] };
    return plan(table, current, now());
  });
}

/** Makes a rotation due again in `ms` milliseconds. */
const wait = (domain: Rotating, ms: number, looks: number, work: DomainWork): Promise<void> =>
  step(
    domain,
    async (_, current, now) => ({
      value: undefined,
      writes: rotationUpdate(current, { ...current.dkim, due_at: later(now, ms), looks }).writes,
      changes: [],
      housekeeping: true,
    }),
    work,
  );

/** The writes that store the state of a rotation, and move the rotation to its new time in the queue. */
function rotationUpdate(domain: Rotating, dkim: DkimState, members: ChangedMembers = {}) {
  const { after, writes } = domainUpdate(domain, { ...members, dkim });
  const { account_id, id } = domain;
  return { after, writes: [...writes, ...moveDue(dkimQueue, [account_id, id], domain.dkim.due_at, dkim.due_at)] };
}

/** Plans that the next key signs from now on. The private half of the old key is deleted. */
async function planNewKey(table: Reader, domain: Rotating, now: Date): Promise<ChangePlan<undefined>> {
  const { account_id, id } = domain;
  const key = dkimKey(account_id, id);
  const keys = await table.get(key, Dkim);
  if (!keys?.next) throw new Error(`${domain.name} has no next key`);
  const { next, selector, public_key } = keys;
  const [at, removes_at] = [now.toISOString(), later(now, retiringMs)];
  const { after, writes } = rotationUpdate(
    domain,
    { selector: next.selector, since: at, former: { selector, removes_at }, due_at: removes_at, looks: 0 },
    { updated_at: at },
  );
  return {
    value: undefined,
    writes: [...writes, { put: { ...key, ...next, former: { selector, public_key } }, if: { public_key } }],
    changes: [await domainChange(table, "dkim_rotated", domain, after)],
  };
}

/** Plans the removal of the old key's record. */
async function planKeyRemoval(table: Reader, domain: Rotating, now: Date): Promise<ChangePlan<undefined>> {
  const { account_id, id, dkim } = domain;
  const [zone, found] = await Promise.all([
    getZone(table, account_id, id),
    recordsIn(table, account_id, id, dkimNameOf(otherSelector(dkim.selector)), "TXT"),
  ]);
  const removed = found.filter(({ is_system_managed }) => is_system_managed);
  const edits = zone && removed.length > 0 ? [{ zone, removed }] : [];
  const { sole, changes } = await planRecords(table, account_id, edits, now);
  const { selector, since } = dkim;
  const record_count = domain.record_count - removed.length;
  const { after, writes } = rotationUpdate(
    domain,
    { selector, since, due_at: null, looks: 0 },
    { record_count, updated_at: now.toISOString() },
  );
  return {
    value: undefined,
    writes: [...writes, { update: dkimKey(account_id, id), remove: ["former"], if: "present" }],
    sole,
    changes: [await domainChange(table, "dkim_key_removed", domain, after), ...changes],
  };
}
