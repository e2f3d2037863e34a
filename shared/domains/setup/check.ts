import { isDeepStrictEqual } from "node:util";

import { change } from "../../changes/kind.ts";
import { Problem } from "../../core/errors.ts";
import { checkWaitsMs, inAboutADay, later, minuteMs, nextCheckAt } from "../../core/time.ts";
import { spfEdits } from "../../dedicated-ips/spf.ts";
import { Refused, renewalGraceMs, redemptionMs, type Registration } from "../../providers/registrar/registrar.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { DegradingCheck, domainKey, domainKind, holderKey, provedAgainMembers, type StoredDomain } from "../domain.ts";
import { domainById } from "../find.ts";
import { faultsText, isFault, membersAfterChecks, type SeenRecords } from "../health/faults.ts";
import { mailChecks, proofCheck } from "../health/health.ts";
import { type Check, expectedRecords } from "../health/mail-checks.ts";
import { proofState, type ProofState } from "../health/proof.ts";
import { readHolder } from "../holder.ts";
import { ensureDkim, missingDkim } from "../records/dkim-keys.ts";
import { planRecords } from "../records/plan.ts";
import { syncZone } from "../records/sync.ts";
import { registrationOf, type StoredRegistration } from "../registration-state.ts";
import { domainChange } from "../view.ts";
import { subzoneWrites, zoneObstacle } from "../zone-neighbours.ts";
import { getZone } from "../zone.ts";
import { nextRecheck, planActivation } from "./activate.ts";
import { dueBy } from "./expiry.ts";
import { correctProtection } from "./protection.ts";
import { hasDeparted } from "./registrar-request.ts";
import { planReleasing } from "./releasing.ts";
import { domainUpdate, systemWriter, type DomainWork } from "./work.ts";

/** How many checks in a row must fail before the domain is `degraded`. */
const failuresUntilDegraded = 2;
/**
 * After this many checks in a row that found no proof of the name, the hold of a connected domain on its name is not
 * firm any more. The last of these checks are a day apart.
 */
const failuresUntilLoosened = checkWaitsMs.length + 3;

/**
 * Checks the proof of a domain's name. If the domain is active or degraded, also checks its mail records. An `expired`
 * domain is not checked. Only the time at which the worker looks at it next is stored.
 */
export async function advanceChecks(domain: StoredDomain, work: DomainWork): Promise<void> {
  if (domain.status === "expired")
    return void (await storeResult(domain, { due_at: inAboutADay(work.now()) }, {}, work));
  if (domain.dns_mode === "external") await ensureDkim(domain, work);
  return domain.status === "pending_delegation" ? awaitProof(domain, work) : recheck(domain, work);
}

/**
 * Updates the stored registration of a domain, and corrects the registrar's settings of the name.
 * - If another registrar has the name, the domain becomes a connected domain.
 * - If the registration has ended and cannot be renewed, the domain is released.
 *
 * Returns the new state of the domain. Undefined if the domain is released, or another process has changed the domain.
 * Throws 503 if the registrar does not answer.
 */
export async function checkRegistration(domain: StoredDomain, work: DomainWork): Promise<StoredDomain | undefined> {
  const before = domain.registration;
  if (!before) return domain;
  const found = await work.registrar.registration(domain.name);
  let areNameserversRefused = false;
  if (!found) {
    if (await hasDeparted(domain, work)) return noteDeparture(domain, work);
    if (isLost(before, work.now())) return releaseName(domain, work);
  } else if (found.phase !== "redemption") areNameserversRefused = await bringUpToDate(found, domain, work);
  const isExpired = !found || found.phase === "redemption";
  const hasReturned = !isExpired && domain.status === "expired";
  if (hasReturned) await setFirm(domain, true, work);
  const state = {
    ...statusAfter(domain, isExpired),
    registration: found ? registrationOf(found, before) : { ...before, status: "expired" as const },
  };
  const { status, status_reason, registration, nameservers_refused = false } = domain;
  const isSame = isDeepStrictEqual(state, { status, status_reason, registration });
  const event = isExpired && status !== "expired" ? "expired" : "updated";
  const stored =
    isSame && areNameserversRefused === nameservers_refused
      ? domain
      : await storeResult(
          domain,
          { ...state, nameservers_refused: areNameserversRefused },
          { verb: isSame ? undefined : event },
          work,
        );
  // The name may have another owner, who can then take the name over by a proof. `expired` is stored before the hold is
  // loosened: a later check makes the hold firm again only if the stored status is `expired` (`hasReturned`).
  if (!found && stored) await setFirm(stored, false, work);
  return stored;
}

