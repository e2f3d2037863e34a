import { createHash, randomBytes, randomUUID } from "node:crypto";

import { topupKey } from "../../shared/wallet/topup.ts";
import { addCreditNote, addInvoice } from "./billing.ts";
import type { Example } from "./examples.ts";
import { saveTestCard } from "./saved-cards.ts";
import { testTable, type Account } from "./world.ts";

/** A top-up that waits for its payment, and the token of the page its payer comes back to. */
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

export const billingExamples: Record<string, (account: Account) => Promise<Example>> = {
  "billing.wallet_balance.get": async ({ id }) => ({ account_id: id }),
  "billing.transactions.list": async ({ id }) => ({ account_id: id }),
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
  "billing.payment_method.get": async ({ id }) => ({ account_id: id }),
  "billing.payment_method.delete": async (account) => {
    await saveTestCard(account);
    return { account_id: account.id };
  },
  "billing.auto_recharge.get": async ({ id }) => ({ account_id: id }),
  "billing.auto_recharge.update": async ({ id }) => ({ account_id: id, threshold: "20.00" }),
  "billing.alerts.get": async ({ id }) => ({ account_id: id }),
  "billing.alerts.update": async ({ id }) => ({ account_id: id, low_balance_threshold: "15.00" }),
  "billing.invoices.list": async ({ id }) => ({ account_id: id }),
  "billing.profile.get": async ({ id }) => ({ account_id: id }),
  "billing.profile.update": async ({ id }) => ({ account_id: id, name: "Example GmbH", city: "Berlin", country: "DE" }),
  "billing.credit_notes.list": async ({ id }) => ({ account_id: id }),
  "billing.credit_notes.get": async (account) => ({
    account_id: account.id,
    credit_note_id: await addCreditNote(account),
  }),
  "billing.invoices.get": async (account) => ({ account_id: account.id, invoice_id: await addInvoice(account) }),
};
