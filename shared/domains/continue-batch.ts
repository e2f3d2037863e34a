import { change } from "../changes/kind.ts";
import type { Registrar } from "../providers/registrar.ts";
import { dueKey } from "../table/due.ts";
import { batchItem, getBatch, type StoredBatch } from "./batch.ts";
import { buyNames, type Bought, type Wanted } from "./buy.ts";
import { domainByName } from "./find.ts";
import { quotesFor } from "./offers.ts";
import { purchaseKind } from "./purchase-kind.ts";
import { batchQueue } from "./queues.ts";
import { systemMover, type DomainWork } from "./work.ts";

const budgetMs = 20_000;

/**
 * Goes on with the names of a purchase whose payment has arrived, at the price that was agreed or a lower one; what
 * cannot be had any more stays in the wallet. Done again it finds what it has bought.
 */
export async function continueBatch(accountId: string, batchId: string, at: string, work: DomainWork): Promise<void> {
  const { table } = work;
  const batch = await getBatch(table, accountId, batchId);
  if (batch && batch.waiting.length > 0) await buyWaiting(batch, work);
  await table.attempt({ delete: dueKey(batchQueue, [accountId, batchId], at) });
}

async function buyWaiting(batch: StoredBatch, work: DomainWork): Promise<void> {
  const { account_id: accountId, workspace_id: workspaceId, id: batchId, waiting } = batch;
  const mover = systemMover(work, accountId);
  const known = await Promise.all(waiting.map(({ name }) => domainByName(work.table, accountId, name)));
  const isOurs = (name: string): boolean =>
    known.some((domain) => domain?.name === name && domain.purchase?.batch_id === batchId);
  const wanted = await stillHad(
    work.registrar,
    waiting.filter(({ name }) => !isOurs(name)),
    work,
  );
  const bought = await buyNames({ accountId, workspaceId, batchId }, wanted, mover);
  const results = waiting.map(({ name }) => ({
    domain_name: name,
    ...outcomeOf(isOurs(name) ? "bought" : (bought.find((one) => one.name === name) ?? "gone")),
  }));
  await mover.commit(async () => {
    const current = await getBatch(work.table, accountId, batchId);
    if (!current || current.version !== batch.version) return { value: undefined, writes: [], changes: [] };
    const done = batchItem({ ...current, waiting: [], version: current.version + 1 });
    return {
      value: undefined,
      writes: [{ put: done, if: { version: current.version } }],
      changes: [change(purchaseKind, "continued", batchId, { after: { id: batchId, results } })],
    };
  });
}

/** The names that are still to be had for what was agreed. */
async function stillHad(registrar: Registrar, waiting: readonly Wanted[], { log }: DomainWork): Promise<Wanted[]> {
  const quotes = await quotesFor(
    registrar,
    waiting.map(({ name }) => name),
    { budgetMs, log },
  );
  return quotes.flatMap(({ name, price, reason }, index) => {
    const agreed = waiting[index]?.price ?? 0;
    return reason === undefined && price !== undefined && price <= agreed ? [{ name, price }] : [];
  });
}

function outcomeOf(outcome: Bought | "bought" | "gone") {
  if (outcome === "gone") return { status: "failed" as const, error_code: "quote_changed" };
  if (outcome === "bought" || "domain" in outcome) {
    return { status: "pending_registration" as const, error_code: null };
  }
  return { status: "failed" as const, error_code: outcome.code };
}
