import { isDeepStrictEqual } from "node:util";

import * as z from "zod";

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
import type { RegistrarRequest, StoredDomain } from "../domain.ts";
import { domainById } from "../find.ts";
import { domainUpdate, systemMover, type ChangedMembers, type DomainWork } from "./work.ts";

/*
 * A name is registered or renewed in steps, and each is stored before the next begins: the price is held; the registrar
 * is asked; its operation runs; the money is captured or released. If the registrar's answer is lost, the result is
 * unknown: the registrar is then asked for its operations and registrations, and only a definite answer is used.
 *
 * Access patterns
 *   operations at the registrar whose request is over                    DOMAIN#<name> / OPERATION#<its id>
 */
const operationKey = (name: string, id: string): Key => ({ PK: `DOMAIN#${name}`, SK: `OPERATION#${id}` });

/**
 * How long an operation is stored, in seconds. After this time a purchase's contact is deleted, and no request searches
 * that far back.
 */
const operationKeptSeconds = 60 * 86_400;

/** The write that notes that the request of an operation is over, so that no later request takes the operation for its own. */
export const operationWrite = (name: string, { id }: RegistrarOperation, now: Date): Write => ({
  put: { ...operationKey(name, id), ttl: Math.ceil(now.getTime() / 1_000) + operationKeptSeconds },
});

const isOver = async (table: Reader, name: string, id: string): Promise<boolean> =>
  (await table.get(operationKey(name, id), z.object({}))) !== undefined;

/**
 * The result of a request. It has the operation, unless the registrar refused to begin one, or shows the registration
 * without one.
 */
export type Conclusion = ({ registration: Registration } | { failed: string }) & { operation?: RegistrarOperation };

/** The progress of a request. `looks` counts in a row how many times it was looked at without news. */
type Progress = RegistrarRequest & { looks: number };

/** A kind of request to the registrar. `D` is a domain with such a request that is not over. */
export type RequestKind<D extends StoredDomain> = {
  operation: OperationKind;
  isOpen: (domain: StoredDomain | undefined) => domain is D;
  progress: (domain: D) => Progress;
  /** The members of the domain that store its progress. */
  members: (domain: D, progress: Partial<Progress>) => ChangedMembers;
  /** Sends the request to the registrar. */
  send: (domain: D, work: DomainWork) => Promise<RegistrarOperation>;
  /** The registration that the request leads to; undefined while the registrar does not show it. */
  effect: (domain: D, work: DomainWork) => Promise<Registration | undefined>;
  /** Ends the request. Returns the new state of the domain; undefined when another process has ended it. */
  conclude: (domain: D, conclusion: Conclusion, work: DomainWork) => Promise<StoredDomain | undefined>;
};

/**
 * How long a request can take to appear at the registrar, in milliseconds. A request that has not appeared by then
 * never arrived.
 */
const certainMs = 600_000;
/** How far the registrar's clock may be behind ours, in milliseconds. */
export const skewMs = 300_000;
const waitsMs = [2_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000];

const nextLook = (looks: number, now: Date): string =>
  later(now, waitsMs[Math.min(looks, waitsMs.length - 1)] ?? 3_600_000);

/** Advances a request by all steps that are possible at once. The rest stays due. */
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
    if (current?.version === before.version) return;
  }
}

/** Whether a request is as far as it was: no other process advanced or ended it meanwhile. */
const isAsFar = <D extends StoredDomain>(
  kind: RequestKind<D>,
  current: StoredDomain | undefined,
  before: D,
): current is D => kind.isOpen(current) && isDeepStrictEqual(kind.progress(current), kind.progress(before));

/**
 * Stores the progress of a request, which is then due at `due_at` or after a wait. Returns the new state of the domain;
 * undefined when another process has advanced the request.
 */
