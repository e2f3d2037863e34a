import { isDeepStrictEqual } from "node:util";

import * as z from "zod";

import { accountKey, StoredStatus } from "../../accounts/account.ts";
import { Problem } from "../../core/errors.ts";
import { later } from "../../core/time.ts";
import {
  Refused,
  type OperationKind,
  type RegistrarOperation,
  type Registration,
} from "../../providers/registrar/registrar.ts";
import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import type { StoredDomain } from "../domain.ts";
import { domainById } from "../find.ts";
import type { RegistrarRequest } from "../registration-state.ts";
import { domainUpdate, systemWriter, type ChangedMembers, type DomainWork } from "./work.ts";

/*
 * A registration, a renewal and a transfer are requests to the registrar. A request has four steps, and each step is
 * stored before the next step begins:
 * 1. The price is held.
 * 2. The request is sent to the registrar.
 * 3. The registrar's operation runs.
 * 4. The money is captured or released.
 *
 * If the registrar's answer to the request is lost, the result is unknown. Then the registrar is asked for its
 * operations and registrations, and only a definite answer ends the request.
 *
 * Access patterns
 *   operations at the registrar whose request is over   DOMAIN#<name> / OPERATION#<operation id>
 */
const operationKey = (name: string, id: string): Key => ({ PK: `DOMAIN#${name}`, SK: `OPERATION#${id}` });

/**
 * How long the product stores that the request of an operation is over, in seconds. A purchase or a transfer needs its
 * contact, which is deleted after the same time. So no purchase or transfer runs longer than this, and none of them
 * looks for an operation that is older.
 */
const operationKeptSeconds = 60 * 86_400;

/**
 * The write that stores that the request of an operation is over, so that no later request mistakes this operation for
 * its own.
 */
export const operationWrite = (name: string, { id }: RegistrarOperation, now: Date): Write => ({
  put: { ...operationKey(name, id), ttl: Math.ceil(now.getTime() / 1_000) + operationKeptSeconds },
});

const isOver = async (table: Reader, name: string, id: string): Promise<boolean> =>
  (await table.get(operationKey(name, id), z.object({}))) !== undefined;

/**
 * The result of a request: the registration, or why the request failed. `operation` is absent if no operation of the
 * registrar belongs to the result, such as after a refusal.
 */
export type Conclusion = ({ registration: Registration } | { failed: string }) & { operation?: RegistrarOperation };

/**
 * The progress of a request. `looks` is how many times in a row the worker looked and had to wait: the registrar did
 * not answer, showed no operation yet, or showed an operation that still runs or has no effect yet.
 */
type Progress = RegistrarRequest & { looks: number };

/** A kind of request to the registrar. `D` is a domain with a request of this kind that is not over. */
export type RequestKind<D extends StoredDomain> = {
  operation: OperationKind;
  isOpen: (domain: StoredDomain | undefined) => domain is D;
  progress: (domain: D) => Progress;
  /** The members of the domain that store the progress, and make the domain due at `due_at`. */
  members: (domain: D, progress: Partial<Progress>, due_at: string) => ChangedMembers;
  /** Sends the request to the registrar. */
  send: (domain: D, work: DomainWork) => Promise<RegistrarOperation>;
  /**
   * The registration that the request leads to. `absent` if the registrar shows the name without the effect of the
   * request; undefined if the registrar does not show the name.
   */
  effect: (domain: D, work: DomainWork) => Promise<Registration | "absent" | undefined>;
  /**
   * Ends the request. Returns the new state of the domain, or undefined if another process has ended or advanced the
   * request.
   */
  conclude: (domain: D, conclusion: Conclusion, work: DomainWork) => Promise<StoredDomain | undefined>;
  /**
   * Ends a request whose operation succeeded, although another registrar has taken the name over since. Absent for
   * requests that bring a new name here: such a name cannot be transferred for 60 days.
   */
  concludeDeparted?: (domain: D, operation: RegistrarOperation, work: DomainWork) => Promise<StoredDomain | undefined>;
};

/**
 * Whether another registrar has taken the name over since the name was registered or transferred here. Only a
 * `transfer_out` operation proves this. A name that the registrar does not show at the moment may still be registered
 * here, and must be renewed.
 */
export async function hasDeparted(
  { name, created_at, purchase, transfer }: StoredDomain,
  work: DomainWork,
): Promise<boolean> {
  const starts = [created_at, purchase?.asked_at, transfer?.started_at].flatMap((at) => at ?? []);
  const since = starts.toSorted().at(-1) ?? created_at;
  const operation = await work.registrar.findOperation(name, new Date(since), "transfer_out");
  return operation?.state === "succeeded";
}

/**
 * How long it can take until the registrar shows the operation of a request, in milliseconds. A request whose operation
 * is not shown after this time has not arrived. The effect of an operation is shown within the same time after its
 * success.
 */
