import { isDeepStrictEqual } from "node:util";

import { change } from "../../changes/kind.ts";
import { later, minuteMs } from "../../core/time.ts";
import { renewalGraceMs, redemptionMs, type Registration } from "../../providers/registrar/registrar.ts";
import type { Write } from "../../table/writes.ts";
import { domainKind, holderKey, registrationOf, type StoredDomain, type StoredRegistration } from "../domain.ts";
import { domainById } from "../find.ts";
import { readHolder } from "../holder.ts";
import { newDkim } from "../records/dkim-keys.ts";
import { syncZone } from "../records/sync.ts";
import { domainViews } from "../view.ts";
import { planActivation, recheckMs } from "./activate.ts";
import { dueBy } from "./expiry.ts";
import { checkNs, mailChecks } from "./health.ts";
import { type Check, expectedRecords } from "./mail-checks.ts";
import { planLoss } from "./takeover.ts";
import { domainUpdate, systemMover, type DomainWork } from "./work.ts";

/** The waits between checks after failures, in milliseconds: from a minute to a day. */
const waitsMs = [1, 2, 5, 10, 30, 60, 180, 360, 720, 1_440].map((minutes) => minutes * minuteMs);
/** How many checks in a row must fail before the domain is `degraded`. */
const failuresUntilDegraded = 2;
/**
 * How many checks in a row must find that the name is delegated to others before the account's hold on the name
 * stops being firm. The last of these checks are a day apart.
 */
const failuresUntilLoosened = waitsMs.length + 3;

/** Checks the delegation and the mail records of a domain. */
export async function advanceChecks(domain: StoredDomain, work: DomainWork): Promise<void> {
  if (domain.status === "pending_delegation") return awaitDelegation(domain, work);
  if (domain.status === "expired")
    return void (await storeResult(domain, { due_at: inAboutADay(work.now()) }, undefined, work));
  return recheck(domain, work);
}

/**
 * Updates the stored registration, and ends a domain whose name is lost. Returns the new state of the domain; undefined
 * when the name is lost, or another process has changed the domain meanwhile.
 */
export async function checkRegistration(domain: StoredDomain, work: DomainWork): Promise<StoredDomain | undefined> {
  const before = domain.registration;
  if (!before) return domain;
  const found = await work.registrar.registration(domain.name);
  if (!found) {
    // The name may have another owner, who can take it over, because the hold is not firm.
    await setFirm(domain, false, work);
    if (isLost(before, work.now())) return releaseName(domain, work);
  } else if (found.phase !== "redemption") await bringUpToDate(found, domain, work);
  const isExpired = !found || found.phase === "redemption";
  const hasReturned = !isExpired && domain.status === "expired";
  const state = {
    status: isExpired ? "expired" : hasReturned ? "pending_delegation" : domain.status,
    status_reason: isExpired ? ended : hasReturned ? null : domain.status_reason,
    registration: found ? registrationOf(found) : { ...before, status: "expired" as const },
  } as const;
  const { status, status_reason, registration } = domain;
  if (isDeepStrictEqual(state, { status, status_reason, registration })) return domain;
  return storeResult(domain, state, "updated", work);
}

const ended = "The domain's registration has ended.";

/** Whether a name that the registrar does not have can no longer be renewed. */
const isLost = ({ expires_at, redemption_ends_at }: StoredRegistration, now: Date): boolean =>
  expires_at !== null &&
  (redemption_ends_at ?? later(new Date(expires_at), renewalGraceMs + redemptionMs)) <= now.toISOString();

/** Ends a domain whose name is lost. Its account can get it back for a while. */
async function releaseName({ account_id, id, name, version }: StoredDomain, work: DomainWork): Promise<undefined> {
  const { table, commit, now } = systemMover(work, account_id);
  await commit(async () => {
    const [domain, holder] = await Promise.all([domainById(table, account_id, id), readHolder(table, name)]);
    if (domain?.version !== version) return { value: undefined, writes: [], changes: [] };
    const { before, after, writes } = await planLoss(table, domain, "ended", now());
    const held: Write[] = holder?.domain_id === id ? [{ delete: holderKey(name), if: { domain_id: id } }] : [];
    return {
      value: undefined,
      writes: [...writes, ...held],
      changes: [change(domainKind, "released", id, { before, after })],
    };
  });
}

/** Corrects the registrar's settings if they differ from ours, for example after an interrupted change. */
async function bringUpToDate(found: Registration, { name, nameservers }: StoredDomain, work: DomainWork) {
  if (!isSameSet(found.nameservers, nameservers)) await work.registrar.setNameservers(name, nameservers);
  // The product renews names itself, with the customer's money.
  if (found.autoRenew) await work.registrar.stopAutoRenew(name);
}

const isSameSet = (one: Registration["nameservers"], other: readonly string[]): boolean =>
  JSON.stringify([...one].toSorted()) === JSON.stringify([...other].toSorted());