/**
 * Stores that another registrar has the name. Mail goes on while the name is delegated to us. Returns the new state of
 * the domain, or undefined if another process has changed the domain.
 */
async function noteDeparture(found: StoredDomain, work: DomainWork): Promise<StoredDomain | undefined> {
  const { account_id, id, version } = found;
  const { table, commit, now } = systemWriter(work, account_id);
  return commit(async () => {
    const domain = await domainById(table, account_id, id);
    if (domain?.version !== version) return { value: undefined, writes: [], changes: [] };
    const { after, writes } = domainUpdate(domain, {
      ...(domain.status === "expired" ? { status: "pending_delegation" as const, status_reason: null } : {}),
      source: "connected",
      registration: null,
      auto_renew: false,
      updated_at: now().toISOString(),
    });
    // The hold stays firm only if an earlier check saw the proof of the name. The domain is then active or degraded.
    const isProved = domain.status === "active" || domain.status === "degraded";
    return {
      value: after,
      writes: [...writes, ...(await firmWrites(domain, isProved, table))],
      changes: [await domainChange(table, "transferred_out", domain, after)],
    };
  });
}

const ended = "The domain's registration has ended.";

/**
 * The status of a domain after a check of its registration. If the registrar shows an `expired` name as registered
 * again, the name must be proved again.
 */
function statusAfter(
  { status, status_reason }: StoredDomain,
  isExpired: boolean,
): Pick<StoredDomain, "status" | "status_reason"> {
  if (isExpired) return { status: "expired", status_reason: ended };
  return status === "expired" ? { status: "pending_delegation", status_reason: null } : { status, status_reason };
}

/** Whether a name that the registrar does not show is past its redemption. Then the name cannot be renewed. */
export const isLost = ({ expires_at, redemption_ends_at }: StoredRegistration, now: Date): boolean =>
  expires_at !== null &&
  (redemption_ends_at ?? later(new Date(expires_at), renewalGraceMs + redemptionMs)) <= now.toISOString();

/** Releases a domain whose registration has ended. For 30 days, the account can get the domain back. */
async function releaseName({ account_id, id, version }: StoredDomain, work: DomainWork): Promise<undefined> {
  const { table, commit, now } = systemWriter(work, account_id);
  await commit(async () => {
    const domain = await domainById(table, account_id, id);
    if (domain?.version !== version) return { value: undefined, writes: [], changes: [] };
    const { before, after, writes } = await planReleasing(table, domain, "ended", now());
    return { value: undefined, writes, changes: [change(domainKind, "released", id, { before, after })] };
  });
}

/**
 * Corrects the registrar's settings of a name if they differ from ours, for example after an interrupted change. A
 * correction that fails is logged, and tried again at the next check. So its failure does not prevent the renewal of
 * the name. Returns whether the registrar refused our nameservers. Throws 503 if the registrar does not answer.
 */
async function bringUpToDate(
  found: Registration,
  domain: StoredDomain,
  { registrar, log }: DomainWork,
): Promise<boolean> {
  const { id, name, dns_mode, nameservers, registration } = domain;
  const attempt = async (correction: () => Promise<void>): Promise<"made" | "refused" | "failed"> => {
    try {
      await correction();
      return "made";
    } catch (error) {
      if (error instanceof Problem && error.status === 503) throw error;
      log.error("correction at the registrar failed", { domain_id: id, reason: String(error) });
      return error instanceof Refused ? "refused" : "failed";
    }
  };
  const differInNameservers = dns_mode === "hosted" && !isSameSet(found.nameservers, nameservers);
  const outcome = differInNameservers ? await attempt(() => registrar.setNameservers(name, nameservers)) : "made";
  // The registrar must not renew the name, because the product renews it itself with the customer's money.
  if (found.autoRenew) await attempt(() => registrar.stopAutoRenew(name));
  if (registration) await attempt(() => correctProtection(found, registration, name, registrar));
  return outcome === "refused";
}

