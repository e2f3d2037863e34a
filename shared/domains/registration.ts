import { planWallet } from "../billing/wallet.ts";
import { change } from "../changes/kind.ts";
import { Problem } from "../errors.ts";
import { Refused, type RegistrarOperation } from "../providers/registrar.ts";
import type { Write } from "../table/writes.ts";
import { getBatch } from "./batch.ts";
import { domainKind, holderKey, type Purchase, type StoredDomain } from "./domain.ts";
import { domainById } from "./find.ts";
import { domainViews } from "./view.ts";
import { becoming, later, systemMover, type DomainWork, type Planned } from "./work.ts";

/*
 * A name is bought in steps, each of which is written down before the next: its price is held; the registrar is
 * asked; the registration runs; then the money is captured, or it is free again. Nobody knows what came of a question
 * whose answer was lost: then the registrar is asked what it has, and only what it is certain about counts.
 */

/** What the registrar does not know of by then did not reach it. */
const certainMs = 600_000;
/** How far its clock may be behind ours. */
const skewMs = 300_000;
const waitsMs = [2_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000];

const nextLook = (failures: number, now: Date): string =>
  later(now, waitsMs[Math.min(failures, waitsMs.length - 1)] ?? 3_600_000);

type Bought = StoredDomain & { purchase: Purchase };

/** Takes the registration of a name one step on, or as many as can be taken now; what cannot be is due again. */
export async function advanceRegistration(domain: StoredDomain, work: DomainWork): Promise<void> {
  let current: StoredDomain | undefined = domain;
  for (let steps = 0; steps < 4 && isRunning(current); steps++) {
    const { stage } = current.purchase;
    const before: Bought = current;
    if (stage === "held") {
      current = await ask(await mark(before, { stage: "asked", asked_at: work.now().toISOString() }, work), work);
    } else if (stage === "asked") current = await reconcile(before, work);
    else current = await look(before, work);
    if (current?.version === before.version) return;
  }
}

const isRunning = (domain: StoredDomain | undefined): domain is Bought =>
  domain?.status === "pending_registration" && domain.purchase !== undefined;

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

/** What the registrar has of a name, once nobody knows what it was told. */
async function knownOf({ name, purchase }: Bought, { registrar }: DomainWork): Promise<RegistrarOperation | undefined> {
  const since = new Date(Date.parse(purchase.asked_at ?? "") - skewMs);
  const operation = await registrar.findOperation(name, since);
  if (operation) return operation;
  return (await registrar.registration(name)) ? { id: "", state: "succeeded" } : undefined;
}

/** Asks what came of a question whose answer was lost; after a while in which nothing did, asks again. */
async function reconcile(domain: Bought, work: DomainWork): Promise<StoredDomain | undefined> {
  try {
    const operation = await knownOf(domain, work);
    if (operation) return await settle(domain, operation, work);
  } catch (error) {
    return waitFor(domain, error, work);
  }
  const askedMs = Date.parse(domain.purchase.asked_at ?? "");
  if (work.now().getTime() - askedMs < certainMs) {
    await mark(domain, { failures: domain.failures + 1 }, work);
    return undefined;
  }
  return ask(await mark(domain, { failures: domain.failures + 1 }, work), work);
}

/** A refusal counts once it is certain that no earlier question was heard: a name is refused to others when it is ours. */
async function refusal(domain: Bought, reason: string, work: DomainWork): Promise<StoredDomain | undefined> {
  try {
    const operation = await knownOf(domain, work);
    if (operation && operation.state !== "failed") return await settle(domain, operation, work);
    return await conclude(domain, { failed: operation?.reason ?? reason }, work);
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
    return conclude(domain, { failed: operation.reason ?? "The registry did not register it." }, work);
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
  return conclude(domain, { expiresAt: registration.expiresAt, locked: registration.locked }, work);
}

type Conclusion = { failed: string } | { expiresAt: string; locked: boolean };

/** The end of a purchase: the money is paid and the name is registered, or neither. */
function conclude(domain: Bought, conclusion: Conclusion, work: DomainWork): Promise<StoredDomain | undefined> {
  const { table, commit, now } = systemMover(work, domain.account_id);
  return commit(async () => {
    const current = await domainById(table, domain.account_id, domain.id);
    // What is registered is paid whoever saw it. That nothing is, only they know who were alone at it.
    const isStale = "failed" in conclusion && current?.version !== domain.version;
    if (!isRunning(current) || isStale) return { value: undefined, writes: [], changes: [] };
    const planned =
      "failed" in conclusion ? failure(current, conclusion.failed, now()) : success(current, conclusion, now());
    const kind = "failed" in conclusion ? ("void" as const) : ("capture" as const);
    const wallet = await planWallet(table, domain.account_id, [{ kind, id: current.purchase.hold_id }], now());
    const [before, after] = (await domainViews(table, domain.account_id, [current, planned.after])) as [object, object];
    const verb = "failed" in conclusion ? "registration_failed" : "registered";
    return {
      value: planned.after,
      writes: [...planned.writes, ...wallet.writes],
      changes: [change(domainKind, verb, domain.id, { before, after }), ...wallet.changes],
    };
  });
}

type Ended = Omit<Planned, "changes"> & { after: StoredDomain };

function success(domain: Bought, { expiresAt, locked }: { expiresAt: string; locked: boolean }, now: Date): Ended {
  return becoming(domain, {
    status: "pending_delegation",
    registration: { status: "active", expires_at: new Date(expiresAt).toISOString(), locked },
    purchase: { ...domain.purchase, stage: "captured" },
    failures: 0,
    due_at: now.toISOString(),
    updated_at: now.toISOString(),
  });
}

/** The name is free for others, and for another try. */
function failure(domain: Bought, reason: string, now: Date): Ended {
  const { after, writes } = becoming(domain, {
    status: "failed",
    status_reason: reason,
    is_open: false,
    registration: { status: "failed", expires_at: null, locked: false },
    purchase: { ...domain.purchase, stage: "voided" },
    failures: 0,
    due_at: null,
    updated_at: now.toISOString(),
  });
  const freed: Write = { delete: holderKey(domain.name), if: { domain_id: domain.id } };
  return { after, writes: [...writes, freed] };
}
