import { isDeepStrictEqual } from "node:util";

import { Problem } from "../../core/errors.ts";
import { dayMs } from "../../core/time.ts";
import type { RegistrarOperation } from "../../providers/registrar/registrar.ts";
import { planWallet } from "../../wallet/wallet.ts";
import { rotateWhenDue } from "../dkim/rotate.ts";
import { isRenewing, type Renewing, type StoredDomain } from "../domain.ts";
import { domainById } from "../find.ts";
import { registrationOf } from "../registration-state.ts";
import { advanceChecks, checkRegistration, isLost } from "../setup/check.ts";
import { isRenewalDue, noticeDue } from "../setup/expiry.ts";
import { advanceRequest, operationWrite, type Conclusion, type RequestKind } from "../setup/registrar-request.ts";
import { domainUpdate, systemWriter, type ChangedMembers, type DomainWork } from "../setup/work.ts";
import { domainChange } from "../view.ts";
import { renewAutomatically } from "./renew.ts";

const yearOf = (date: string): number => new Date(date).getUTCFullYear();

/** The request to renew a registration. */
const renewing: RequestKind<Renewing> = {
  operation: "renew",
  isOpen: isRenewing,
  progress: ({ renewal }) => renewal,
  members: ({ renewal }, progress, due_at) => ({ renewal: { ...renewal, ...progress }, due_at }),
  send: ({ name, renewal: { years, from, restore_fee } }, work) =>
    work.registrar.renew({ name, years, expiresAt: from, restore: restore_fee > 0 }),
  // The renewal has taken effect if the registration ends in a later year than before.
  effect: async ({ name, renewal }, work) => {
    const found = await work.registrar.registration(name);
    return found && yearOf(found.expiresAt) <= yearOf(renewal.from) ? "absent" : found;
  },
  conclude,
  concludeDeparted: (domain, operation, work) => conclude(domain, { operation }, work),
};

/** How long a renewal runs before the account also gets the notices that the registration ends, in milliseconds. */
const patienceMs = dayMs;

/**
 * Advances the renewal of a domain by all steps that are possible now. The other steps stay due. If the renewal runs
 * for longer than a day:
 * - If the name is lost, this ends the renewal.
 * - Otherwise this stores the registration that the registrar shows, and sends the notices that the registration ends.
 *
 * The worker does no other regular work during a renewal. So nobody else can take the name over while the price of the
 * renewal is held.
 */
export async function advanceRenewal(domain: Renewing, work: DomainWork): Promise<void> {
  await advanceRequest(renewing, domain, work);
  if (work.now().getTime() - Date.parse(domain.renewal.started_at) < patienceMs) return;
  const current = await domainById(work.table, domain.account_id, domain.id);
  if (!isRenewing(current) || (await endLost(current, work))) return;
  const followed = await followRegistration(current, work);
  if (followed) await sendNotice(followed, work);
}

/**
 * Stores the registration that the registrar shows. Stores nothing if the registrar does not answer, or does not show
 * the name. Returns the new state of the domain, or undefined if another process has changed the domain.
 */
async function followRegistration(domain: Renewing, work: DomainWork): Promise<StoredDomain | undefined> {
  const { account_id, id, version, registration: before } = domain;
  const { table, commit, now } = systemWriter(work, account_id);
  const found = await work.registrar.registration(domain.name).catch((error: unknown) => {
    if (!(error instanceof Problem) || error.status !== 503) throw error;
  });
  if (!found || !before) return domain;
  const registration = registrationOf(found, before);
  if (isDeepStrictEqual(registration, before)) return domain;
  return commit(async () => {
    const current = await domainById(table, account_id, id);
    if (current?.version !== version) return { value: undefined, writes: [], changes: [] };
    const { after, writes } = domainUpdate(current, { registration, updated_at: now().toISOString() });
    return { value: after, writes, changes: [await domainChange(table, "updated", current, after)] };
  });
}

/**
 * If the redemption of the name is over, and the registrar does not show the name, the renewal fails. Returns whether
 * the renewal ended.
 */
async function endLost(domain: Renewing, work: DomainWork): Promise<boolean> {
  if (!domain.registration || !isLost(domain.registration, work.now())) return false;
  if (await work.registrar.registration(domain.name)) return false;
  return (await conclude(domain, { failed: "The registration has ended." }, work)) !== undefined;
}