const isSameSet = (one: Registration["nameservers"], other: readonly string[]): boolean =>
  JSON.stringify([...one].toSorted()) === JSON.stringify([...other].toSorted());

type Verb = "updated" | "expired" | "degraded" | "recovered" | undefined;

/**
 * Stores the result of a check. If `verb` is given, records an event. If `firm` is given, also sets whether the hold on
 * the name is firm (`StoredHolder`). Returns the new state of the domain. Stores nothing and returns undefined if one
 * of the members in `checkedOf` has changed meanwhile, for example by a verification.
 */
function storeResult(
  domain: StoredDomain,
  members: Partial<StoredDomain>,
  { verb, firm }: { verb?: Verb; firm?: boolean | undefined },
  work: DomainWork,
): Promise<StoredDomain | undefined> {
  const { table, commit, now } = systemWriter(work, domain.account_id);
  return commit(async () => {
    const current = await domainById(table, domain.account_id, domain.id);
    if (!current || !isDeepStrictEqual(checkedOf(current), checkedOf(domain))) {
      return { value: undefined, writes: [], changes: [] };
    }
    const touched = verb === undefined ? {} : { updated_at: now().toISOString() };
    const expected = { ...current, ...members };
    const due_at = dueBy(expected, expected.due_at, now());
    const { after, writes } = domainUpdate(current, { ...members, due_at, ...touched });
    return {
      value: after,
      writes: [...writes, ...(firm === undefined ? [] : await firmWrites(current, firm, table))],
      changes: verb === undefined ? [] : [await domainChange(table, verb, current, after)],
      housekeeping: true,
    };
  });
}

/** The members of a domain by which `storeResult` sees that another check changed the domain. */
const checkedOf = ({ status, due_at, failures, unproved = 0, sending_ready, seen_right }: StoredDomain) => ({
  status,
  due_at,
  failures,
  unproved,
  sending_ready,
  seen_right,
});

/** The write that sets whether a domain's hold on its name is firm, if the domain is the holder. */
async function firmWrites({ id, name }: StoredDomain, firm: boolean, table: Reader): Promise<Write[]> {
  const holder = await readHolder(table, name);
  if (holder?.domain_id !== id || holder.firm === firm) return [];
  return [{ update: holderKey(name), set: { firm }, if: { domain_id: id } }];
}

/**
 * Checks the proof of a domain that waits for it. Activates the domain if the name is proved and the nameservers can
 * hold its zone. Otherwise stores that the domain still waits.
 */
async function awaitProof(domain: StoredDomain, work: DomainWork): Promise<void> {
  const proof = await proofState(work.resolver, domain);
  if (proof.verified !== true) return recordWaiting(domain, proof, work);
  const obstacle = domain.dns_mode === "hosted" ? await zoneObstacle(work.table, domain.name) : undefined;
  if (obstacle !== undefined) {
    const members = { status_reason: obstacle, ...provedAgainMembers(domain) };
    return storeWaiting(domain, members, work, hasHold(domain) ? true : undefined);
  }
  const dkim = await missingDkim(domain, work);
  const { table, commit, now } = systemWriter(work, domain.account_id);
  await commit(async () => {
    const current = await domainById(table, domain.account_id, domain.id);
    if (current?.version !== domain.version) return { value: undefined, writes: [], changes: [] };
    const { after: _, ...planned } = await planActivation(table, current, dkim, now());
    return { value: undefined, ...planned };
  });
  await syncZone(domain.account_id, domain.id, work);
}

/** Whether a connected domain that waits for its proof was proved before, so that it still holds its name. */
const hasHold = ({ source, verified_at }: StoredDomain): boolean => source === "connected" && verified_at !== null;

