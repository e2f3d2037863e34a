import * as z from "zod";

import { change, defineKind, type Change } from "../changes/kind.ts";
import { Problem } from "../core/errors.ts";
import { idWithOrdinal, ordinalOf } from "../core/ids.ts";
import { Currency, currency, money, MoneyText } from "../core/money.ts";
import { availableOf, emptyBalance, postedOf, type Balance } from "../ledger/balance.ts";
import { balanceKey, planOperations, readBalance, type Ledger } from "../ledger/ledger.ts";
import { Overdrawn, type Done, type Operation } from "../ledger/movement.ts";
import { appendRows, readList, rowKey, aheadOfList } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Write, Key } from "../table/writes.ts";
import { lowBalance } from "./catalogue.ts";
import { StoredTransaction, transactionKind, transactionsOf, type Transaction } from "./transaction.ts";

/*
 * Every account has its own ledger. `wallet` is the customer's money with us and must not be overdrawn; the other
 * accounts of the ledger show where money came from and where it went. See shared/ledger for the keys.
 */
export const walletOf = (accountId: string): Ledger => ({ partition: `ACCOUNT#${accountId}`, limited: ["wallet"] });

/**
 * A transfer or a hold between the wallet and the rest of the ledger, described for the customer; or the end of a hold.
 */
export type Posting =
  | (Extract<Operation, { kind: "transfer" | "hold" }> & { type: Transaction["type"]; description: string })
  | Extract<Operation, { kind: "capture" | "void" | "expire" }>;

const WalletState = z.object({
  balance: MoneyText.meta({ description: "The balance of the wallet, including held amounts." }),
  available: MoneyText.meta({ description: "The part of the balance that is not held." }),
  currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
});

export const walletKind = defineKind({
  name: "billing.wallet",
  verbs: ["low_balance"],
  view: WalletState,
  seenWith: "billing.view",
});

type WalletNow = { posted: number; available: number; version: number };

/** Reads the balance of a wallet (`posted`), and the part of it that is not held (`available`). Integer minor units. */
export async function readWallet(table: Reader, accountId: string): Promise<WalletNow> {
  const balance = await readBalance(table, walletOf(accountId), "wallet");
  return { posted: postedOf(balance), available: availableOf(balance), version: balance.version };
}

/** The write that fails a transaction when the wallet changed since it was read. */
export const unchangedWallet = (accountId: string, version: number): Write => ({
  check: balanceKey(walletOf(accountId), "wallet"),
  if: version === 0 ? "absent" : { version },
});

export type WalletPlan = { done: Done[]; writes: Write[]; changes: Change[]; posted: number; available: number };

/** The items of the wallet, and of the accounts of the ledger on the other side, that `planWallet` reads first. */
export const aheadOfWallet = (accountId: string, others: readonly string[]): Key[] => [
  ...(aheadOfList(transactionsOf(accountId)).keys ?? []),
  ...["wallet", ...others].map((account) => balanceKey(walletOf(accountId), account)),
];

/**
 * Plans all postings or none, with their transactions in the list, for one transaction with other writes. A posting
 * with an id that was used before changes nothing. Throws 409 `insufficient_funds`.
 */
export async function planWallet(
  table: Reader,
  accountId: string,
  postings: readonly Posting[],
  now: Date,
): Promise<WalletPlan> {
  const { state } = await readList(table, transactionsOf(accountId));
  const begun: string[] = [];
  const nextId = (): string => {
    begun.push(idWithOrdinal(state.next + begun.length));
    return begun.at(-1) ?? "";
  };
  const [planned, last] = await Promise.all([
    planOrRefuse(table, accountId, postings, now, nextId),
    state.next > 0 && postings.some(isBeginning)
      ? table.get(rowKey(state.list, state.next - 1), StoredTransaction)
      : undefined,
  ]);
  const wallet = planned.balances.get("wallet") ?? emptyBalance;
  const at = latest(now.toISOString(), last?.effective_at);
  const rows = planned.done.flatMap((done, index) => newRow(done, postings[index], wallet, at));
  const resolved = await Promise.all(planned.done.map((done) => resolvedRow(table, accountId, done, now)));
  const changed = resolved.flatMap((one) => one ?? []);
  return {
    done: planned.done,
    writes: [
      ...planned.writes,
      ...(rows.length > 0 ? appendRows(state, rows) : []),
      ...changed.map(({ write }) => write),
    ],
    changes: [
      ...rows.map((row) => change(transactionKind, "created", row.transaction_id, { after: row })),
      ...changed.map(({ before, after }) =>
        change(transactionKind, "updated", after.transaction_id, { before, after }),
      ),
      ...lowBalanceChange(accountId, planned.done, wallet),
    ],
    posted: postedOf(wallet),
    available: availableOf(wallet),
  };
}

