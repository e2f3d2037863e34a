import { accountKey, StoredStatus } from "../../accounts/account.ts";
import { change } from "../../changes/kind.ts";
import { Problem } from "../../core/errors.ts";
import { removeFailed } from "../../deletion/domain.ts";
import { dueKey } from "../../table/due.ts";
import type { Reader } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { workspaceCheck } from "../../workspaces/workspace.ts";
import { batchQueue, type StoredDomain } from "../domain.ts";
import { domainByName } from "../find.ts";
import { takenNames } from "../holder.ts";
import { systemWriter, type DomainWork } from "../setup/work.ts";
import { batchItem, getBatch, purchaseKind, type StoredBatch } from "./batch.ts";
import { areBought, buyNames, type OrderKind, type Wanted } from "./buy.ts";
import type { Quote } from "./offers.ts";
import { registrationOrder } from "./purchase.ts";
import { boughtAs, type ErrorCode } from "./results.ts";
import { sealContext, transferOrder } from "./transfer.ts";

/** How long one run waits for the prices of the names, in milliseconds. */
const budgetMs = 20_000;
/** The time after the payment in which a registry is asked again if it does not answer, in milliseconds. */
const patienceMs = 3_600_000;

/** The reason why a name is not bought. */
type Refused = ErrorCode | "account_closed" | "workspace_gone";

/**
 * Whether a batch may take the name of a domain of the account. The request has checked the caller's permissions on the
 * domains that had the waiting names at that time. Since then, the account may have got other domains with these names.
 */
const mayTake =
  ({ own_ids }: StoredBatch) =>
  ({ id }: StoredDomain): boolean =>
    own_ids.includes(id);

/** The order for the waiting names of a batch. */
function orderOf(batch: StoredBatch, { registrar, secrets }: DomainWork): OrderKind {
  const { type, account_id, dns_mode, waiting } = batch;
  if (type === "registration") return registrationOrder(registrar, mayTake(batch));
  const codes = new Map(waiting.map(({ name, sealed_auth_code }) => [name, sealed_auth_code]));
  const sealed = async (name: string): Promise<string> => codes.get(name) ?? "";
  const open = async (name: string): Promise<string> => secrets.open(await sealed(name), sealContext(account_id, name));
  return transferOrder(registrar, { open, sealed }, dns_mode, mayTake(batch));
}

/**
 * Buys the waiting names of a batch. The payment for the batch arrived at the time `at`.
 * - A name is bought at the agreed price or at a lower price.
 * - The money for names that cannot be bought stays in the wallet.
 * - A repeated run does not buy a name twice.
 * - If a registry does not answer, the work stays due until an hour after the payment.
 */
export async function continueBatch(accountId: string, batchId: string, at: string, work: DomainWork): Promise<void> {
  const batch = await getBatch(work.table, accountId, batchId);
  if (batch && batch.waiting.length > 0) {
    const refused = await buyWaiting(batch, work);
    const mayAskAgain = work.now().getTime() - Date.parse(at) < patienceMs;
    if (mayAskAgain && [...refused.values()].includes("unchecked")) return;
    await finish(batch, refused, work);
  }
  await work.table.attempt({ delete: dueKey(batchQueue, [accountId, batchId], at) });
}

