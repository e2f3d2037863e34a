import type { StoredAccount } from "../accounts/account.ts";
import { accountKey } from "../accounts/account.ts";
import { planAccountStatus } from "../accounts/status.ts";
import { getAccount } from "../accounts/visible.ts";
import { change, type Change } from "../changes/kind.ts";
import type { ChangePlan } from "../changes/recorder.ts";
import { Problem } from "../core/errors.ts";
import { clock, dayOf, monthOf, plusDays } from "../core/time.ts";
import { balanceKey } from "../ledger/ledger.ts";
import { MovementConflict } from "../ledger/movement.ts";
import { appendRows, readList, rowKey } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import type { Item, Write, Key } from "../table/writes.ts";
import { BillingState, firstState, stateKey } from "../wallet/state.ts";
import { planWallet, readWallet, unchangedWallet, type Posting, walletOf } from "../wallet/wallet.ts";
import { Accrual, accrualKey } from "./charges.ts";
import { invoiceKey, invoiceKind, invoicesOf, StoredInvoice } from "./invoice.ts";

/**
 * The billing of an account in memory: the stored state, with the changes made so far. `planBilling` turns the changes
 * into one transaction, which fails if the stored state has changed since.
 */
export type AccountBilling = {
  accountId: string;
  account: StoredAccount;
  now: Date;
  state: BillingState;
  /** The balance of the wallet as it was read. */
  posted: number;
  /** The available amount of the wallet, minus the postings made here. */
  available: number;
  /** The version of the wallet as it was read. */
  walletVersion: number;
  /** The recorded days that are on no invoice, oldest first. */
  accruals: Accrual[];
  newAccruals: Accrual[];
  open: StoredInvoice[];
  newInvoices: StoredInvoice[];
  paid: StoredInvoice[];
  postings: Posting[];
  status: StoredAccount["status"];
  changes: Change[];
};

/** The items that `openAccountBilling` reads first. The state decides what is read next. */
export const aheadOfBilling = (accountId: string): Key[] => [
  stateKey(accountId),
  balanceKey(walletOf(accountId), "wallet"),
];

/**
 * The items and ranges that `openAccountBilling` reads for a view: also the account, and the recorded days of this
 * month. These seldom are fewer than the days on no invoice.
 */
export function aheadOfBillingView(accountId: string): Ahead & { keys: Key[] } {
  const today = dayOf(clock());
  const [first, last] = [accrualKey(accountId, monthOf(today)), accrualKey(accountId, plusDays(today, 1))];
  return {
    keys: [...aheadOfBilling(accountId), accountKey(accountId)],
    ranges: [{ partition: first.PK, from: first.SK, to: last.SK }],
  };
}

/** Reads the billing of an account. Throws 404. */
export async function openAccountBilling(table: Reader, accountId: string, now: Date): Promise<AccountBilling> {
  // The state is read before the days and invoices that it names, so that a later day or invoice fails the condition on
  // the state. It is read before the account too: a process that changes the account's status for a debt also writes the
  // state. So if the status read here is newer than the state, the condition fails. In the other order, an outdated status
  // would go unnoticed.
  const [stored, { posted, available, version: walletVersion }] = await Promise.all([
    table.get(stateKey(accountId), BillingState),
    readWallet(table, accountId),
  ]);
  const [account, accruals, open] = await Promise.all([
    getAccount(table, accountId),
    stored ? readAccruals(table, accountId, stored) : [],
    table.getMany((stored?.open ?? []).map((ordinal) => rowKey(invoicesOf(accountId), ordinal))),
  ]);
  const state = stored ?? firstState(account.created_at);
  return {
    accountId,
    account,
    now,
    state,
    posted,
    available,
    walletVersion,
    accruals,
    newAccruals: [],
    open: open.flatMap((item) => (item ? [StoredInvoice.parse(item)] : [])),
    newInvoices: [],
    paid: [],
    postings: [],
    status: account.status,
    changes: [],
  };
}

/** The recorded days that are on no invoice. There is none before a state is stored. */
async function readAccruals(
  table: Reader,
  accountId: string,
  { settle_from, accrue_from }: BillingState,
): Promise<Accrual[]> {
  const [first, last] = [accrualKey(accountId, settle_from), accrualKey(accountId, accrue_from)];
  return (await table.between(first.PK, first.SK, last.SK)).map((item) => Accrual.parse(item));
}