/**
 * Stores that a check did not see the proof that a domain waits for. A domain that was proved before still holds its
 * name (`hasHold`), for example after a change of its DNS mode. The TXT record proves this hold even if the domain is
 * hosted, and makes the hold firm. After `failuresUntilLoosened` checks that saw no TXT record and no other proof, the
 * hold is not firm any more.
 */
async function recordWaiting(domain: StoredDomain, proof: ProofState, work: DomainWork): Promise<void> {
  if (!hasHold(domain)) return storeWaiting(domain, { status_reason: null }, work);
  const record = proof.record ?? (await proofState(work.resolver, { ...domain, dns_mode: "external", handover: null }));
  if (record.verified === true) {
    return storeWaiting(domain, { status_reason: null, ...provedAgainMembers(domain) }, work, true);
  }
  const isUnproved = record.verified === false && proof.verified === false;
  // The DNS gave no answer about one of the proofs, so the count stays.
  if (!isUnproved) return storeWaiting(domain, { status_reason: null }, work);
  const unproved = (domain.unproved ?? 0) + 1;
  const firm = unproved >= failuresUntilLoosened ? false : undefined;
  await storeWaiting(domain, { status_reason: null, unproved }, work, firm);
}

/**
 * Stores that a domain still waits for its proof or its zone, and when it is checked again. A new `status_reason` is an
 * event.
 */
async function storeWaiting(
  domain: StoredDomain,
  members: Pick<StoredDomain, "status_reason" | "unproved">,
  work: DomainWork,
  firm?: boolean,
): Promise<void> {
  const waiting = { failures: domain.failures + 1, due_at: nextCheckAt(domain.failures, work.now()) };
  const verb = members.status_reason === domain.status_reason ? undefined : "updated";
  await storeResult(domain, { ...waiting, ...members }, { verb, firm }, work);
}

/** Checks the proof and the mail records of an active or degraded domain. */
async function recheck(domain: StoredDomain, work: DomainWork): Promise<void> {
  const expected = await expectedRecords(work.table, domain);
  const [proof, mail, obstacle] = await Promise.all([
    proofState(work.resolver, domain),
    mailChecks({ resolver: work.resolver, domain }, expected),
    domain.dns_mode === "hosted" ? missingZone(domain, work) : undefined,
  ]);
  if (domain.dns_mode === "hosted") await correctSpf(domain, mail, work);
  const checks = [withObstacle(proofCheck(domain, proof), obstacle), ...mail];
  const now = work.now();
  const seen = domain.dns_mode === "external" ? membersAfterChecks(domain, checks, proof, now) : {};
  const failed = checks.filter((check) => isFault(check, domain));
  if (failed.length > 0) return recordFailure(domain, failed, { ...seen, verified: proof.verified }, work);
  if (checks.some(({ status }) => status === "unknown")) {
    const verb = readyEvent(domain, seen);
    await storeResult(domain, { ...seen, due_at: later(now, 60 * minuteMs) }, { verb }, work);
    return;
  }
  const hasRecovered = domain.status === "degraded";
  const due_at = nextRecheck({ ...domain, ...seen }, now);
  const healthy = {
    status: "active" as const,
    status_reason: null,
    broken_records: [],
    failures: 0,
    ...provedAgainMembers(domain),
  };
  const verb = hasRecovered ? "recovered" : readyEvent(domain, seen);
  const firm = hasRecovered ? true : undefined;
  await storeResult(domain, { ...seen, ...healthy, due_at }, { verb, firm }, work);
}

/**
 * Returns a text that says why the nameservers cannot hold the zone of a hosted domain. Undefined if the nameservers
 * hold the zone, or can hold it. Also notes an existing zone under the names above it (`subzoneWrites`), because
 * earlier versions of the product did not note it.
 */
async function missingZone({ account_id, id, name }: StoredDomain, { table }: DomainWork): Promise<string | undefined> {
  const zone = await getZone(table, account_id, id);
  if (zone?.zone_id === undefined) return zoneObstacle(table, name);
  for (const write of subzoneWrites({ account_id, id, name })) await table.attempt(write);
  return undefined;
}

