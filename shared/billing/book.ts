import type { Debt, StoredAccount } from "../accounts/account.ts";
import { accountKey } from "../accounts/account.ts";
import { planAccountStatus } from "../accounts/status.ts";
import { getAccount } from "../accounts/visible.ts";
import { change, type Change } from "../changes/kind.ts";
import type { ChangePlan } from "../changes/recorder.ts";
import { Problem } from "../core/errors.ts";
import { minorUnits, money } from "../core/money.ts";
import { clock, dayOf, monthOf, plusDays } from "../core/time.ts";
import type { StoredIp } from "../dedicated-ips/dedicated-ip.ts";
import { balanceKey } from "../ledger/ledger.ts";
import { MovementConflict } from "../ledger/movement.ts";
import { appendRows, readList, rowKey } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import type { Item, Write, Key } from "../table/writes.ts";
import { graceDays } from "../wallet/catalogue.ts";
import { profileKey, readProfile, type StoredProfile } from "../wallet/profile.ts";
import { afterClosing, BillingState, firstState, stateKey } from "../wallet/state.ts";
import { isOverdrawn, planWallet, readWallet, unchangedWallet, type Posting, walletOf } from "../wallet/wallet.ts";
import { Accrual, accrualKey } from "./charges.ts";
import { dueDay, moveClosing } from "./due.ts";
import { dueOf, invoiceKey, invoiceKind, invoicesOf, StoredInvoice } from "./invoices/invoice.ts";

/**
 * The members of a managed dedicated IP that decide about its charges. The IP is paid in advance until `paid_until`,
 * and is charged from that day on. An IP without `paid_until` has not been ready yet, and costs nothing until it is
 * ready. `first_days_price` is the price of the first days. The price is missing for an IP that an earlier version
 * claimed.
 */
export type ClaimedIp = Pick<StoredIp, "created_at" | "paid_until" | "first_days_price">;

/**
 * The billing of an account in memory, also called a book: the state as it was read, with the changes made since.
 * `planBilling` turns the changes into one transaction, which fails if the stored state has changed meanwhile.
 */
export type AccountBilling = {
  accountId: string;
  account: StoredAccount;
  now: Date;
  state: BillingState;
  /** The balance of the wallet when it was read, and the part of this balance that was held. */
  posted: number;
  held: number;
  /** The available amount of the wallet after `postings`. */
  available: number;
  /** The version of the wallet as it was read. */
  walletVersion: number;
  /** The recorded days that are on no invoice, oldest first. */
  accruals: Accrual[];
  /** The days to record. `accruals` contains these days too, until they are on an invoice. */
  newAccruals: Accrual[];
  /** The open invoices, oldest first. */
  open: StoredInvoice[];
  newInvoices: StoredInvoice[];
  /** The invoices that `postings` pay. */
  paid: StoredInvoice[];
  postings: Posting[];
  /** The customer's billing profile, which the next invoice shows. The profile decides about the VAT. */
  profile: StoredProfile;
  /** Managed dedicated IPs that a dry run adds to the usage. */
  claimed?: ClaimedIp[];
  /** The status that the account gets. */
  status: StoredAccount["status"];
  changes: Change[];
};

/** Items that `openAccountBilling` always reads. The state decides which further items it reads. */
export const aheadOfBilling = (accountId: string): Key[] => [
  stateKey(accountId),
  balanceKey(walletOf(accountId), "wallet"),
  profileKey(accountId),
];

/**
 * The items and ranges that `openAccountBilling` probably reads for a view. They include the recorded days of this
 * month, because these are nearly always all the days that are on no invoice.
 */
export function aheadOfBillingView(accountId: string): Ahead & { keys: Key[] } {
  const today = dayOf(clock());
  const [first, last] = [accrualKey(accountId, monthOf(today)), accrualKey(accountId, plusDays(today, 1))];
  return {
    keys: [...aheadOfBilling(accountId), accountKey(accountId)],
    ranges: [{ partition: first.PK, from: first.SK, to: last.SK }],
  };
}

