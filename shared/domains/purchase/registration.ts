import { Problem } from "../../core/errors.ts";
import { Refused, type RegistrarOperation } from "../../providers/registrar/registrar.ts";
import type { Purchase, StoredDomain } from "../domain.ts";
import { domainById } from "../find.ts";
import { becoming, later, systemMover, type DomainWork } from "../setup/work.ts";
import { getBatch } from "./batch.ts";
import { type Bought, conclude, isFailure, isRunning, releasedAt } from "./conclude.ts";

/*
 * A name is bought in steps, each of which is written down before the next: its price is held; the registrar is
 * asked; the registration runs; then the money is captured, or it is free again. Nobody knows what came of a question
 * whose answer was lost: then the registrar is asked what it has, and only what it is certain about counts.
 */

/** What the registrar does not know of by then did not reach it. */
const certainMs = 600_000;
/** How far its clock may be behind ours. */
const skewMs = 300_000;
/**
 * How long a name is left alone that was given back: what was begun for the one who had it has arrived by then, and
 * what the registrar says of their registration is older than what is looked for.
 */
const restMs = skewMs + 60_000;
const waitsMs = [2_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000];

const nextLook = (failures: number, now: Date): string =>
  later(now, waitsMs[Math.min(failures, waitsMs.length - 1)] ?? 3_600_000);

/** Takes the registration of a name one step on, or as many as can be taken now; what cannot be is due again. */
export async function advanceRegistration(domain: StoredDomain, work: DomainWork): Promise<void> {
  let current: StoredDomain | undefined = domain;
  for (let steps = 0; steps < 4 && isRunning(current); steps++) {
    const { stage } = current.purchase;
    const before: Bought = current;
    if (stage === "held") current = await begin(before, work);
    else if (stage === "asked") current = await reconcile(before, work);
    else current = await look(before, work);
    if (current?.version === before.version) return;
  }
}

/** Asks for the first time, unless the name was somebody else's a moment ago. */
async function begin(domain: Bought, work: DomainWork): Promise<StoredDomain | undefined> {
  const released = await releasedAt(work.table, domain.name);
  const now = work.now();
  const restsUntil = later(released ?? new Date(0), restMs);
  if (restsUntil > now.toISOString()) {
    await mark(domain, { due_at: restsUntil }, work);
    return undefined;
  }
  return ask(await mark(domain, { stage: "asked", asked_at: now.toISOString() }, work), work);
}

/** Writes down how far a registration is; answers the domain as it is then, or nothing when somebody else is at it. */
async function mark(
  domain: Bought,
  { due_at, failures = 0, ...purchase }: Partial<Purchase> & { due_at?: string; failures?: number },
  work: DomainWork,
): Promise<StoredDomain | undefined> {
  const { table, commit, now } = systemMover(work, domain.account_id);
  return commit(async () => {
    const current = await domainById(table, domain.account_id, domain.id);
    // Whoever was here meanwhile knows more.
    if (!isRunning(current) || current.version !== domain.version) return { value: undefined, writes: [], changes: [] };
    const { after, writes } = becoming(current, {
      purchase: { ...current.purchase, ...purchase },
      failures,
      due_at: due_at ?? nextLook(failures, now()),
    });
    return { value: after, writes, changes: [], housekeeping: true };
  });
}

/** Asks the registrar to register the name. It is written down that it is being asked: a lost answer is found out. */
async function ask(domain: StoredDomain | undefined, work: DomainWork): Promise<StoredDomain | undefined> {
  if (!isRunning(domain) || domain.purchase.stage !== "asked") return domain;
  const { account_id, name, auto_renew, purchase } = domain;
  const batch = await getBatch(work.table, account_id, purchase.batch_id);
  if (!batch) throw new Error(`The purchase of ${name} has no contact any more.`);
  try {
    const operation = await work.registrar.register({ name, contact: batch.contact, autoRenew: auto_renew });
    return await settle(domain, operation, work);
  } catch (error) {
    if (error instanceof Refused) return refusal(domain, error.message, work);
    return waitFor(domain, error, work);
  }
}

/** Nothing follows from silence but to look again. */
async function waitFor(domain: Bought, error: unknown, work: DomainWork): Promise<StoredDomain | undefined> {
  if (!(error instanceof Problem) || error.status !== 503) throw error;
  work.log.info("registrar does not answer", { domain_id: domain.id, reason: error.message });
  await mark(domain, { failures: domain.failures + 1 }, work);
  return undefined;
}

/** What came of this purchase at the registrar, and not of one of the name that was over before. */
async function operationOf({ name, purchase }: Bought, work: DomainWork): Promise<RegistrarOperation | undefined> {
  const since = new Date(Date.parse(purchase.asked_at ?? "") - skewMs);
  const operation = await work.registrar.findOperation(name, since);
  return operation && !(await isFailure(work.table, name, operation.id)) ? operation : undefined;
}

/** Asks what came of a question whose answer was lost; after a while in which nothing did, asks again. */
async function reconcile(domain: Bought, work: DomainWork): Promise<StoredDomain | undefined> {
  const failures = domain.failures + 1;
  const { asked_at = "", asked_again_at = asked_at } = domain.purchase;
  // The answer may take a while: what it does not say counts as of the instant of the question.
  const isCertain = work.now().getTime() - Date.parse(asked_again_at) >= certainMs;
  try {
    const operation = await operationOf(domain, work);
    if (operation) return await settle(domain, operation, work);
    if (!isCertain) {
      await mark(domain, { failures }, work);
      return undefined;
    }
    // What somebody gave back just before they bought it is gone by now: this one is ours.
    const registration = await work.registrar.registration(domain.name);
    if (registration) return await conclude(domain, { registration }, work);
  } catch (error) {
    return waitFor(domain, error, work);
  }
  return ask(await mark(domain, { asked_again_at: work.now().toISOString(), failures }, work), work);
}

/** A refusal counts once it is certain that no earlier question was heard: a name is refused to others when it is ours. */
async function refusal(domain: Bought, reason: string, work: DomainWork): Promise<StoredDomain | undefined> {
  try {
    const operation = await operationOf(domain, work);
    if (operation) return await settle(domain, operation, work);
    return await conclude(domain, { failed: reason }, work);
  } catch (error) {
    return waitFor(domain, error, work);
  }
}

async function look(domain: Bought, work: DomainWork): Promise<StoredDomain | undefined> {
  try {
    const operation = await work.registrar.operation(domain.purchase.operation_id ?? "");
    return await settle(domain, operation, work);
  } catch (error) {
    return waitFor(domain, error, work);
  }
}

/** What an operation says: it goes on, or the purchase is over. */
async function settle(
  domain: Bought,
  operation: RegistrarOperation,
  work: DomainWork,
): Promise<StoredDomain | undefined> {
  if (operation.state === "failed") {
    return conclude(domain, { failed: operation.reason ?? "The registry did not register it.", operation }, work);
  }
  if (operation.state === "running") {
    const failures = domain.purchase.stage === "running" ? domain.failures + 1 : 0;
    await mark(domain, { stage: "running", operation_id: operation.id, failures }, work);
    return undefined;
  }
  const registration = await work.registrar.registration(domain.name);
  if (!registration) {
    // It says that it is done, and does not have it yet.
    await mark(domain, { failures: domain.failures + 1 }, work);
    return undefined;
  }
  return conclude(domain, { registration }, work);
}