type Verb = "updated" | "degraded" | "recovered" | undefined;

/**
 * Stores the result of a check, even if other members of the domain changed meanwhile. If the status or the due time
 * changed, or another check was stored meanwhile, it stores nothing and returns undefined.
 */
function storeResult(
  domain: StoredDomain,
  members: Partial<StoredDomain>,
  verb: Verb,
  work: DomainWork,
): Promise<StoredDomain | undefined> {
  const { table, commit, now } = systemMover(work, domain.account_id);
  return commit(async () => {
    const current = await domainById(table, domain.account_id, domain.id);
    const isSame = current?.status === domain.status && current.due_at === domain.due_at;
    if (!isSame || current.failures !== domain.failures) return { value: undefined, writes: [], changes: [] };
    const touched = verb === undefined ? {} : { updated_at: now().toISOString() };
    const expected = { ...current, ...members };
    const due_at = dueBy(expected, expected.due_at, now());
    const { after, writes } = domainUpdate(current, { ...members, due_at, ...touched });
    const [before, shown] = (await domainViews(table, domain.account_id, [current, after])) as [object, object];
    return {
      value: after,
      writes,
      changes: verb === undefined ? [] : [change(domainKind, verb, domain.id, { before, after: shown })],
      housekeeping: true,
    };
  });
}

const nextCheckAt = (failures: number, now: Date): string =>
  later(now, waitsMs[Math.min(failures, waitsMs.length - 1)] ?? recheckMs);

/**
 * The time of the next daily check, with a random spread, so that domains that were added together are not always
 * checked together.
 */
const inAboutADay = (now: Date): string => later(now, recheckMs * (0.9 + Math.random() / 5));

async function awaitDelegation(domain: StoredDomain, work: DomainWork): Promise<void> {
  const { status } = await checkNs(work, domain);
  if (status !== "pass") {
    await storeResult(
      domain,
      { failures: domain.failures + 1, due_at: nextCheckAt(domain.failures, work.now()) },
      undefined,
      work,
    );
    return;
  }
  const dkim = domain.verified_at === null ? await newDkim(domain, work.secrets, work.now()) : undefined;
  const { table, commit, now } = systemMover(work, domain.account_id);
  await commit(async () => {
    const current = await domainById(table, domain.account_id, domain.id);
    if (current?.version !== domain.version) return { value: undefined, writes: [], changes: [] };
    const { after: _, ...planned } = await planActivation(table, current, dkim, now());
    return { value: undefined, ...planned };
  });
  await syncZone(domain.account_id, domain.id, work);
}

/** Checks the mail records of an active or degraded domain. */
async function recheck(domain: StoredDomain, work: DomainWork): Promise<void> {
  const expected = await expectedRecords(work.table, domain);
  const asked = { resolver: work.resolver, domain: domain.name };
  const checks = (await Promise.all([checkNs(work, domain), mailChecks(asked, expected)])).flat();
  const now = work.now();
  const failed = checks.filter(({ name, status }) => status === "fail" && name !== "dmarc");
  if (failed.length > 0) return recordFailure(domain, failed, work);
  if (checks.some(({ status }) => status === "unknown")) {
    await storeResult(domain, { due_at: later(now, 60 * minuteMs) }, undefined, work);
    return;
  }
  const hasRecovered = domain.status === "degraded";
  const healthy = { status: "active", status_reason: null, failures: 0, due_at: inAboutADay(now) } as const;
  await storeResult(domain, healthy, hasRecovered ? "recovered" : undefined, work);
  if (hasRecovered) await setFirm(domain, true, work);
}

/**
 * Sets whether the account's hold on the name is firm. If it is not, an account that proves the name takes it over.
 */
const setFirm = ({ id, name }: StoredDomain, firm: boolean, { table }: DomainWork): Promise<unknown> =>
  table.attempt({ update: holderKey(name), set: { firm }, if: { domain_id: id } });

async function recordFailure(domain: StoredDomain, failed: readonly Check[], work: DomainWork): Promise<void> {
  const failures = domain.failures + 1;
  const status_reason = failed
    .map(({ message }) => message)
    .join(" ")
    .slice(0, 1_000);
  const isNewlyDegraded = domain.status !== "degraded" && failures >= failuresUntilDegraded;
  // A name that has long been delegated to others may have another owner, who can take it over if the hold is not firm.
  const isLost =
    failures >= failuresUntilLoosened && failed.some(({ name }) => name === "ns") && domain.source === "connected";
  if (isLost) await setFirm(domain, false, work);
  const found = { failures, due_at: nextCheckAt(failures + 1, work.now()) };
  if (!isNewlyDegraded) return void (await storeResult(domain, found, undefined, work));
  await storeResult(domain, { ...found, status: "degraded", status_reason }, "degraded", work);
}