const certainMs = 600_000;
/** How far the registrar's clock may be behind ours, in milliseconds. */
export const skewMs = 300_000;
/** The waits between two looks at a request that has not changed, in milliseconds. The last wait is repeated. */
const waitsMs = [2_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000];

const nextLook = (looks: number, now: Date): string =>
  later(now, waitsMs[Math.min(looks, waitsMs.length - 1)] ?? 3_600_000);

/** Advances a request by all steps that are possible now. The other steps stay due. */
export async function advanceRequest<D extends StoredDomain>(
  kind: RequestKind<D>,
  domain: StoredDomain,
  work: DomainWork,
): Promise<void> {
  let current: StoredDomain | undefined = domain;
  for (let steps = 0; steps < 4 && kind.isOpen(current); steps++) {
    const before: D = current;
    const { stage } = kind.progress(before);
    if (stage === "held") current = await askFirst(kind, before, work);
    else if (stage === "asked") current = await reconcile(kind, before, work);
    else current = await look(kind, before, work);
    // The step changed nothing, so a further step would only repeat it.
    if (current?.version === before.version) return;
  }
}

/** Whether no other process has advanced or ended a request since `before` was read. */
const isUnchanged = <D extends StoredDomain>(
  kind: RequestKind<D>,
  current: StoredDomain | undefined,
  before: D,
): current is D => kind.isOpen(current) && isDeepStrictEqual(kind.progress(current), kind.progress(before));

/**
 * Stores the progress of a request, together with the writes `more`. The request becomes due at `due_at`, or after a
 * wait if `due_at` is absent. Returns the new state of the domain, or undefined if another process has advanced the
 * request.
 */
export async function storeProgress<D extends StoredDomain>(
  kind: RequestKind<D>,
  domain: D,
  { due_at, looks = 0, ...progress }: Partial<Progress> & { due_at?: string },
  work: DomainWork,
  more: readonly Write[] = [],
): Promise<StoredDomain | undefined> {
  const { table, commit, now } = systemWriter(work, domain.account_id);
  return commit(async () => {
    const current = await domainById(table, domain.account_id, domain.id);
    if (!isUnchanged(kind, current, domain)) return { value: undefined, writes: [], changes: [] };
    const at = due_at ?? nextLook(looks, now());
    const { after, writes } = domainUpdate(current, kind.members(current, { ...progress, looks }, at));
    return { value: after, writes: [...writes, ...more], changes: [], housekeeping: true };
  });
}

/**
 * Sends a request for the first time. If the account is closed, ends the request without sending it, because the money
 * of a closed account must not be spent.
 */
async function askFirst<D extends StoredDomain>(kind: RequestKind<D>, domain: D, work: DomainWork) {
  const account = await work.table.get(accountKey(domain.account_id), StoredStatus);
  if (account?.status === "closed") return kind.conclude(domain, { failed: "The account is closed." }, work);
  const asked_at = work.now().toISOString();
  return ask(kind, await storeProgress(kind, domain, { stage: "asked", asked_at }, work), work);
}

/** Sends a request whose stage `asked` is stored already. If the answer is lost, `reconcile` finds out the result. */
async function ask<D extends StoredDomain>(
  kind: RequestKind<D>,
  domain: StoredDomain | undefined,
  work: DomainWork,
): Promise<StoredDomain | undefined> {
  if (!kind.isOpen(domain) || kind.progress(domain).stage !== "asked") return domain;
  try {
    const operation = await kind.send(domain, work);
    return await settleOperation(kind, domain, operation, work);
  } catch (error) {
    if (error instanceof Refused) return endRefused(kind, domain, error.message, work);
    return waitFor(kind, domain, error, work);
  }
}

/** Makes the request due again if the registrar or the key service did not answer (503). Throws any other error. */
async function waitFor<D extends StoredDomain>(kind: RequestKind<D>, domain: D, error: unknown, work: DomainWork) {
  if (!(error instanceof Problem) || error.status !== 503) throw error;
  work.log.info("registrar does not answer", { domain_id: domain.id, reason: error.message });
  await storeProgress(kind, domain, { looks: kind.progress(domain).looks + 1 }, work);
  return undefined;
}

/** The registrar's operation for this request; undefined if there is none, or if it belongs to an earlier request. */
async function operationOf<D extends StoredDomain>(kind: RequestKind<D>, domain: D, work: DomainWork) {
  const { asked_at = "" } = kind.progress(domain);
  const since = new Date(Date.parse(asked_at) - skewMs);
  const operation = await work.registrar.findOperation(domain.name, since, kind.operation);
  return operation && !(await isOver(work.table, domain.name, operation.id)) ? operation : undefined;
}

/**
 * Finds out the result of a request whose answer was lost. If the request has certainly not arrived, sends it again.
 */
