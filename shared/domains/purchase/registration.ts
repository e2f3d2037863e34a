import { Problem } from "../../core/errors.ts";
import { later } from "../../core/time.ts";
import { Refused, type RegistrarOperation } from "../../providers/registrar/registrar.ts";
import type { Purchase, StoredDomain } from "../domain.ts";
import { domainById } from "../find.ts";
import { domainUpdate, systemMover, type DomainWork } from "../setup/work.ts";
import { getBatch } from "./batch.ts";
import { type Bought, completePurchase, isFailure, isRunning, releasedAt } from "./conclude.ts";

/*
 * A name is bought in steps, and each is stored before the next begins: the price is held; the registrar is asked; the
 * registration runs; the money is captured or released. If the registrar's answer is lost, the result is unknown: the
 * registrar is then asked for its operations and registrations, and only a definite answer is used.
 */

/**
 * How long a request can take to appear at the registrar, in milliseconds. A request that has not appeared by then
 * never arrived.
 */
const certainMs = 600_000;
/** How far the registrar's clock may be behind ours, in milliseconds. */
const skewMs = 300_000;
/**
 * How long a released name rests before it is registered again, in milliseconds. By then, requests made for the former
 * owner have arrived, and the registrar's records of the former registration are older than the period that is
 * searched.
 */
const restMs = skewMs + 60_000;
const waitsMs = [2_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000];

const nextLook = (failures: number, now: Date): string =>
  later(now, waitsMs[Math.min(failures, waitsMs.length - 1)] ?? 3_600_000);

/** Advances the registration of a name by all steps that are possible at once. The rest stays due. */
export async function advanceRegistration(domain: StoredDomain, work: DomainWork): Promise<void> {
  let current: StoredDomain | undefined = domain;
  for (let steps = 0; steps < 4 && isRunning(current); steps++) {
    const { stage } = current.purchase;
    const before: Bought = current;
    if (stage === "held") current = await beginRegistration(before, work);
    else if (stage === "asked") current = await reconcile(before, work);
    else current = await look(before, work);
    if (current?.version === before.version) return;
  }
}

/** Asks the registrar for the first time, unless the name was released only a moment ago. */
async function beginRegistration(domain: Bought, work: DomainWork): Promise<StoredDomain | undefined> {
  const released = await releasedAt(work.table, domain.name);
  const now = work.now();
  const restsUntil = later(released ?? new Date(0), restMs);
  if (restsUntil > now.toISOString()) {
    await mark(domain, { due_at: restsUntil }, work);
    return undefined;
  }
  return ask(await mark(domain, { stage: "asked", asked_at: now.toISOString() }, work), work);
}

/**
 * Stores the progress of a registration and returns the new state of the domain; undefined when another process has
 * changed it.
 */
async function mark(
  domain: Bought,
  { due_at, failures = 0, ...purchase }: Partial<Purchase> & { due_at?: string; failures?: number },
  work: DomainWork,
): Promise<StoredDomain | undefined> {
  const { table, commit, now } = systemMover(work, domain.account_id);
  return commit(async () => {
    const current = await domainById(table, domain.account_id, domain.id);
    // The process that changed the domain meanwhile knows more.
    if (!isRunning(current) || current.version !== domain.version) return { value: undefined, writes: [], changes: [] };
    const { after, writes } = domainUpdate(current, {
      purchase: { ...current.purchase, ...purchase },
      failures,
      due_at: due_at ?? nextLook(failures, now()),
    });
    return { value: after, writes, changes: [], housekeeping: true };
  });
}

/**
 * Asks the registrar to register the name. The stage `asked` is stored before, so that a lost answer can be recovered.
 */