export async function storeProgress<D extends StoredDomain>(
  kind: RequestKind<D>,
  domain: D,
  { due_at, looks = 0, ...progress }: Partial<Progress> & { due_at?: string },
  work: DomainWork,
): Promise<StoredDomain | undefined> {
  const { table, commit, now } = systemMover(work, domain.account_id);
  return commit(async () => {
    const current = await domainById(table, domain.account_id, domain.id);
    // The process that advanced the request meanwhile knows more.
    if (!isAsFar(kind, current, domain)) return { value: undefined, writes: [], changes: [] };
    const { after, writes } = domainUpdate(current, {
      ...kind.members(current, { ...progress, looks }),
      due_at: due_at ?? nextLook(looks, now()),
    });
    return { value: after, writes, changes: [], housekeeping: true };
  });
}

async function askFirst<D extends StoredDomain>(kind: RequestKind<D>, domain: D, work: DomainWork) {
  const asked_at = work.now().toISOString();
  return ask(kind, await storeProgress(kind, domain, { stage: "asked", asked_at }, work), work);
}

/** Sends the request. The stage `asked` is stored before, so that a lost answer can be recovered. */
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

/** Schedules another look if the registrar does not answer, because the result of the request is then unknown. */
async function waitFor<D extends StoredDomain>(kind: RequestKind<D>, domain: D, error: unknown, work: DomainWork) {
  if (!(error instanceof Problem) || error.status !== 503) throw error;
  work.log.info("registrar does not answer", { domain_id: domain.id, reason: error.message });
  await storeProgress(kind, domain, { looks: kind.progress(domain).looks + 1 }, work);
  return undefined;
}

/** The registrar's operation for this request, not for an earlier request for the name. */
async function operationOf<D extends StoredDomain>(kind: RequestKind<D>, domain: D, work: DomainWork) {
  const { asked_at = "" } = kind.progress(domain);
  const since = new Date(Date.parse(asked_at) - skewMs);
  const operation = await work.registrar.findOperation(domain.name, since, kind.operation);
  return operation && !(await isOver(work.table, domain.name, operation.id)) ? operation : undefined;
}

/**
 * Finds out the result of a request whose answer was lost. If it is certain that there is none, asks the registrar
 * again.
 */
async function reconcile<D extends StoredDomain>(
  kind: RequestKind<D>,
  domain: D,
  work: DomainWork,
): Promise<StoredDomain | undefined> {
  const progress = kind.progress(domain);
  const looks = progress.looks + 1;
  const { asked_at = "", asked_again_at = asked_at } = progress;
  // The time is read before the registrar is asked: its answer shows the state at that time, however late it comes.
  const isCertain = work.now().getTime() - Date.parse(asked_again_at) >= certainMs;
  try {
    const operation = await operationOf(kind, domain, work);
    if (operation) return await settleOperation(kind, domain, operation, work);
    if (!isCertain) {
      await storeProgress(kind, domain, { looks }, work);
      return undefined;
    }
    const registration = await kind.effect(domain, work);
    if (registration) return await kind.conclude(domain, { registration }, work);
  } catch (error) {
    return waitFor(kind, domain, error, work);
  }
  const again = { asked_again_at: work.now().toISOString(), looks };
  return ask(kind, await storeProgress(kind, domain, again, work), work);
}

/**
 * Ends the request after a refusal, unless an earlier request was accepted: the registrar also refuses what it has done
 * for us already.
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

async function look<D extends StoredDomain>(kind: RequestKind<D>, domain: D, work: DomainWork) {
  try {
    const operation = await work.registrar.operation(kind.progress(domain).operation_id ?? "");
    return await settleOperation(kind, domain, operation, work);
  } catch (error) {
    return waitFor(kind, domain, error, work);
  }
}

/** Acts on the state of an operation: it still runs, or the request ends. */
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
  const registration = await kind.effect(domain, work);
  if (!registration) {
    // The operation is done, but the registration does not show it yet.
    await storeProgress(kind, domain, { looks: looks + 1 }, work);
    return undefined;
  }
  return kind.conclude(domain, { registration, operation }, work);
}
