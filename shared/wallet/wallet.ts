import * as z from "zod";

import { accountKey, StoredAccount } from "../accounts/account.ts";
import { getAccount } from "../accounts/visible.ts";
import { change, defineKind, type Change } from "../changes/kind.ts";
import { notFound, Problem } from "../core/errors.ts";
import { idWithOrdinal, ordinalOf } from "../core/ids.ts";
import { Currency, money, MoneyText } from "../core/money.ts";
import { Day } from "../core/time.ts";
import { availableOf, emptyBalance, postedOf, type Balance } from "../ledger/balance.ts";
import { balanceKey, planOperations, readBalance, type Ledger } from "../ledger/ledger.ts";
import { Overdrawn, type Done, type Operation } from "../ledger/movement.ts";
import { appendRows, readList, rowKey, aheadOfList, type ListState } from "../table/ranked-list.ts";
import type { Reader } from "../table/table.ts";
import type { Write, Key } from "../table/writes.ts";
import { StoredTransaction, transactionKind, transactionsOf, type Transaction } from "./transaction.ts";
import type { ChargedVat } from "./vat.ts";

/*
 * Every customer account has a ledger of its own. The ledger account `wallet` is the customer's money with us, and must
 * not be overdrawn. The other ledger accounts show where money came from and where it went. See shared/ledger for the
 * keys.
 */
/** The ledger of a customer account. */
export const walletOf = (accountId: string): Ledger => ({ partition: `ACCOUNT#${accountId}`, limited: ["wallet"] });

/**
 * An operation on the wallet. A transfer or a hold has a type and a description for the customer. A transfer between
 * other accounts of the ledger has neither, and makes no row in the list of transactions.
 */
export type Posting =
  | (Extract<Operation, { kind: "transfer" | "hold" }> & {
      type: Transaction["type"];
      description: string;
      vat?: ChargedVat;
      /** The currency of the price. The wallet must have the same currency. */
      currency?: string;
    })
  | Extract<Operation, { kind: "transfer" }>
  | Extract<Operation, { kind: "capture" | "void" | "expire" }>;

/** The members of the wallet's events. Each type of event has `currency` and its own members. */
const WalletNotice = z.object({
  balance: MoneyText.optional().meta({ description: "The balance of the wallet, including held amounts." }),
  available: MoneyText.optional().meta({ description: "The part of the balance that is not held." }),
  currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
  threshold: MoneyText.optional().meta({ description: "The threshold that the wallet is below now." }),
  days: z.int().optional().meta({
    description: "7 if the payment or the suspension is 2 to 7 days away, 1 if it is tomorrow or today.",
  }),
  expected_charge: MoneyText.optional().meta({ description: "The amount to pay on `due_on`, at the present usage." }),
  missing: MoneyText.optional().meta({ description: "The amount to top up." }),
  due_on: Day.optional().meta({ description: "The day on which the next invoice has to be paid." }),
  suspends_on: Day.optional().meta({ description: "The day on which the account is suspended." }),
});

export const walletKind = defineKind({
  name: "billing.wallet",
  verbs: ["low_balance", "past_due_soon", "suspension_soon"],
  view: WalletNotice,
  seenWith: "billing.view",
});

type WalletBalance = { posted: number; available: number; version: number };

/**
 * Reads the balance of a wallet (`posted`), and the part of the balance that is not held (`available`). Both are in
 * minor units, as integers.
 */
export async function readWallet(table: Reader, accountId: string): Promise<WalletBalance> {
  const balance = await readBalance(table, walletOf(accountId), "wallet");
  return { posted: postedOf(balance), available: availableOf(balance), version: balance.version };
}

/** The write that makes a transaction fail if the wallet does not have this version. */
export const unchangedWallet = (accountId: string, version: number): Write => ({
  check: balanceKey(walletOf(accountId), "wallet"),
  if: version === 0 ? "absent" : { version },
});

export type WalletPlan = { done: Done[]; writes: Write[]; changes: Change[]; posted: number; available: number };

/** The items that `planWallet` reads first. `others` are the ledger accounts of the postings besides the wallet. */
export const aheadOfWallet = (accountId: string, others: readonly string[]): Key[] => [
  ...aheadOfCurrency(accountId),
  ...["wallet", ...others].map((account) => balanceKey(walletOf(accountId), account)),
];

/** Throws 409 `other_currency` if a price is not in the account's currency. */
function requireSame(priceCurrency: string, currency: string): void {
  if (priceCurrency === currency) return;
  const detail = `The price is in ${priceCurrency}, and the account pays in ${currency}. The account cannot buy this.`;
  throw new Problem("other_currency", detail, { currency: priceCurrency, account_currency: currency });
}

/** Throws 409 `other_currency` if an account does not pay in a currency. */
export const requireCurrency = async (table: Reader, accountId: string, currency: string): Promise<void> =>
  requireSame(currency, (await getAccount(table, accountId)).currency);

/** The items that `planCurrencyKept` reads. */
export const aheadOfCurrency = (accountId: string): Key[] => [
  accountKey(accountId),
  ...(aheadOfList(transactionsOf(accountId)).keys ?? []),
];

/**
 * Plans the writes that make a transaction fail if the account's currency changes meanwhile. The head of the list of
 * transactions is written too, so that a change of the currency that did not see the transaction fails. Throws 503
 * `busy` if the account does not have this currency any more.
 */