async function ask(domain: StoredDomain | undefined, work: DomainWork): Promise<StoredDomain | undefined> {
  if (!isRunning(domain) || domain.purchase.stage !== "asked") return domain;
  const { account_id, name, auto_renew, purchase } = domain;
  const batch = await getBatch(work.table, account_id, purchase.batch_id);
  if (!batch) throw new Error(`The purchase of ${name} has no contact any more.`);
  try {
    const operation = await work.registrar.register({ name, contact: batch.contact, autoRenew: auto_renew });
    return await settleOperation(domain, operation, work);
  } catch (error) {
    if (error instanceof Refused) return refusePurchase(domain, error.message, work);
    return waitFor(domain, error, work);
  }
}

/** Schedules another check if the registrar does not answer, because the result of the registration is then unknown. */
async function waitFor(domain: Bought, error: unknown, work: DomainWork): Promise<StoredDomain | undefined> {
  if (!(error instanceof Problem) || error.status !== 503) throw error;
  work.log.info("registrar does not answer", { domain_id: domain.id, reason: error.message });
  await mark(domain, { failures: domain.failures + 1 }, work);
  return undefined;
}

/** The registrar's operation for this purchase, not for an earlier purchase of the name. */
async function operationOf({ name, purchase }: Bought, work: DomainWork): Promise<RegistrarOperation | undefined> {
  const since = new Date(Date.parse(purchase.asked_at ?? "") - skewMs);
  const operation = await work.registrar.findOperation(name, since);
  return operation && !(await isFailure(work.table, name, operation.id)) ? operation : undefined;
}

/**
 * Finds out the result of a request whose answer was lost. If it is certain that there is none, asks the registrar
 * again.
 */
async function reconcile(domain: Bought, work: DomainWork): Promise<StoredDomain | undefined> {
  const failures = domain.failures + 1;
  const { asked_at = "", asked_again_at = asked_at } = domain.purchase;
  // The time is read before the registrar is asked: its answer shows the state at that time, however late it comes.
  const isCertain = work.now().getTime() - Date.parse(asked_again_at) >= certainMs;
  try {
    const operation = await operationOf(domain, work);
    if (operation) return await settleOperation(domain, operation, work);
    if (!isCertain) {
      await mark(domain, { failures }, work);
      return undefined;
    }
    // A former registration that was released just before this purchase is gone by this time. So a registration found
    // here is ours.
    const registration = await work.registrar.registration(domain.name);
    if (registration) return await completePurchase(domain, { registration }, work);
  } catch (error) {
    return waitFor(domain, error, work);
  }
  return ask(await mark(domain, { asked_again_at: work.now().toISOString(), failures }, work), work);
}

/**
 * Ends the purchase after a refusal, unless an earlier request was accepted: the registrar also refuses a name that is
 * registered for us already.
 */
async function refusePurchase(domain: Bought, reason: string, work: DomainWork): Promise<StoredDomain | undefined> {
  try {
    const operation = await operationOf(domain, work);
    if (operation) return await settleOperation(domain, operation, work);
    return await completePurchase(domain, { failed: reason }, work);
  } catch (error) {
    return waitFor(domain, error, work);
  }
}

async function look(domain: Bought, work: DomainWork): Promise<StoredDomain | undefined> {
  try {
    const operation = await work.registrar.operation(domain.purchase.operation_id ?? "");
    return await settleOperation(domain, operation, work);
  } catch (error) {
    return waitFor(domain, error, work);
  }
}

/** Acts on the state of an operation: it still runs, or the purchase ends. */
async function settleOperation(
  domain: Bought,
  operation: RegistrarOperation,
  work: DomainWork,
): Promise<StoredDomain | undefined> {
  if (operation.state === "failed") {
    return completePurchase(
      domain,
      { failed: operation.reason ?? "The registry did not register the name.", operation },
      work,
    );
  }
  if (operation.state === "running") {
    const failures = domain.purchase.stage === "running" ? domain.failures + 1 : 0;
    await mark(domain, { stage: "running", operation_id: operation.id, failures }, work);
    return undefined;
  }
  const registration = await work.registrar.registration(domain.name);
  if (!registration) {
    // The operation is done, but the registration does not appear yet.
    await mark(domain, { failures: domain.failures + 1 }, work);
    return undefined;
  }
  return completePurchase(domain, { registration }, work);
}
