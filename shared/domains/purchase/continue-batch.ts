import { change } from "../../changes/kind.ts";
import { Problem } from "../../core/errors.ts";
import { removeFailed } from "../../deletion/domain.ts";
import { dueKey } from "../../table/due.ts";
import type { Write } from "../../table/writes.ts";
import { findWorkspace } from "../../workspaces/workspace.ts";
import { batchQueue } from "../domain.ts";
import { domainByName } from "../find.ts";
import { systemMover, type DomainWork } from "../setup/work.ts";
import { purchaseKind } from "./batch-kind.ts";
import { batchItem, getBatch, type StoredBatch } from "./batch.ts";
import { areBought, buyNames, type Wanted } from "./buy.ts";
import { quotesFor, type Quote } from "./offers.ts";

const budgetMs = 20_000;
/** For how long a registry that does not answer is asked again, in milliseconds. */
const patienceMs = 3_600_000;

/** The reason why a name is not bought. */
type Refused =
  | "domain_exists"
  | "domain_taken"
  | "insufficient_funds"
  | "quote_changed"
  | "unchecked"
  | "workspace_gone";

/**
 * Buys the waiting names of a purchase whose payment arrived at `at`.
 * - A name is bought at the agreed price or a lower one.
 * - The money for names that cannot be bought stays in the wallet.
 * - A repeated run does not buy a name twice.
 * - If a registry does not answer, the work stays due, for an hour at most.
 */
export async function continueBatch(accountId: string, batchId: string, at: string, work: DomainWork): Promise<void> {
  const batch = await getBatch(work.table, accountId, batchId);
  if (batch && batch.waiting.length > 0) {
    const refused = await buyWaiting(batch, work);
    const isEarly = work.now().getTime() - Date.parse(at) < patienceMs;
    if (isEarly && [...refused.values()].includes("unchecked")) return;
    await finish(batch, refused, work);
  }
  await work.table.attempt({ delete: dueKey(batchQueue, [accountId, batchId], at) });
}

/** Buys the waiting names; returns the reason for each name that is not bought. */
async function buyWaiting(batch: StoredBatch, work: DomainWork): Promise<Map<string, Refused>> {
  const { account_id: accountId, workspace_id: workspaceId, id: batchId, waiting } = batch;
  const mover = systemMover(work, accountId);
  const bought = await areBought(work.table, { accountId, batchId }, namesOf(waiting));
  const left = waiting.filter((_, index) => !bought[index]);
  if (!(await findWorkspace(work.table, accountId, workspaceId))) {
    return new Map(left.map(({ name }) => [name, "workspace_gone"]));
  }
  const quotes = await quotesFor(work.registrar, namesOf(left), { budgetMs, log: work.log });
  const offers = left.map(({ name, price }, index) => offerOf({ name, price }, quotes[index]));
  const wanted = offers.flatMap((offer) => ("price" in offer ? [offer] : []));
  for (const { name } of wanted) {
    const own = await domainByName(work.table, accountId, name);
    if (own?.status === "failed") await removeFailed(accountId, own, mover);
  }
  const outcomes = await buyNames(
    { accountId, workspaceId, batchId, planMore: () => claim(batch, work) },
    wanted,
    mover,
  );
  return new Map([...offers, ...outcomes].flatMap((one) => ("code" in one ? [[one.name, one.code] as const] : [])));
}

const namesOf = (all: readonly { name: string }[]): string[] => all.map(({ name }) => name);

/** The name at its present price, if that is at most the agreed one; otherwise the reason. */
function offerOf(agreed: Wanted, { price, reason }: Partial<Quote> = {}): Wanted | { name: string; code: Refused } {
  const { name } = agreed;
  if (reason === "unchecked") return { name, code: reason };
  if (reason !== undefined || price === undefined || price > agreed.price) return { name, code: "quote_changed" };
  return { name, price };
}

/** The write that fails the transaction if another process continues or ends the batch at the same time. */
async function claim({ account_id, id }: StoredBatch, { table }: DomainWork): Promise<Write[]> {
  const batch = await getBatch(table, account_id, id);
  if (!batch || batch.waiting.length === 0) throw new Problem("busy", "Another process is continuing this purchase.");
  const { version } = batch;
  return [{ put: batchItem({ ...batch, version: version + 1 }), if: { version } }];
}

/** Clears the waiting names, and reports the result of each in an event. */
async function finish({ account_id: accountId, id }: StoredBatch, refused: Map<string, Refused>, work: DomainWork) {
  const { table, commit } = systemMover(work, accountId);
  await commit(async () => {
    const batch = await getBatch(table, accountId, id);
    if (!batch || batch.waiting.length === 0) return { value: undefined, writes: [], changes: [] };
    const bought = await areBought(table, { accountId, batchId: id }, namesOf(batch.waiting));
    const results = batch.waiting.map(({ name }, index) =>
      bought[index]
        ? { domain_name: name, status: "pending_registration", error_code: null }
        : { domain_name: name, status: "failed", error_code: refused.get(name) ?? "quote_changed" },
    );
    const { version } = batch;
    return {
      value: undefined,
      writes: [{ put: batchItem({ ...batch, waiting: [], version: version + 1 }), if: { version } }],
      changes: [change(purchaseKind, "continued", id, { after: { id, results } })],
    };
  });
}
