import { change } from "../../changes/kind.ts";
import { planWallet } from "../../wallet/wallet.ts";
import { domainKind, isRenewing, registrationOf, type Renewing, type StoredDomain } from "../domain.ts";
import { domainById } from "../find.ts";
import { advanceChecks, checkRegistration } from "../setup/check.ts";
import { isRenewalDue, noticeDue } from "../setup/expiry.ts";
import { advanceRequest, operationWrite, type Conclusion, type RequestKind } from "../setup/registrar-request.ts";
import { domainUpdate, systemMover, type DomainWork } from "../setup/work.ts";
import { domainViews } from "../view.ts";
import { renewAutomatically } from "./renew.ts";

const yearOf = (date: string): number => new Date(date).getUTCFullYear();

/** The renewal of a registration. */
const renewing: RequestKind<Renewing> = {
  operation: "renew",
  isOpen: isRenewing,
  progress: ({ renewal }) => renewal,
  members: ({ renewal }, progress) => ({ renewal: { ...renewal, ...progress } }),
  send: ({ name, renewal: { years, from, restore_fee } }, work) =>
    work.registrar.renew({ name, years, expiresAt: from, restore: restore_fee > 0 }),
  effect: async ({ name, renewal }, work) => {
    const found = await work.registrar.registration(name);
    return found && yearOf(found.expiresAt) > yearOf(renewal.from) ? found : undefined;
  },
  conclude,
};

/** Advances the renewal of a domain by all steps that are possible at once. The rest stays due. */
export const advanceRenewal = (domain: StoredDomain, work: DomainWork): Promise<void> =>
  advanceRequest(renewing, domain, work);

/**
 * Ends a renewal: either the money is captured and the registration ends later, or neither. Returns the new state of the
 * domain; undefined when the renewal was over before, or when a failure is reported on a domain that another process has
 * changed meanwhile.
 */
function conclude(domain: Renewing, conclusion: Conclusion, work: DomainWork): Promise<StoredDomain | undefined> {
  const { table, commit, now } = systemMover(work, domain.account_id);
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
    const { renewal } = current;
    const result =
      "failed" in conclusion
        ? { renewal: { ...renewal, stage: "voided" as const, reason: conclusion.failed } }
        : {
            renewal: { ...renewal, stage: "captured" as const },
            registration: registrationOf(conclusion.registration),
          };
    const { after, writes } = domainUpdate(current, {
      ...result,
      due_at: at.toISOString(),
      updated_at: at.toISOString(),
    });
    const kind = "failed" in conclusion ? "void" : "capture";
    const wallet = await planWallet(table, domain.account_id, [{ kind, id: renewal.hold_id }], at);
    const [before, shown] = (await domainViews(table, domain.account_id, [current, after])) as [object, object];
    const verb = "failed" in conclusion ? "renewal_failed" : "renewed";
    return {
      value: after,
      writes: [...writes, ...wallet.writes, ...(operation ? [operationWrite(domain.name, operation, at)] : [])],
      changes: [change(domainKind, verb, domain.id, { before, after: shown }), ...wallet.changes],
    };
  });
}

/**
 * Takes care of a domain: checks its registration, renews it or tells that it ends, and checks its delegation and its
 * mail records.
 */
export async function advanceLife(domain: StoredDomain, work: DomainWork): Promise<void> {
  const checked = await checkRegistration(domain, work);
  if (!checked) return;
  const tried = isRenewalDue(checked, work.now()) ? await renewAutomatically(checked, work) : checked;
  if (!tried) return;
  if (isRenewing(tried)) return advanceRenewal(tried, work);
  const told = await tellEnd(tried, work);
  if (told) await advanceChecks(told, work);
}

/**
 * Tells that a registration ends, each notice once. Returns the new state of the domain; undefined when another process
 * has changed it.
 */
function tellEnd(domain: StoredDomain, work: DomainWork): Promise<StoredDomain | undefined> | StoredDomain {
  const { account_id, id, version, registration } = domain;
  const { table, commit, now } = systemMover(work, account_id);
  const days = noticeDue(domain, now());
  const expires_at = registration?.expires_at ?? null;
  if (days === undefined || expires_at === null) return domain;
  return commit(async () => {
    const current = await domainById(table, account_id, id);
    if (current?.version !== version) return { value: undefined, writes: [], changes: [] };
    const { after, writes } = domainUpdate(current, { notice: { expires_at, days } });
    const [before, shown] = (await domainViews(table, account_id, [current, after])) as [object, object];
    return { value: after, writes, changes: [change(domainKind, "expiring", id, { before, after: shown })] };
  });
}