/** Buys the waiting names; returns the reason for each name that is not bought. */
async function buyWaiting(batch: StoredBatch, work: DomainWork): Promise<Map<string, Refused>> {
  const { account_id: accountId, workspace_id: workspaceId, id: batchId, waiting } = batch;
  const writer = systemWriter(work, accountId);
  const bought = await areBought(work.table, { accountId, batchId }, namesOf(waiting));
  const left = waiting.filter((_, index) => !bought[index]);
  const account = await work.table.get(accountKey(accountId), StoredStatus);
  if (account?.status === "closed") return new Map(left.map(({ name }) => [name, "account_closed"]));
  if (!(await workspaceCheck(work.table, accountId, workspaceId))) {
    return new Map(left.map(({ name }) => [name, "workspace_gone"]));
  }
  const kind = orderOf(batch, work);
  const quotes = await kind.quotes(namesOf(left), { budgetMs, log: work.log });
  const occupied = await occupiedNames(work.table, accountId, namesOf(left), kind);
  const offers = left.map((one, index) => offerOf(one, quotes[index], occupied));
  const wanted = offers.flatMap((offer) => ("price" in offer ? [offer] : []));
  for (const { name } of wanted) {
    const own = await domainByName(work.table, accountId, name);
    if (own?.status === "failed" && mayTake(batch)(own)) await removeFailed(accountId, own, writer);
  }
  const outcomes = await buyNames(
    { kind, accountId, workspaceId, batchId, planMore: () => claim(batch, work) },
    wanted,
    writer,
  );
  const refused = [...offers, ...outcomes].flatMap((one) => ("code" in one ? [[one.name, one.code] as const] : []));
  return new Map(refused);
}

const namesOf = (all: readonly { name: string }[]): string[] => all.map(({ name }) => name);

/**
 * The names that another domain has here: `domain_exists` if the domain is of this account, otherwise `domain_taken`.
 */
async function occupiedNames(
  table: Reader,
  accountId: string,
  names: readonly string[],
  { takesOwn }: OrderKind,
): Promise<Map<string, Refused>> {
  const [taken, own] = await Promise.all([
    takenNames(table, names, accountId),
    Promise.all(names.map((name) => domainByName(table, accountId, name))),
  ]);
  const inTheWay = own.flatMap((one) => (one && one.status !== "failed" && !takesOwn(one) ? [one] : []));
  return new Map<string, Refused>([
    ...[...taken].map((name) => [name, "domain_taken"] as const),
    ...inTheWay.map(({ name }) => [name, "domain_exists"] as const),
  ]);
}

/**
 * The name at its present price. If the name cannot be bought, or its price is above the agreed price, the reason why
 * it is not bought. The registrar does not know who has a name here, so the reason in `occupied` comes before its own.
 */
function offerOf(
  agreed: Wanted,
  quote: Quote<ErrorCode> | undefined,
  occupied: ReadonlyMap<string, Refused>,
): Wanted | { name: string; code: Refused } {
  const { name } = agreed;
  const { price, reason } = quote ?? {};
  if (reason !== undefined && reason !== "unchecked") return { name, code: occupied.get(name) ?? reason };
  if (reason !== undefined || price === undefined) return { name, code: "unchecked" };
  return price > agreed.price ? { name, code: "quote_changed" } : { ...agreed, price };
}

/** The write that makes the transaction fail if another process continues or ends the batch at the same time. */
async function claim({ account_id, id }: StoredBatch, { table }: DomainWork): Promise<Write[]> {
  const batch = await getBatch(table, account_id, id);
  if (!batch || batch.waiting.length === 0) {
    throw new Problem("busy", "Another process is continuing this purchase.", { retry_after: 1 });
  }
  const { version } = batch;
  return [{ put: batchItem({ ...batch, version: version + 1 }), if: { version } }];
}

/** Removes the waiting names from the batch, and reports the result for each name in an event. */
async function finish({ account_id: accountId, id }: StoredBatch, refused: Map<string, Refused>, work: DomainWork) {
  const { table, commit } = systemWriter(work, accountId);
  await commit(async () => {
    const batch = await getBatch(table, accountId, id);
    if (!batch || batch.waiting.length === 0) return { value: undefined, writes: [], changes: [] };
    const bought = await areBought(table, { accountId, batchId: id }, namesOf(batch.waiting));
    const results = batch.waiting.map(({ name }, index) =>
      bought[index]
        ? { domain_name: name, status: boughtAs[batch.type], error_code: null }
        : { domain_name: name, status: "failed", error_code: refused.get(name) ?? "unchecked" },
    );
    const { version } = batch;
    return {
      value: undefined,
      writes: [{ put: batchItem({ ...batch, waiting: [], version: version + 1 }), if: { version } }],
      changes: [change(purchaseKind, "continued", id, { after: { id, results } })],
    };
  });
}
