import { randomUUID } from "node:crypto";

import { createAccount } from "../../../shared/access/operate-accounts.ts";
import type { StoredAccount } from "../../../shared/accounts/account.ts";
import { getAccount } from "../../../shared/accounts/visible.ts";
import { noPermissions } from "../../../shared/auth/permissions.ts";
import { Accrual, accrualKey } from "../../../shared/billing/charges.ts";
import { invoicesOf, StoredInvoice } from "../../../shared/billing/invoices/invoice.ts";
import { handlePayment } from "../../../shared/billing/payments.ts";
import { runAccount } from "../../../shared/billing/run.ts";
import { readChangePages } from "../../../shared/changes/history.ts";
import { StoredChange } from "../../../shared/changes/record.ts";
import { recorder } from "../../../shared/changes/recorder.ts";
import { createLog } from "../../../shared/core/log.ts";
import type { Day } from "../../../shared/core/time.ts";
import type { Context } from "../../../shared/http/route.ts";
import type { PaymentEvent } from "../../../shared/providers/payments/payments.ts";
import { readRows } from "../../../shared/table/ranked-list.ts";
import { BillingState, stateKey } from "../../../shared/wallet/state.ts";
import { StoredTransaction, transactionsOf } from "../../../shared/wallet/transaction.ts";
import { planWallet, readWallet, type Posting } from "../../../shared/wallet/wallet.ts";
import { addUsage, type Usage } from "../../support/usage.ts";
import { testTable } from "../../support/world.ts";

const table = testTable();
export const log = createLog("silent", {});

async function changesOf(accountId: string): Promise<StoredChange[]> {
  const rows = [];
  for await (const page of readChangePages(table, accountId, { sinceMs: 0 })) rows.push(...page);
  return rows.map((row) => StoredChange.parse(row));
}

/** A new account that was created at noon of a day, with a clock, and functions that change and read its bill. */
export async function newScene(created: Day, currency = "USD") {
  const accountId = randomUUID();
  const clock = { at: new Date(`${created}T12:00:00Z`) };
  const now = (): Date => clock.at;
  const client = { id: randomUUID(), name: "A client" };
  await createAccount(table, { id: accountId, client, name: "An account", currency, ownerId: randomUUID() }, now());
  const author = { action: "test", actor: { type: "user" as const, id: "somebody" }, requestId: randomUUID() };
  const commit = recorder({ table, accountId, author, now });
  const context: Context = {
    principal: { type: "user", id: "somebody", email: "somebody@example.com", groups: [] },
    permissions: { ...noPermissions, member: true },
    requestId: author.requestId,
    table,
    commit,
    answer: async (value) => value,
    chargeClass: async () => undefined,
    log,
    now,
  };
  const pay = (event: Partial<PaymentEvent>) =>
    handlePayment(paymentOf(accountId, { currency, ...event }, now()), { table, now, log });
  return {
    accountId,
    context,
    pay,
    /** Sets the clock to a time of a day, by default noon. */
    on: (day: Day, time = "12:00") => void (clock.at = new Date(`${day}T${time}:00Z`)),
    topUp: (amount: number) => pay({ amount, checkoutId: randomUUID() }),
    run: (last: Day) => runAccount(accountId, last, { table, now, requestId: randomUUID() }),
    post: (...postings: Posting[]) =>
      commit(async () => {
        const { done, writes, changes } = await planWallet(table, accountId, postings, now());
        return { value: done, writes, changes };
      }),
    use: (add: Usage) => addUsage(table, accountId, add),
    ...looks(accountId),
  };
}

/** Functions that read what is stored about an account's bill. */
const looks = (accountId: string) => ({
  account: (): Promise<StoredAccount> => getAccount(table, accountId),
  wallet: () => readWallet(table, accountId),
  state: () => table.get(stateKey(accountId), BillingState),
  invoices: async (): Promise<StoredInvoice[]> => {
    const { rows } = await readRows(table, invoicesOf(accountId), { skip: 0, take: 100 });
    return rows.map((row) => StoredInvoice.parse(row));
  },
  transactions: async (): Promise<StoredTransaction[]> => {
    const { rows } = await readRows(table, transactionsOf(accountId), { skip: 0, take: 100 });
    return rows.map((row) => StoredTransaction.parse(row));
  },
  accruals: async (): Promise<Accrual[]> => {
    const { PK } = accrualKey(accountId, "");
    return (await table.between(PK, "ACCRUAL#", "ACCRUAL#9")).map((item) => Accrual.parse(item));
  },
  events: async (): Promise<string[]> => (await changesOf(accountId)).map(({ type }) => type),
  /** The changes whose types begin with a prefix, oldest first. */
  changes: async (prefix: string): Promise<{ type: string; after: Record<string, unknown> }[]> =>
    (await changesOf(accountId)).flatMap(({ type, after }) =>
      type.startsWith(prefix) ? [{ type, after: after ?? {} }] : [],
    ),
});

/** An event of the payment provider about a checkout. */
export const paymentOf = (accountId: string, event: Partial<PaymentEvent>, at: Date): PaymentEvent => ({
  id: randomUUID(),
  type: "paid",
  checkoutId: "checkout",
  reference: "reference",
  accountId,
  amount: 1_000,
  currency: "USD",
  at,
  ...event,
});

/** A posting's members for a purchase. `amount` is in minor units. */
export const purchase = (id: string, amount: number) =>
  ({ id, debit: "wallet", credit: "revenue", amount, code: "purchase", type: "purchase", description: "It" }) as const;