export async function planCurrencyKept(table: Reader, accountId: string, currency: string): Promise<Write[]> {
  const [account, { state }] = await Promise.all([
    getAccount(table, accountId),
    readList(table, transactionsOf(accountId)),
  ]);
  if (account.currency !== currency) {
    throw new Problem("busy", "The currency of the account has changed meanwhile. Try again.", { retry_after: 1 });
  }
  return [{ check: accountKey(accountId), if: { version: account.version } }, ...appendRows(state, [])];
}

/** Reads the list of a wallet's transactions, and the currency of the account. Throws 404 if there is no account. */
async function readWalletList(table: Reader, accountId: string): Promise<{ state: ListState; currency: string }> {
  const { state, others } = await readList(table, transactionsOf(accountId), [], [accountKey(accountId)]);
  if (!others[0]) throw notFound();
  return { state, currency: StoredAccount.parse(others[0]).currency };
}

/**
 * Plans postings in the account's currency, and their rows in the list of transactions. All postings are made, or none.
 * A posting that was made before changes nothing. Also returns the balance after the postings. Throws:
 * - 404 if there is no account
 * - 409 `insufficient_funds` or `other_currency`
 * - the errors of `planOperations` other than `Overdrawn`
 */
export async function planWallet(
  table: Reader,
  accountId: string,
  postings: readonly Posting[],
  now: Date,
): Promise<WalletPlan> {
  const { state, currency } = await readWalletList(table, accountId);
  for (const posting of postings) if ("currency" in posting) requireSame(posting.currency, currency);
  let rowCount = 0;
  const rowIds = new Set(postings.filter(makesRow).map(({ id }) => id));
  const nextId = (id: string): string | undefined =>
    rowIds.has(id) ? idWithOrdinal(state.next + rowCount++) : undefined;
  const [planned, last] = await Promise.all([
    planLedger(table, { accountId, currency }, postings, now, nextId),
    state.next > 0 && postings.some(makesRow)
      ? table.get(rowKey(state.list, state.next - 1), StoredTransaction)
      : undefined,
  ]);
  const wallet = planned.balances.get("wallet") ?? emptyBalance;
  const at = laterOf(now.toISOString(), last?.effective_at);
  const rows = planned.done.flatMap((done, index) => newRow(done, postings[index], { wallet, currency, at }));
  const resolved = await Promise.all(planned.done.map((done) => resolvedRow(table, accountId, done, wallet, now)));
  const changed = resolved.flatMap((row) => row ?? []);
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
    ],
    posted: postedOf(wallet),
    available: availableOf(wallet),
  };
}

const makesRow = (posting: Posting): boolean => "type" in posting;

/** The later of two times. Clocks differ, but no row may have an earlier time than the row before it. */
const laterOf = (time: string, other = ""): string => (time > other ? time : other);

/** Plans postings in the ledger. Throws 409 `insufficient_funds` if the wallet would be overdrawn. */
async function planLedger(
  table: Reader,
  { accountId, currency }: { accountId: string; currency: string },
  postings: readonly Posting[],
  now: Date,
  nextId: (id: string) => string | undefined,
) {
  try {
    return await planOperations(table, walletOf(accountId), postings, now, nextId);
  } catch (error) {
    if (!(error instanceof Overdrawn)) throw error;
    const { available, required } = error;
    const lack = `The wallet lacks ${money(required - available)} ${currency}. Top up the wallet first.`;
    throw new Problem("insufficient_funds", lack, {
      available: money(Math.max(0, available)),
      required: money(required),
      missing: money(required - available),
      currency,
    });
  }
}

/** Whether an error is the 409 for a wallet that would be overdrawn. */
export const isOverdrawn = (error: unknown): error is Problem =>
  error instanceof Problem && error.code === "insufficient_funds";

/** The new row for a transfer or a hold; none for a posting without a type, or that was made before. */
function newRow(
  { movement, existed, entries }: Done,
  posting: Posting | undefined,
  { wallet, currency, at: effective_at }: { wallet: Balance; currency: string; at: string },
): StoredTransaction[] {
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
      vat: posting.vat ? money(posting.vat.amount) : null,
      ...(posting.vat ? { charged_vat: posting.vat } : {}),
      effective_at,
      movement_id: movement.id,
      version: 1,
    },
  ];
}

/** An ordinal that no row has: the ordinals of rows have 10 digits at most. */
const absentOrdinal = 2 ** 40;

/**
 * The row of a hold before and after the hold is resolved, and the write of the new row. Undefined if the operation
 * changes no row.
 */
async function resolvedRow(table: Reader, accountId: string, done: Done, wallet: Balance, now: Date) {
  const { kind, movement, existed, entries } = done;
  if (existed || kind === "transfer" || kind === "hold") return undefined;
  const key = rowKey(transactionsOf(accountId), ordinalOf(movement.reference ?? "") ?? absentOrdinal);
  const before = await table.get(key, StoredTransaction);
  if (!before) throw new Error(`The hold ${movement.id} has no transaction.`);
  const entry = entries.find(({ account }) => account === "wallet");
  const after: StoredTransaction = {
    ...before,
    status: entry ? "settled" : "void",
    ...(entry ? { amount: money(entry.amount) } : {}),
    balance_after: money(entry?.balance_after ?? postedOf(wallet)),
    resolved_at: now.toISOString(),
    version: before.version + 1,
  };
  const write: Write = { put: { ...key, ...after }, if: { version: before.version } };
  return { before, after, write };
}