async function reconcile<D extends StoredDomain>(
  kind: RequestKind<D>,
  domain: D,
  work: DomainWork,
): Promise<StoredDomain | undefined> {
  const progress = kind.progress(domain);
  const looks = progress.looks + 1;
  const { asked_at = "", asked_again_at = asked_at } = progress;
  // The time is read before the registrar is asked. An answer that takes long shows an earlier state, and at the time
  // of this state the request may not have been old enough yet.
  const isCertain = work.now().getTime() - Date.parse(asked_again_at) >= certainMs;
  try {
    const operation = await operationOf(kind, domain, work);
    if (operation) return await settleOperation(kind, domain, operation, work);
    if (!isCertain) {
      await storeProgress(kind, domain, { looks }, work);
      return undefined;
    }
    // This is asked before the registration. A name that moved to another registrar and came back can belong to another
    // account, so a registration of the name would not show that this request succeeded.
    if (kind.concludeDeparted && (await hasDeparted(domain, work))) {
      const failed = `Another registrar has taken ${domain.name} over.`;
      return await kind.conclude(domain, { failed }, work);
    }
    const registration = await kind.effect(domain, work);
    if (isShown(registration)) return await kind.conclude(domain, { registration }, work);
  } catch (error) {
    return waitFor(kind, domain, error, work);
  }
  const again = { asked_again_at: work.now().toISOString(), looks };
  return ask(kind, await storeProgress(kind, domain, again, work), work);
}

/**
 * Ends the request after a refusal. The registrar also refuses a request that it has carried out already. So if the
 * registrar has an operation for an earlier sending of this request, this acts on the operation instead.
 */
async function endRefused<D extends StoredDomain>(kind: RequestKind<D>, domain: D, reason: string, work: DomainWork) {
  try {
    const operation = await operationOf(kind, domain, work);
    if (operation) return await settleOperation(kind, domain, operation, work);
    return await kind.conclude(domain, { failed: reason }, work);
  } catch (error) {
    return waitFor(kind, domain, error, work);
  }
}

/** Asks for the state of the operation that runs. */
async function look<D extends StoredDomain>(kind: RequestKind<D>, domain: D, work: DomainWork) {
  try {
    const operation = await work.registrar.operation(kind.progress(domain).operation_id ?? "");
    return await settleOperation(kind, domain, operation, work);
  } catch (error) {
    return waitFor(kind, domain, error, work);
  }
}

/**
 * Acts on the state of an operation:
 * - while the operation runs, or its effect is not shown yet, waits;
 * - if the operation succeeded, but had no effect within `certainMs`, asks the registrar again;
 * - otherwise ends the request.
 */
async function settleOperation<D extends StoredDomain>(
  kind: RequestKind<D>,
  domain: D,
  operation: RegistrarOperation,
  work: DomainWork,
): Promise<StoredDomain | undefined> {
  if (operation.state === "failed") {
    const failed = operation.reason ?? `The registry did not ${kind.operation} the name.`;
    return kind.conclude(domain, { failed, operation }, work);
  }
  const { stage, looks } = kind.progress(domain);
  if (operation.state === "running") {
    const running = {
      stage: "running",
      operation_id: operation.id,
      looks: stage === "running" ? looks + 1 : 0,
    } as const;
    await storeProgress(kind, domain, running, work);
    return undefined;
  }
  // As in `reconcile`, the time is read before the registrar is asked.
  const at = work.now();
  const registration = await kind.effect(domain, work);
  if (isShown(registration)) return kind.conclude(domain, { registration, operation }, work);
  if (kind.concludeDeparted && (await hasDeparted(domain, work))) return kind.concludeDeparted(domain, operation, work);
  const { operation_id, done_at } = kind.progress(domain);
  const doneAt = (operation_id === operation.id ? done_at : undefined) ?? at.toISOString();
  if (registration === "absent" && at.getTime() - Date.parse(doneAt) >= certainMs) {
    return askAgain(kind, domain, operation, work);
  }
  // The operation is done, but the registration does not show it yet.
  const done = { stage: "running", operation_id: operation.id, done_at: doneAt, looks: looks + 1 } as const;
  await storeProgress(kind, domain, done, work);
  return undefined;
}

const isShown = (effect: Registration | "absent" | undefined): effect is Registration =>
  effect !== undefined && effect !== "absent";

/**
 * Asks the registrar again, because an operation succeeded without the effect of the request. This operation belongs to
 * somebody else, for example to an operator who renewed the name by hand before.
 */
async function askAgain<D extends StoredDomain>(
  kind: RequestKind<D>,
  domain: D,
  operation: RegistrarOperation,
  work: DomainWork,
) {
  const now = work.now();
  const again = { stage: "asked", asked_again_at: now.toISOString(), looks: 0 } as const;
  const noted = operationWrite(domain.name, operation, now);
  return ask(kind, await storeProgress(kind, domain, again, work, [noted]), work);
}
