import { change } from "../../changes/kind.ts";
import type { Registration } from "../../providers/registrar/registrar.ts";
import { domainKind, holderKey, type StoredDomain } from "../domain.ts";
import { domainById } from "../find.ts";
import { newDkim } from "../records/dkim-keys.ts";
import { syncZone } from "../records/sync.ts";
import { domainViews } from "../view.ts";
import { planActivation, recheckMs } from "./activate.ts";
import { checkNs, mailChecks } from "./health.ts";
import { type Check, expectedRecords } from "./mail-checks.ts";
import { becoming, later, systemMover, type DomainWork } from "./work.ts";

const minuteMs = 60_000;
/** The waits between checks for a delegation, in milliseconds: short at first, a day in the end. */
const waitsMs = [1, 2, 5, 10, 30, 60, 180, 360, 720, 1_440].map((minutes) => minutes * minuteMs);
/** How many checks in a row must fail before the domain is `degraded`. */
const patience = 2;
/**
 * How many checks in a row, daily in the end, must find the delegation elsewhere before the hold on the name is
 * loosened.
 */
const longLost = waitsMs.length + 3;

/** Checks a registered domain: its delegation to us, and its mail records. */
export async function advanceChecks(domain: StoredDomain, work: DomainWork): Promise<void> {
  const current = domain.registration ? await checkRegistration(domain, work) : domain;
  if (!current) return;
  if (current.status === "pending_delegation") return awaitDelegation(current, work);
  if (current.status === "expired")
    return void (await become(current, { due_at: aDayOn(work.now()) }, undefined, work));
  return recheck(current, work);
}

/** Updates the stored registration; undefined when another process has changed the domain meanwhile. */
async function checkRegistration(domain: StoredDomain, work: DomainWork): Promise<StoredDomain | undefined> {
  const found = await work.registrar.registration(domain.name);
  const isExpired = !found || found.expiresAt <= work.now().toISOString();
  if (found && !isExpired) await bringUpToDate(found, domain, work);
  // A name that is not registered here may have another owner, who can then prove it.
  if (!found) await hold(domain, false, work);
  const before = domain.registration;
  const registration = found
    ? { status: "active" as const, expires_at: new Date(found.expiresAt).toISOString(), locked: found.locked }
    : before && { ...before, status: "expired" as const };
  const status = isExpired ? "expired" : domain.status === "expired" ? "pending_delegation" : domain.status;
  const status_reason = isExpired ? "Its registration has ended." : domain.status_reason;
  if (status === domain.status && JSON.stringify(registration) === JSON.stringify(before)) return domain;
  return become(domain, { status, status_reason, registration }, "updated", work);
}

/** Makes the registrar's settings match ours, also after a change that was interrupted half-way. */
async function bringUpToDate(found: Registration, { name, nameservers, auto_renew }: StoredDomain, work: DomainWork) {
  if (!isSame(found.nameservers, nameservers)) await work.registrar.setNameservers(name, nameservers);
  if (found.autoRenew !== auto_renew) await work.registrar.setAutoRenew(name, auto_renew);
}

const isSame = (one: Registration["nameservers"], other: readonly string[]): boolean =>
  JSON.stringify([...one].toSorted()) === JSON.stringify([...other].toSorted());

type Verb = "updated" | "degraded" | "recovered" | undefined;

/**
 * Stores the findings of a check, even if other members of the domain changed meanwhile. Stores nothing, and gives
 * undefined, if the status or the due time changed or another check was stored meanwhile.
 */
function become(
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
    const { after, writes } = becoming(current, { ...members, ...touched });
    const [before, shown] = (await domainViews(table, domain.account_id, [current, after])) as [object, object];
    return {
      value: after,
      writes,
      changes: verb === undefined ? [] : [change(domainKind, verb, domain.id, { before, after: shown })],
      housekeeping: true,
    };
  });
}

const soon = (failures: number, now: Date): string =>
  later(now, waitsMs[Math.min(failures, waitsMs.length - 1)] ?? recheckMs);

/**
 * The time of the next daily check, with a random spread, so that domains that were added together are not always
 * checked together.
 */
const aDayOn = (now: Date): string => later(now, recheckMs * (0.9 + Math.random() / 5));

async function awaitDelegation(domain: StoredDomain, work: DomainWork): Promise<void> {
  const { status } = await checkNs(work, domain);
  if (status !== "pass") {
    await become(domain, { failures: domain.failures + 1, due_at: soon(domain.failures, work.now()) }, undefined, work);
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
  if (failed.length > 0) return notice(domain, failed, work);
  if (checks.some(({ status }) => status === "unknown")) {
    await become(domain, { due_at: later(now, 60 * minuteMs) }, undefined, work);
    return;
  }
  const isBack = domain.status === "degraded";
  const well = { status: "active", status_reason: null, failures: 0, due_at: aDayOn(now) } as const;
  await become(domain, well, isBack ? "recovered" : undefined, work);
  if (isBack) await hold(domain, true, work);
}

/**
 * Sets whether the account holds the name firmly. A hold that is not firm passes to an account that proves the name.
 */
const hold = ({ id, name }: StoredDomain, firm: boolean, { table }: DomainWork): Promise<unknown> =>
  table.attempt({ update: holderKey(name), set: { firm }, if: { domain_id: id } });

async function notice(domain: StoredDomain, failed: readonly Check[], work: DomainWork): Promise<void> {
  const failures = domain.failures + 1;
  const status_reason = failed
    .map(({ message }) => message)
    .join(" ")
    .slice(0, 1_000);
  const isNews = domain.status !== "degraded" && failures >= patience;
  // A name that has long been delegated elsewhere may have another owner, who can then prove it.
  const isLost = failures >= longLost && failed.some(({ name }) => name === "ns") && domain.source === "connected";
  if (isLost) await hold(domain, false, work);
  const found = { failures, due_at: soon(failures + 1, work.now()) };
  if (!isNews) return void (await become(domain, found, undefined, work));
  await become(domain, { ...found, status: "degraded", status_reason }, "degraded", work);
}
