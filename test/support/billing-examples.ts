import { createHash, randomBytes, randomUUID } from "node:crypto";

import { planCreditNote } from "../../shared/billing/invoices/credit-note.ts";
import { newSeries, numberOf } from "../../shared/billing/invoices/invoice.ts";
import { topupKey } from "../../shared/wallet/topup.ts";
import { addInvoice, billing, fund } from "./billing.ts";
import type { Example } from "./examples.ts";
import { saveTestCard } from "./saved-cards.ts";
import { testTable, type Account } from "./world.ts";

/**
 * Makes a top-up that waits for its payment. Returns its reference, and the token of the page to which the payer
 * returns.
 */
export async function newTopup({ id }: Pick<Account, "id">): Promise<{ reference: string; token: string }> {
  const reference = randomUUID();
  const secret = randomBytes(16).toString("base64url");
  const topup = {
    id: reference,
    amount: "50.00",
    currency: "USD",
    status: "pending",
    created_at: new Date().toISOString(),
    checkout_id: `cs_local_${reference}`,
    token_hash: createHash("sha256").update(secret).digest("hex"),
    version: 1,
  };
  await testTable().commit(async () => ({ value: 0, writes: [{ put: { ...topupKey(id, reference), ...topup } }] }));
  return { reference, token: `${reference}.${secret}` };
}

const profile = {
  name: "Example GmbH",
  address_lines: ["Beispielstraße 1"],
  postcode: "10115",
  city: "Berlin",
  country: "DE",
};

/** Makes the invoice for fourteen mailboxes in February. */
const anInvoice = (account: Account): Promise<string> =>
  addInvoice(account, {
    customer_name: "Example Ltd",
    number: numberOf(newSeries(account.id), 1),
    date: "2026-03-01T00:20:00.000Z",
    period_start: "2026-02-01",
    period_end: "2026-02-28",
    amount: "42.00",
    total: 4_200,
    lines: [{ description: "Mailboxes", quantity: "14 for 28 of 28 days", unit_price: 300, amount: 4_200 }],
    paid_at: "2026-03-01T00:20:00.000Z",
  });

async function aCreditNote(account: Account): Promise<string> {
  const credit = { id: randomUUID(), invoiceId: await anInvoice(account), reason: "The service was down for two days" };
  return testTable().commit(async () => {
    const { value, writes } = await planCreditNote(testTable(), account.id, credit, new Date());
    return { value: value.id, writes };
  });
}

async function paidIn(account: Account): Promise<Example> {
  await fund(account, 5_000, "Top-up");
  return { account_id: account.id };
}

async function withCard(account: Account): Promise<Example> {
  await saveTestCard(account);
  return { account_id: account.id };
}

export const billingExamples: Record<string, (account: Account) => Promise<Example>> = {
  "billing.wallet_balance.get": paidIn,
  "billing.transactions.list": paidIn,
  "billing.topup_session.create": async ({ id }) => ({ account_id: id, amount: "50.00" }),
  "billing.checkout_result.get": async (account) => ({
    account_id: account.id,
    checkout_token: (await newTopup(account)).token,
  }),
  "billing.current_plan.get": async ({ id }) => ({ account_id: id }),
  "billing.plans.list": async ({ id }) => ({ account_id: id }),
  "billing.usage.get": async ({ id }) => ({ account_id: id }),
  "billing.plan.change": async ({ id }) => ({ account_id: id, plan_id: "per_dedicated_ip" }),
  "billing.plan.cancel": async ({ id }) => ({ account_id: id }),
  "billing.payment_method_session.create": async ({ id }) => ({ account_id: id }),
  "billing.payment_method.get": withCard,
  "billing.payment_method.delete": withCard,
  "billing.auto_recharge.get": async ({ id }) => ({ account_id: id }),
  "billing.auto_recharge.update": async ({ id }) => ({ account_id: id, threshold: "20.00" }),
  "billing.alerts.get": async ({ id }) => ({ account_id: id }),
  "billing.alerts.update": async ({ id }) => ({ account_id: id, low_balance_threshold: "15.00" }),
  "billing.invoices.list": async (account) => {
    await anInvoice(account);
    return { account_id: account.id };
  },
  "billing.profile.get": async (account) => {
    await billing(account, "PATCH", "profile", profile);
    return { account_id: account.id };
  },
  "billing.profile.update": async ({ id }) => ({ account_id: id, ...profile }),
  "billing.credit_notes.list": async (account) => {
    await aCreditNote(account);
    return { account_id: account.id };
  },
  "billing.credit_notes.get": async (account) => ({
    account_id: account.id,
    credit_note_id: await aCreditNote(account),
  }),
  "billing.invoices.get": async (account) => ({ account_id: account.id, invoice_id: await anInvoice(account) }),
};
