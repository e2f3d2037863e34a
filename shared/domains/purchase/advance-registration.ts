import type { Planned } from "../../changes/recorder.ts";
import type { Registration } from "../../providers/registrar/registrar.ts";
import { planWallet } from "../../wallet/wallet.ts";
import { type StoredDomain } from "../domain.ts";
import { domainById } from "../find.ts";
import { registrationOf, unregistered, type Purchase } from "../registration-state.ts";
import { operationWrite, type Conclusion, type RequestKind } from "../setup/registrar-request.ts";
import { domainUpdate, systemWriter, type DomainWork } from "../setup/work.ts";
import { domainChange } from "../view.ts";
import { getBatch } from "./batch.ts";
import { planGivenUp, planHolder } from "./claims.ts";
import { advanceAfterPause } from "./release-pause.ts";

/** A domain whose registration is running. */
type Registering = StoredDomain & { purchase: Purchase };

const isRegistering = (domain: StoredDomain | undefined): domain is Registering =>
  domain?.status === "pending_registration" && domain.purchase !== undefined;

/** The request to register a name that was bought. */
const registering: RequestKind<Registering> = {
  operation: "register",
  isOpen: isRegistering,
  // A domain counts the looks of its registration in `failures`.
  progress: ({ failures: looks, purchase }) => ({ ...purchase, looks }),
  members: ({ purchase }, { looks: failures = 0, ...progress }, due_at) => ({
    purchase: { ...purchase, ...progress },
    failures,
    due_at,
  }),
  send: async ({ account_id, name, purchase }, work) => {
    const batch = await getBatch(work.table, account_id, purchase.batch_id);
    if (!batch) throw new Error(`The purchase of ${name} has no contact any more.`);
    return work.registrar.register({ name, contact: batch.contact });
  },
  // If no operation is known, the worker looks for the registration 10 minutes after the request. By then, the
  // registrar does not show a former registration any more, even if it was released just before this purchase. So a
  // registration that the registrar shows is the new one.
  effect: ({ name }, work) => work.registrar.registration(name),
  conclude,
};

/** Advances the registration of a name by all steps that are possible now. The other steps stay due. */
export const advanceRegistration = (domain: StoredDomain, work: DomainWork): Promise<void> =>
  advanceAfterPause(registering, domain, work);

/**
 * Ends a purchase: captures the money and marks the name as registered, or releases the money and marks the
 * registration as failed. Returns the new state of the domain. Returns undefined:
 * - if the purchase was over before;
 * - if the purchase failed, but another process has changed the domain meanwhile.
 */
function conclude(domain: Registering, conclusion: Conclusion, work: DomainWork): Promise<StoredDomain | undefined> {
  const { table, commit, now } = systemWriter(work, domain.account_id);
  const isFailed = "failed" in conclusion;
  return commit(async () => {
    const current = await domainById(table, domain.account_id, domain.id);
    // A success always counts. A failure counts only if no other process has changed the domain meanwhile, because that
    // process may know of a success.
    const isStale = isFailed && current?.version !== domain.version;
    if (!isRegistering(current) || isStale) return { value: undefined, writes: [], changes: [] };
    const planned = isFailed ? failure(current, conclusion, now()) : success(current, conclusion.registration, now());
    const claims = isFailed ? await planGivenUp(table, current) : await planHolder(table, current, now());
    const kind = isFailed ? ("void" as const) : ("capture" as const);
    const wallet = await planWallet(table, domain.account_id, [{ kind, id: current.purchase.hold_id }], now());
    return {
      value: planned.after,
      writes: [...planned.writes, ...claims, ...wallet.writes],
      changes: [
        await domainChange(table, isFailed ? "registration_failed" : "registered", current, planned.after),
        ...wallet.changes,
      ],
    };
  });
}

type Failed = Extract<Conclusion, { failed: string }>;
/** The writes that end a registration, and the new state of the domain. */
type Ended = Omit<Planned, "changes"> & { after: StoredDomain };

function success(domain: Registering, found: Registration, now: Date): Ended {
  return domainUpdate(domain, {
    status: "pending_delegation",
    registration: registrationOf(found),
    purchase: { ...domain.purchase, stage: "captured" },
    failures: 0,
    due_at: now.toISOString(),
    updated_at: now.toISOString(),
  });
}

/**
 * Marks the registration as failed. After this, any account can try to register the name, and so can this account. A
 * domain that had lost the name before the purchase gets its former `deletes_at` and registration back.
 */
function failure(domain: Registering, { failed, operation }: Failed, now: Date): Ended {
  const { kept_until: until = null, kept_registration = unregistered("failed") } = domain.purchase;
  const { after, writes } = domainUpdate(domain, {
    status: until === null ? "failed" : "releasing",
    deletes_at: until,
    status_reason: failed,
    is_open: false,
    registration: kept_registration,
    purchase: { ...domain.purchase, stage: "voided" },
    failures: 0,
    due_at: until,
    updated_at: now.toISOString(),
  });
  return { after, writes: [...writes, ...(operation ? [operationWrite(domain.name, operation, now)] : [])] };
}
