import { randomUUID } from "node:crypto";

import { planCreditNote } from "../../shared/billing/invoices/credit-note.ts";
import { invoicesOf, type StoredInvoice } from "../../shared/billing/invoices/invoice.ts";
import { runAccount } from "../../shared/billing/run.ts";
import { idWithOrdinal } from "../../shared/core/ids.ts";
import { stripeSignature } from "../../shared/providers/payments/embedded.ts";
import { appendRows, readList } from "../../shared/table/ranked-list.ts";
import { planWallet } from "../../shared/wallet/wallet.ts";
import { answerOf, eventOf, handlerOf, request, type Answer } from "./request.ts";
import { addUsage } from "./usage.ts";
import { testTable, type Account, type User } from "./world.ts";

/** Calls a billing route of an account, for its owner if no user is given. */
export const billing = (
  { id, owner }: Account,
  method: string,
  rest: string,
  body?: unknown,
  { token }: Pick<User, "token"> = owner,
): Promise<Answer> => request(method, `/v1/public/accounts/${id}/billing/${rest}`, { token, body });

/** Puts money into a wallet. */
export async function fund({ id }: Pick<Account, "id">, amount: number, description = "Test money"): Promise<void> {
  const table = testTable();
  await table.commit(async () => {
    const { writes } = await planWallet(
      table,
      id,
      [
        {
          kind: "transfer",
          id: `test/${randomUUID()}`,
          debit: "payments",
          credit: "wallet",
          amount,
          code: "topup",
          type: "topup",
          description,
        },
      ],
      new Date(),
    );
    return { value: undefined, writes };
  });
}

/** Gives an account another invoice, which is paid. Returns its id. */
export function addInvoice(
  { id: account_id }: Pick<Account, "id">,
  more: Partial<StoredInvoice> = {},
): Promise<string> {
  const table = testTable();
  return table.commit(async () => {
    const { state } = await readList(table, invoicesOf(account_id));
    const id = idWithOrdinal(state.next);
    const invoice: StoredInvoice = {
      id,
      account_id,
      customer_name: "Test",
      number: `T-${state.next}`,
      date: new Date().toISOString(),
      period_start: "2026-01-01",
      period_end: "2026-01-31",
      amount: "1.00",
      currency: "USD",
      status: "paid",
      lines: [],
      total: 100,
      download_key: "key",
      version: 1,
      ...more,
    };
    return { value: id, writes: appendRows(state, [invoice]) };
  });
}

/** Puts a credit note on a new invoice of an account, and returns its id. */
export async function addCreditNote(account: Pick<Account, "id">): Promise<string> {
  return credit(account, { invoiceId: await addInvoice(account) });
}

/**
 * Credits an amount of an invoice in minor units, or the whole rest if no amount is given. Returns the id of the credit
 * note.
 */
export function credit({ id }: Pick<Account, "id">, given: { invoiceId: string; amount?: number }): Promise<string> {
  const note = { id: randomUUID(), reason: "Test", ...given };
  return testTable().commit(async () => {
    const { value, writes } = await planCreditNote(testTable(), id, note, new Date());
    return { value: value.id, writes };
  });
}

/** Adds mailboxes to the count that billing has of an account. */
export const use = ({ id }: Pick<Account, "id">, mailboxes: number): Promise<void> =>
  addUsage(testTable(), id, { mailboxes });

/** Closes the days of an account up to `last`, as the worker does on the day after `last`. */
export const closeDays = ({ id }: Pick<Account, "id">, last: string): Promise<void> =>
  runAccount(id, last, {
    table: testTable(),
    now: () => new Date(Date.parse(`${last}T00:20:00Z`) + 86_400_000),
    requestId: "test",
  });

type Told = { checkoutId: string; reference: string; cents: number; currency?: string };

/** Sends the payment provider's signed event of a checkout. */
export async function tellPayment(
  account: Pick<Account, "id">,
  { checkoutId, reference, cents, currency = "usd" }: Told,
  type = "checkout.session.completed",
): Promise<Answer> {
  const body = JSON.stringify({
    id: `evt_${randomUUID()}`,
    object: "event",
    created: Math.floor(Date.now() / 1000),
    type,
    data: {
      object: {
        id: checkoutId,
        object: "checkout.session",
        amount_total: cents,
        currency,
        metadata: { account_id: account.id, reference },
        payment_status: type.endsWith("completed") ? "paid" : "unpaid",
      },
    },
  });
  const secret = process.env["PAYMENTS_WEBHOOK_SECRET"] ?? "";
  const headers = { "stripe-signature": stripeSignature(body, secret, new Date()) };
  // Not through `request`: the provider's route is not part of the public document.
  const handler = await handlerOf({ file: "functions/workers/payment-webhook.ts" });
  return answerOf(await handler(eventOf("POST", "/v1/public/webhooks/payments", { body, headers })));
}