/**
 * The end of a renewal. A conclusion that has only an operation is also a success: the name was renewed, but has moved
 * to another registrar since.
 */
type RenewalConclusion = Conclusion | { operation: RegistrarOperation };

/**
 * Ends a renewal. After a success, captures the money, and stores the new end of the registration if the name is still
 * here. After a failure, releases the money and marks the renewal as failed. Returns the new state of the domain.
 * Returns undefined:
 * - if the renewal was over before;
 * - if the renewal failed, but another process has changed the domain meanwhile.
 */
function conclude(
  domain: Renewing,
  conclusion: RenewalConclusion,
  work: DomainWork,
): Promise<StoredDomain | undefined> {
  const { table, commit, now } = systemWriter(work, domain.account_id);
  const { operation } = conclusion;
  return commit(async () => {
    const current = await domainById(table, domain.account_id, domain.id);
    const isSame = isRenewing(current) && current.renewal.id === domain.renewal.id;
    // A success always counts. A failure counts only if no other process has changed the domain meanwhile, because that
    // process may know of a success.
    if (!isSame || ("failed" in conclusion && current.version !== domain.version)) {
      return { value: undefined, writes: [], changes: [] };
    }
    const at = now();
    const { after, writes } = domainUpdate(current, {
      ...membersAfter(current, conclusion),
      due_at: at.toISOString(),
      updated_at: at.toISOString(),
    });
    const kind = "failed" in conclusion ? "void" : "capture";
    const wallet = await planWallet(table, domain.account_id, [{ kind, id: current.renewal.hold_id }], at);
    const verb = "failed" in conclusion ? "renewal_failed" : "renewed";
    return {
      value: after,
      writes: [...writes, ...wallet.writes, ...(operation ? [operationWrite(domain.name, operation, at)] : [])],
      changes: [await domainChange(table, verb, current, after), ...wallet.changes],
    };
  });
}

/** The members of a domain that change at the end of its renewal. */
function membersAfter(domain: Renewing, conclusion: RenewalConclusion): ChangedMembers {
  const { renewal } = domain;
  if ("failed" in conclusion) return { renewal: { ...renewal, stage: "voided", reason: conclusion.failed } };
  const captured: ChangedMembers = { renewal: { ...renewal, stage: "captured" } };
  if (!("registration" in conclusion)) return captured;
  const registration = registrationOf(conclusion.registration, domain.registration ?? undefined);
  return { ...captured, ...outOfRedemption(domain), registration };
}

/** The members that change if the renewal has ended a redemption. The domain then waits for a new proof of the name. */
const outOfRedemption = ({ status }: StoredDomain): Partial<StoredDomain> =>
  status === "expired" ? { status: "pending_delegation", status_reason: null, failures: 0 } : {};

/**
 * Does the regular work of a domain, in this order:
 * - checks the registration;
 * - renews the registration, or sends a notice that it ends;
 * - checks the proof of the name and the mail records;
 * - begins to rotate the DKIM key.
 */
export async function advanceLife(domain: StoredDomain, work: DomainWork): Promise<void> {
  const checked = await checkRegistration(domain, work);
  if (!checked) return;
  const renewed = isRenewalDue(checked, work.now()) ? await renewAutomatically(checked, work) : checked;
  if (!renewed) return;
  if (isRenewing(renewed)) return advanceRequest(renewing, renewed, work);
  const noticed = await sendNotice(renewed, work);
  if (!noticed) return;
  await advanceChecks(noticed, work);
  await rotateWhenDue(noticed, work);
}

/**
 * Sends the notice that is due, as the event `domain.expiring`. Each notice is sent once. Returns the new state of the
 * domain, or undefined if another process has changed the domain.
 */
function sendNotice(domain: StoredDomain, work: DomainWork): Promise<StoredDomain | undefined> | StoredDomain {
  const { account_id, id, version, registration } = domain;
  const { table, commit, now } = systemWriter(work, account_id);
  const days = noticeDue(domain, now());
  const expires_at = registration?.expires_at ?? null;
  if (days === undefined || expires_at === null) return domain;
  return commit(async () => {
    const current = await domainById(table, account_id, id);
    if (current?.version !== version) return { value: undefined, writes: [], changes: [] };
    const { after, writes } = domainUpdate(current, { notice: { expires_at, days } });
    return { value: after, writes, changes: [await domainChange(table, "expiring", current, after)] };
  });
}