/**
 * Corrects the SPF record of a hosted domain if neither the DNS nor our stored records have the expected SPF record.
 * Earlier versions of the product stored our own include twice if `spf_includes` named it.
 */
async function correctSpf({ account_id, id }: StoredDomain, mail: readonly Check[], work: DomainWork): Promise<void> {
  const { observed, expected } = mail.find(({ name }) => name === "spf") ?? {};
  if (!observed || !expected || isDeepStrictEqual(observed, expected)) return;
  const { table, commit, now } = systemWriter(work, account_id);
  const isCorrected = await commit(async () => {
    const domain = await domainById(table, account_id, id);
    const edits = domain?.is_open === true ? await spfEdits(table, domain) : [];
    if (!domain || edits.length === 0) return { value: false, writes: [], changes: [] };
    const { sole, changes } = await planRecords(table, account_id, edits, now());
    // The settings must not change between the reading of the domain and of its record.
    const unchanged: Write = { check: domainKey(account_id, id), if: { id, version: domain.version } };
    return { value: true, writes: [unchanged], sole, changes };
  });
  if (isCorrected) await syncZone(account_id, id, work);
}

const withObstacle = (check: Check, message: string | undefined): Check =>
  message === undefined ? check : { ...check, status: "fail", message };

/** The event for a check that found the domain ready to send mail for the first time; otherwise undefined. */
const readyEvent = (domain: StoredDomain, { sending_ready }: SeenRecords): Verb =>
  sending_ready === true && !domain.sending_ready ? "updated" : undefined;

/** Sets whether a domain's hold on its name is firm, if the domain is the holder. See `StoredHolder`. */
const setFirm = ({ id, name }: StoredDomain, firm: boolean, { table }: DomainWork): Promise<unknown> =>
  table.attempt({ update: holderKey(name), set: { firm }, if: { domain_id: id } });

/**
 * The count of checks without a proof, after a check with a fault. `verified` says whether the check saw the proof, and
 * is undefined if the DNS gave no answer about the proof. `firm` says whether the hold on the name becomes firm, and is
 * undefined if the hold stays as it is.
 */
function proofAfterFailure(
  domain: StoredDomain,
  verified: boolean | undefined,
): { members: Pick<StoredDomain, "unproved">; firm: boolean | undefined } {
  if (verified === undefined) return { members: {}, firm: undefined };
  const isConnected = domain.source === "connected";
  const before = domain.unproved ?? 0;
  if (verified) {
    const isRegained = isConnected && before >= failuresUntilLoosened;
    return { members: provedAgainMembers(domain), firm: isRegained ? true : undefined };
  }
  const unproved = before + 1;
  // A name that has not been proved for a long time may have another owner, who can then take the name over by a proof.
  const isLoosened = isConnected && unproved >= failuresUntilLoosened;
  return { members: { unproved }, firm: isLoosened ? false : undefined };
}

/** Stores that a check found faults. After several such checks in a row, the domain is `degraded`. */
async function recordFailure(
  domain: StoredDomain,
  failed: readonly Check[],
  { verified, ...seen }: SeenRecords & Pick<ProofState, "verified">,
  work: DomainWork,
): Promise<void> {
  const failures = domain.failures + 1;
  const { members, firm } = proofAfterFailure(domain, verified);
  const found = { ...seen, ...members, failures, due_at: nextCheckAt(failures + 1, work.now()) };
  const wasDegraded = domain.status === "degraded";
  const verb = readyEvent(domain, seen);
  const storeWithoutStatus = async () => void (await storeResult(domain, found, { verb, firm }, work));
  if (!wasDegraded && failures < failuresUntilDegraded) return storeWithoutStatus();
  const broken_records = DegradingCheck.options.filter((name) => failed.some((check) => check.name === name));
  if (wasDegraded && isDeepStrictEqual(broken_records, domain.broken_records)) return storeWithoutStatus();
  const status_reason = faultsText(failed);
  const isWorse = broken_records.some((name) => !domain.broken_records.includes(name));
  const degraded = { ...found, status: "degraded", status_reason, broken_records } as const;
  await storeResult(domain, degraded, { verb: isWorse ? "degraded" : "updated", firm }, work);
}