/** Turns the changes of a book into one transaction; undefined if the wallet changed since it was read. */
async function planOf(
  table: Reader,
  book: AccountBilling,
  before: BillingState,
): Promise<ChangePlan<void> | undefined> {
  const { accountId, now, state } = book;
  const wallet = await planPostings(table, book);
  if (!wallet) return undefined;
  const standing = await planAccountStatus(table, book.account, book.status, now);
  const paidBefore = book.paid.filter(({ version }) => version > 0);
  // The status follows from the state, so a change of the status needs the state's condition too.
  const isChanged = state !== before || book.status !== book.account.status;
  const stateWrite: Write = {
    put: { ...stateKey(accountId), ...state, version: state.version + 1 },
    if: state.version === 0 ? "absent" : { version: state.version },
  };
  // Invoices stay open because the wallet could not pay them. If the wallet has changed since, the transaction fails.
  const isShort = isChanged && book.open.length > 0 && book.postings.length === 0;
  return {
    value: undefined,
    writes: [
      ...(isChanged ? [stateWrite] : []),
      ...(isShort ? [unchangedWallet(accountId, book.walletVersion)] : []),
      ...book.newAccruals.map((accrual): Write => ({
        put: { ...accrualKey(accountId, accrual.day), ...accrual },
        if: "absent",
      })),
      ...(await invoiceWrites(table, book)),
      ...paidBefore.map((invoice) => paidWrite(accountId, invoice)),
      ...wallet.writes,
      ...standing.writes,
    ],
    changes: [
      ...book.changes,
      ...book.newInvoices.map((invoice) => change(invoiceKind, "created", invoice.id, { after: invoice })),
      ...paidBefore.map((invoice) => change(invoiceKind, "paid", invoice.id, { after: invoice })),
      ...wallet.changes,
      ...standing.changes,
    ],
    // A recorded day changes no resource until it is on an invoice.
    housekeeping: true,
  };
}

/** Plans the postings of a book; undefined if the wallet changed since it was read. */
async function planPostings(table: Reader, book: AccountBilling): Promise<Omit<ChangePlan<void>, "value"> | undefined> {
  if (book.postings.length === 0) return { writes: [], changes: [] };
  try {
    const { writes, changes, available } = await planWallet(table, book.accountId, book.postings, book.now);
    return available === book.available ? { writes, changes } : undefined;
  } catch (error) {
    // Another run made and paid the same invoice differently, so this book is stale.
    const isStale = error instanceof MovementConflict;
    if (isStale || (error instanceof Problem && error.code === "insufficient_funds")) return undefined;
    throw error;
  }
}

async function invoiceWrites(table: Reader, { accountId, newInvoices }: AccountBilling): Promise<Write[]> {
  if (newInvoices.length === 0) return [];
  const { state } = await readList(table, invoicesOf(accountId));
  return appendRows(
    state,
    newInvoices.map((invoice) => ({ ...invoice, version: 1 })),
  );
}

function paidWrite(accountId: string, invoice: StoredInvoice): Write {
  const key = invoiceKey(accountId, invoice.id);
  return { put: { ...key, ...invoice, version: invoice.version + 1 } satisfies Item, if: { version: invoice.version } };
}

const maxReads = 5;

/**
 * Plans the transaction of `work` on an account's billing. If the wallet changed after it was read, `work` runs again on
 * what is stored by then, five times at most. After that it throws 503 `busy`.
 */
export async function planBilling(
  table: Reader,
  accountId: string,
  now: Date,
  work: (book: AccountBilling) => Promise<void> | void,
): Promise<ChangePlan<void> & { book: AccountBilling }> {
  for (let reads = 0; reads < maxReads; reads++) {
    const book = await openAccountBilling(table, accountId, now);
    const before = book.state;
    await work(book);
    const plan = await planOf(table, book, before);
    if (plan) return { ...plan, book };
  }
  throw new Problem("busy", "The wallet is changing too often at the moment. Try again.", { retry_after: 1 });
}