const isBeginning = ({ kind }: Posting): boolean => kind === "transfer" || kind === "hold";

/** The later of two times. Clocks differ, and no transaction may have an earlier time than the one before it. */
const latest = (one: string, other = ""): string => (one > other ? one : other);

async function planOrRefuse(
  table: Reader,
  accountId: string,
  postings: readonly Posting[],
  now: Date,
  nextId: () => string,
) {
  try {
    return await planOperations(table, walletOf(accountId), postings, now, nextId);
  } catch (error) {
    if (!(error instanceof Overdrawn)) throw error;
    throw new Problem("insufficient_funds", "The wallet's available balance is too low. Top up the wallet first.", {
      available: money(Math.max(0, error.available)),
      currency,
    });
  }
}

/** The new row of the list for a movement; none for a movement that existed, or for the end of a hold. */
function newRow(
  { movement, existed, entries }: Done,
  posting: Posting | undefined,
  wallet: Balance,
  effective_at: string,
): Omit<StoredTransaction, never>[] {
  if (existed || posting === undefined || !("type" in posting)) return [];
  const entry = entries.find(({ account }) => account === "wallet");
  return [
    {
      transaction_id: movement.reference ?? "",
      type: posting.type,
      direction: movement.debit === "wallet" ? "debit" : "credit",
      status: movement.kind === "hold" ? "pending" : "settled",
      amount: money(movement.amount),
      currency,
      balance_after: money(entry?.balance_after ?? postedOf(wallet)),
      description: posting.description,
      effective_at,
      movement_id: movement.id,
      version: 1,
    },
  ];
}

/**
 * The row of a hold after the hold is resolved. It keeps its place in the list, at the time when the amount was held.
 */
async function resolvedRow(table: Reader, accountId: string, done: Done, now: Date) {
  const { kind, movement, existed, entries } = done;
  if (existed || kind === "transfer" || kind === "hold") return undefined;
  const key = rowKey(transactionsOf(accountId), ordinalOf(movement.reference ?? "") ?? 2 ** 40);
  const before = await table.get(key, StoredTransaction);
  if (!before) throw new Error(`The hold ${movement.id} has no transaction.`);
  const entry = entries.find(({ account }) => account === "wallet");
  const after: StoredTransaction = {
    ...before,
    status: entry ? "settled" : "void",
    ...(entry ? { amount: money(entry.amount), balance_after: money(entry.balance_after) } : {}),
    resolved_at: now.toISOString(),
    version: before.version + 1,
  };
  const write: Write = { put: { ...key, ...after }, if: { version: before.version } };
  return { before, after, write };
}

/** The event for a wallet whose balance falls below `lowBalance` by these operations. */
function lowBalanceChange(accountId: string, done: readonly Done[], wallet: Balance): Change[] {
  const spent = done
    .flatMap(({ entries }) => entries)
    .filter(({ account, direction }) => account === "wallet" && direction === "debit")
    .reduce((sum, { amount }) => sum + amount, 0);
  const posted = postedOf(wallet);
  if (spent === 0 || posted >= lowBalance || posted + spent < lowBalance) return [];
  const state = { balance: money(posted), available: money(availableOf(wallet)), currency };
  return [change(walletKind, "low_balance", accountId, { after: state })];
}