/** Reads the billing of an account. Throws 404 if there is no account. */
export async function openAccountBilling(table: Reader, accountId: string, now: Date): Promise<AccountBilling> {
  // The state has to be read first. The transaction has a condition on the version of the state. Every process that
  // adds a day or an invoice, or changes the account's status for a debt, also writes the state. So if the later reads
  // are newer than the state, the transaction fails. In the other order, an outdated status would go unnoticed.
  const [stored, { posted, available, version: walletVersion }] = await Promise.all([
    table.get(stateKey(accountId), BillingState),
    readWallet(table, accountId),
  ]);
  const [account, profile, accruals, open] = await Promise.all([
    getAccount(table, accountId),
    readProfile(table, accountId),
    stored ? readAccruals(table, accountId, stored) : [],
    table.getMany((stored?.open ?? []).map((ordinal) => rowKey(invoicesOf(accountId), ordinal))),
  ]);
  const state = stored ?? firstState(account.created_at);
  return {
    accountId,
    account,
    profile,
    now,
    state,
    posted,
    held: posted - available,
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

/** Reads the billing of an account for a view. A closed account has no plan. Throws 404 if there is no account. */
export async function openBillingView(table: Reader, accountId: string, now: Date): Promise<AccountBilling> {
  const book = await openAccountBilling(table, accountId, now);
  return book.status === "closed" ? { ...book, state: afterClosing(book.state) } : book;
}

/** Reads the recorded days that are on no invoice. */
async function readAccruals(
  table: Reader,
  accountId: string,
  { settle_from, accrue_from }: BillingState,
): Promise<Accrual[]> {
  const [first, last] = [accrualKey(accountId, settle_from), accrualKey(accountId, accrue_from)];
  return (await table.between(first.PK, first.SK, last.SK)).map((item) => Accrual.parse(item));
}

/** Whether an invoice is open, or a payment that was taken back is not paid yet. */
export const owes = ({ open, state }: AccountBilling): boolean => open.length > 0 || state.owed > 0;

/** The amount to pay at once, in minor units: open invoices, and the debt for payments that were taken back. */
export const totalDue = ({ open, state }: AccountBilling): number =>
  open.reduce((sum, invoice) => sum + dueOf(invoice), state.owed);

/**
 * The 409 `insufficient_funds` that `planWallet` threw, with everything that is due added to `missing`, because a payment
 * pays first what is due.
 */
export async function withDue(error: Problem, table: Reader, accountId: string, now: Date): Promise<Problem> {
  const book = await openAccountBilling(table, accountId, now);
  const due = totalDue(book);
  if (due === 0) return error;
  const { currency } = book.account;
  const missing = money((minorUnits(String(error.extras["missing"])) ?? 0) + due);
  const detail = `The wallet lacks ${missing} ${currency}, because a payment first pays the ${money(due)} ${currency} that are due. Top up the wallet first.`;
  return new Problem("insufficient_funds", detail, { ...error.extras, missing });
}

/** The amount that the wallet lacks to pay everything that is due; undefined if it lacks nothing. */
function debtOf(book: AccountBilling): Debt | undefined {
  const { account, state, available, status } = book;
  const missing = totalDue(book) - Math.max(0, available);
  if (missing <= 0 || state.due_since === undefined) return undefined;
  const { currency } = account;
  return { missing, currency, ...(status === "past_due" ? { suspends_on: plusDays(state.due_since, graceDays) } : {}) };
}

/** Turns the changes of a book into one transaction; undefined if the wallet has changed since the book was opened. */
async function planOf(
  table: Reader,
  book: AccountBilling,
  before: BillingState,
): Promise<ChangePlan<void> | undefined> {
  const { accountId, now, state } = book;
  const wallet = await planPostings(table, book);
  if (!wallet) return undefined;
  const statusPlan = await planAccountStatus(table, book.account, book.status, now, debtOf(book));
  // A new invoice has the version 0. `invoiceWrites` stores it, as paid if it is paid at once. So only the invoices
  // that were stored before need a write of their own.
  const storedPaid = book.paid.filter(({ version }) => version > 0);
  // The account's status follows from the state, so a change of the status needs the condition on the state too.
  const isChanged = state !== before || book.status !== book.account.status;
  const stateWrite: Write = {
    put: { ...stateKey(accountId), ...state, version: state.version + 1 },
    if: state.version === 0 ? "absent" : { version: state.version },
  };
  // If the wallet has changed since the book was opened, the transaction must fail in two cases: if invoices stay open
  // or amounts stay owed because the wallet cannot pay them, and if a closed account leaves the queue because nothing
  // is held. The writes of a posting on the wallet have this condition already.
  const needsUnchangedWallet = isChanged && (owes(book) || book.status === "closed") && !book.postings.some(isOfWallet);
  return {
    value: undefined,
    writes: [
      ...(isChanged ? [stateWrite] : []),
      ...(needsUnchangedWallet ? [unchangedWallet(accountId, book.walletVersion)] : []),
      ...book.newAccruals.map((accrual): Write => ({
        put: { ...accrualKey(accountId, accrual.day), ...accrual },
        if: "absent",
      })),
      ...(await invoiceWrites(table, book)),
      ...storedPaid.map((invoice) => paidWrite(accountId, invoice)),
      ...wallet.writes,
      ...statusPlan.writes,
      ...(isChanged ? closingWrites(book, before) : []),
    ],
    changes: [
      ...book.changes,
      ...book.newInvoices.map((invoice) => change(invoiceKind, "created", invoice.id, { after: invoice })),
      ...storedPaid.map((invoice) => change(invoiceKind, "paid", invoice.id, { after: invoice })),
      ...wallet.changes,
      ...statusPlan.changes,
    ],
    // Recording a day changes no resource until the day is on an invoice. So a transaction may have writes but no
    // change to record.
    housekeeping: true,
  };
}

/**
 * The writes that move the account in the queue of days to close. If the account is being closed, the writes remove the
 * account from the queue, unless amounts are held. While amounts are held, the account stays in the queue. The daily
 * run removes it when all holds have ended and all payments are on invoices.
 */
function closingWrites({ accountId, account, state, status, held }: AccountBilling, before: BillingState): Write[] {
  if (account.status === "closed" || (status === "closed" && held > 0)) return [];
  return moveClosing(accountId, dueDay(before), status === "closed" ? null : dueDay(state));
}

/** Plans the postings of a book; undefined if the wallet has changed since the book was opened. */
async function planPostings(table: Reader, book: AccountBilling): Promise<Omit<ChangePlan<void>, "value"> | undefined> {
  if (book.postings.length === 0) return { writes: [], changes: [] };
  try {
    const { writes, changes, available } = await planWallet(table, book.accountId, book.postings, book.now);
    return available === book.available || !book.postings.some(isOfWallet) ? { writes, changes } : undefined;
  } catch (error) {
    // Another process has paid an invoice with the same number but another amount, so this book is stale.
    const isStale = error instanceof MovementConflict;
    if (isStale || isOverdrawn(error)) return undefined;
    throw error;
  }
}

const isOfWallet = (posting: Posting): boolean =>
  "debit" in posting && [posting.debit, posting.credit].includes("wallet");

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

const maxReads = 10;

/**
 * Opens the billing of an account, lets `update` change it, and plans the transaction of these changes. If the wallet
 * has changed meanwhile, opens the billing again. After ten tries in all, throws 503 `busy`.
 */
export async function planBilling(
  table: Reader,
  accountId: string,
  now: Date,
  update: (book: AccountBilling) => Promise<void> | void,
): Promise<ChangePlan<void> & { book: AccountBilling }> {
  for (let reads = 0; reads < maxReads; reads++) {
    const book = await openAccountBilling(table, accountId, now);
    const before = book.state;
    await update(book);
    const plan = await planOf(table, book, before);
    if (plan) return { ...plan, book };
  }
  throw new Problem("busy", "The wallet is changing too often at the moment. Try again.", { retry_after: 1 });
}
