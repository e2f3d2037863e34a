import * as z from "zod";

import { csvOf } from "../core/csv.ts";
import { invalidAt, type InvalidInput } from "../core/errors.ts";
import { orderQuery, pageQuery, spanCheck, spanOf, timeQuery, type OrderedPage } from "../core/page.ts";
import type { Context } from "../http/route.ts";
import { movementKey } from "../ledger/ledger.ts";
import { StoredMovement } from "../ledger/movement.ts";
import { aheadOfRows, readHeads, readRows, rowKey } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import { StoredTransaction, transactionsOf, TransactionType, type Transaction } from "../wallet/transaction.ts";
import { walletOf } from "../wallet/wallet.ts";

/** The query of the list of transactions. */
export const TransactionQuery = z
  .strictObject({
    ...pageQuery,
    ...orderQuery("desc"),
    type: TransactionType.optional().meta({ description: "Only transactions of this type." }),
    ...timeQuery("transactions with an `effective_at`"),
  })
  .refine(...spanCheck);
type TransactionFilter = { [Name in "type" | "since" | "until"]?: z.output<typeof TransactionQuery>[Name] };

/** The most transactions that are searched for a type. */
const mostSearched = 20_000;

/** The most transactions in one CSV file. */
const mostInFile = 10_000;

/** The rows of a page without filters. A query with a filter reads other rows. */
export const aheadOfTransactions = (accountId: string, page: OrderedPage): Ahead =>
  aheadOfRows(transactionsOf(accountId), spanOf(page));

type Found = { items: StoredTransaction[]; total: number };

/**
 * A page of the wallet's transactions, sorted by `effective_at`. Throws 422 if more than 20,000 transactions would have
 * to be searched for a type.
 */
export async function listTransactions(
  accountId: string,
  { type, since, until, ...page }: OrderedPage & TransactionFilter,
  { table }: Pick<Context, "table">,
): Promise<Found> {
  const { skip, take, order } = spanOf(page);
  if (type === undefined && since === undefined && until === undefined) {
    return readTransactions(table, accountId, { skip, take, order });
  }
  // The transactions of a range of time have consecutive positions, from `first` on.
  const { first, count } = await rangeOf(table, accountId, since, until);
  const sorted = (items: StoredTransaction[]) => (order === "asc" ? items : items.toReversed());
  if (type === undefined) {
    const size = Math.max(0, Math.min(take, count - skip));
    const start = first + (order === "asc" ? skip : count - skip - size);
    if (size === 0) return { items: [], total: count };
    const { items } = await readTransactions(table, accountId, { skip: start, take: size });
    return { items: sorted(items), total: count };
  }
  // Only a read of all transactions in the range tells how many have the type.
  if (count > mostSearched) throw tooMany("type", `${count} transactions would have to be searched`, mostSearched);
  const { items } = await readTransactions(table, accountId, { skip: first, take: count });
  const found = sorted(items.filter((item) => item.type === type));
  return { items: found.slice(skip, skip + take), total: found.length };
}

/**
 * All transactions that match, for a file. Throws 422 if more than 10,000 match, and if more than 20,000 transactions
 * would have to be searched for a type.
 */
export async function transactionsForFile(
  accountId: string,
  query: OrderedPage & TransactionFilter,
  context: Pick<Context, "table">,
): Promise<Found> {
  const { count } = await rangeOf(context.table, accountId, query.since, query.until);
  if (query.type === undefined && count > mostInFile) throw tooMany("since", `${count} transactions match`, mostInFile);
  const found = await listTransactions(accountId, { ...query, page: 1, page_size: mostInFile }, context);
  if (found.total > mostInFile) throw tooMany("since", `${found.total} transactions match`, mostInFile);
  return found;
}

const tooMany = (member: string, problem: string, most: number): InvalidInput =>
  invalidAt(
    ["query", member],
    `${problem}, and at most ${most} are possible. Choose \`since\` and \`until\` closer together`,
    "too_many",
  );

/** The position of the first transaction in a range of time, and the number of transactions in the range. */
async function rangeOf(
  table: Reader,
  accountId: string,
  since: string | undefined,
  until: string | undefined,
): Promise<{ first: number; count: number }> {
  const [head] = await readHeads(table, [transactionsOf(accountId)]);
  const total = head?.live ?? 0;
  const [first, end] = await Promise.all([
    since === undefined ? 0 : firstAt(table, accountId, Date.parse(since), total),
    until === undefined ? total : firstAt(table, accountId, Date.parse(until), total),
  ]);
  return { first, count: Math.max(0, end - first) };
}

/**
 * The position of the first of `total` transactions whose `effective_at` is not before `atMs` (milliseconds since
 * 1970); `total` if there is none. Uses binary search: the transactions are in the order of `effective_at`, and no
 * transaction is ever deleted or moved.
 */
async function firstAt(table: Reader, accountId: string, atMs: number, total: number): Promise<number> {
  let [low, high] = [0, total];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const row = await table.get(rowKey(transactionsOf(accountId), middle), StoredTransaction);
    if (!row) throw new Error(`There is no transaction ${middle}.`);
    const [item] = await withFirstTimes(table, accountId, [row]);
    if (item && Date.parse(item.effective_at) < atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

async function readTransactions(
  table: Reader,
  accountId: string,
  span: Parameters<typeof readRows>[2],
): Promise<Found> {
  const { rows, total } = await readRows(table, transactionsOf(accountId), span);
  const items = rows.map((row) => StoredTransaction.parse(row));
  return { items: await withFirstTimes(table, accountId, items), total };
}

/** Whether the first version of the product resolved the hold of this row, and so overwrote the time of the hold. */
const isResolvedByFirstVersion = ({ version, resolved_at }: StoredTransaction): boolean =>
  version > 1 && resolved_at === undefined;

/**
 * Returns the transactions, each with `effective_at` as the time at which the transaction first appeared. The first
 * version of the product overwrote `effective_at` when it resolved a hold. For a row with an overwritten time, the time
 * comes from the ledger's movement.
 */
async function withFirstTimes(
  table: Reader,
  accountId: string,
  items: readonly StoredTransaction[],
): Promise<StoredTransaction[]> {
  const overwritten = items.filter(isResolvedByFirstVersion);
  const keys = overwritten.map(({ movement_id }) => movementKey(walletOf(accountId), movement_id));
  const movements = await table.getMany(keys);
  const times = new Map(overwritten.map((item, index) => [item, StoredMovement.parse(movements[index]).at]));
  return items.map((item) => ({ ...item, effective_at: times.get(item) ?? item.effective_at }));
}

const columns = [
  "transaction_id",
  "effective_at",
  "type",
  "direction",
  "status",
  "amount",
  "currency",
  "balance_after",
  "description",
  "vat",
] as const satisfies (keyof Transaction)[];

/** Transactions as a CSV file, with the names of the members in its first line. */
export const transactionsFile = (items: readonly Transaction[]): { name: string; text: string } => ({
  name: "transactions.csv",
  text: csvOf([columns, ...items.map((item) => columns.map((column) => item[column] ?? ""))]),
});
