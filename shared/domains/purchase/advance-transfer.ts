import { isDeepStrictEqual } from "node:util";

import { Problem } from "../../core/errors.ts";
import type { Registration } from "../../providers/registrar/registrar.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { planWallet } from "../../wallet/wallet.ts";
import { buyerKey, isTransferring, regainedMembers, type StoredDomain, type Transferring } from "../domain.ts";
import { domainById } from "../find.ts";
import { registrationOf, unregistered, type Transfer } from "../registration-state.ts";
import { operationWrite, type Conclusion, type RequestKind } from "../setup/registrar-request.ts";
import { isDetached } from "../setup/releasing.ts";
import { domainUpdate, systemWriter, type ChangedMembers, type DomainWork } from "../setup/work.ts";
import { domainChange } from "../view.ts";
import { getBatch } from "./batch.ts";
import { planGivenUp, planHolder } from "./claims.ts";
import { advanceAfterPause } from "./release-pause.ts";
import { sealContext } from "./transfer.ts";

/** The request to transfer a name to us. */
const transferring: RequestKind<Transferring> = {
  operation: "transfer",
  isOpen: isTransferring,
  progress: ({ transfer }) => transfer,
  members: ({ transfer }, progress, due_at) => ({ transfer: { ...transfer, ...progress, due_at } }),
  send: async ({ account_id, name, transfer }, work) => {
    const batch = await getBatch(work.table, account_id, transfer.batch_id);
    if (!batch) throw new Error(`The transfer of ${name} has no contact any more.`);
    const authCode = await work.secrets.open(transfer.sealed_auth_code ?? "", sealContext(account_id, name));
    return work.registrar.transfer({ name, authCode, contact: batch.contact });
  },
  effect: ({ name }, work) => work.registrar.registration(name),
  conclude,
};

/** Advances the transfer of a domain's name to us by all steps that are possible now. The other steps stay due. */
export const advanceTransfer = (domain: StoredDomain, work: DomainWork): Promise<void> =>
  advanceAfterPause(transferring, domain, work);

/**
 * Ends a transfer: captures the money and marks the name as registered here, or releases the money and marks the
 * transfer as failed. Returns the new state of the domain. Returns undefined:
 * - if the transfer was over before;
 * - if the transfer failed, but another process has advanced it meanwhile.
 *
 * If the domain has lost its name during the transfer, throws 503 after a success while the zone of the domain is being
 * removed.
 */
function conclude(domain: Transferring, conclusion: Conclusion, work: DomainWork): Promise<StoredDomain | undefined> {
  const { table, commit, now } = systemWriter(work, domain.account_id);
  const isFailed = "failed" in conclusion;
  return commit(async () => {
    const current = await domainById(table, domain.account_id, domain.id);
    const isSame = isTransferring(current) && current.transfer.id === domain.transfer.id;
    // A success always counts. A failure counts only if no other process has advanced the transfer meanwhile, because
    // that process may know of a success.
    if (!isSame || (isFailed && !isDeepStrictEqual(current.transfer, domain.transfer))) {
      return { value: undefined, writes: [], changes: [] };
    }
    const at = now();
    const members = isFailed
      ? membersAfterFailure(current, conclusion.failed)
      : membersAfterSuccess(current, conclusion.registration, at);
    const { after, writes } = domainUpdate(current, { ...members, updated_at: at.toISOString() });
    const claims = isFailed ? await planFailed(table, current) : await planHolder(table, after, at);
    const kind = isFailed ? ("void" as const) : ("capture" as const);
    const wallet = await planWallet(table, domain.account_id, [{ kind, id: current.transfer.hold_id }], at);
    const { operation } = conclusion;
    return {
      value: after,
      writes: [
        ...writes,
        ...claims,
        ...wallet.writes,
        ...(operation ? [operationWrite(domain.name, operation, at)] : []),
      ],
      changes: [
        await domainChange(table, isFailed ? "transfer_failed" : "transferred", current, after),
        ...wallet.changes,
      ],
    };
  });
}

/** The writes that end the claim of a failed transfer. A domain that was connected keeps its name. */
const planFailed = async (table: Reader, domain: StoredDomain): Promise<Write[]> =>
  domain.status === "pending_transfer"
    ? planGivenUp(table, domain)
    : [{ delete: buyerKey(domain.name), if: { domain_id: domain.id } }];

/** The state of a transfer that is over, without its auth code. */
function ended(
  { sealed_auth_code: _, ...transfer }: Transfer,
  stage: "captured" | "voided",
  reason: string | null,
): Transfer {
  return { ...transfer, stage, reason, looks: 0, due_at: null };
}

/**
 * The members of a domain whose transfer succeeded. A new domain, or a domain that has lost its name meanwhile, waits
 * until the name is proved. All other domains keep their status.
 */
function membersAfterSuccess(domain: Transferring, found: Registration, now: Date): ChangedMembers {
  const isLost = isDetached(domain);
  // `due_at` becomes `deletes_at` once the domain's zone is removed.
  if (isLost && domain.due_at !== domain.deletes_at) {
    throw new Problem("busy", `The zone of ${domain.name} is being removed.`, { retry_after: 60 });
  }
  const waiting = {
    status: "pending_delegation",
    status_reason: null,
    deletes_at: null,
    is_open: true,
  } as const;
  return {
    ...(isLost || domain.status === "pending_transfer" ? waiting : {}),
    ...(isLost ? regainedMembers(domain) : {}),
    source: "purchased",
    registration: registrationOf(found),
    transfer: ended(domain.transfer, "captured", null),
    // The next check delegates the name. The checks after it have to see the delegation. With 0 as the number of
    // failures, they follow soon.
    failures: 0,
    due_at: now.toISOString(),
  };
}

/**
 * The members of a domain whose transfer failed. A new domain becomes `failed`. All other domains keep their status.
 * They have no registration here, so they lose the automatic renewal that began with the transfer.
 */
function membersAfterFailure(domain: Transferring, reason: string): ChangedMembers {
  const transfer = ended(domain.transfer, "voided", reason);
  if (domain.status !== "pending_transfer") return { transfer, auto_renew: false };
  return {
    transfer,
    status: "failed",
    status_reason: reason,
    is_open: false,
    registration: unregistered("failed"),
    failures: 0,
    due_at: null,
  };
}
