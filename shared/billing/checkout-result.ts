import * as z from "zod";

import { getAccount } from "../accounts/visible.ts";
import { Id } from "../core/ids.ts";
import { Currency, MoneyText } from "../core/money.ts";
import type { Reader } from "../table/table.ts";
import { returnUrlWith } from "../wallet/return-url.ts";
import { topupOfToken, TopupStatus, type StoredTopup } from "../wallet/topup.ts";
import { askForPage, isUnavailable, type AskContext } from "./ask.ts";
import { readSetup, setupOfToken, type StoredSetup } from "./recharges/payment-method.ts";
import { askSetupForPage } from "./recharges/provider-events.ts";
import type { RechargeContext } from "./recharges/recharge.ts";

export const CheckoutResult = z
  .object({
    status: TopupStatus.meta({
      description:
        "The status of the payment: `pending` until the provider has reported a result. `paid` also if a card was saved.",
    }),
    purpose: z.enum(["topup", "purchase", "payment_method"]).meta({
      description:
        "The purpose of the checkout: `topup` for the wallet, `purchase` for domain names that wait for the payment, `payment_method` to save a payment method.",
    }),
    amount: MoneyText.nullable().meta({
      description: "The amount of the payment. Null if the checkout takes no money.",
    }),
    message: z.string().meta({ description: "A text to show to the payer." }),
    account: z
      .object({
        account_id: Id.meta({ description: "The account's id." }),
        currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
      })
      .meta({ description: "The account whose wallet gets the payment." }),
    checkout_token: z.string().meta({ description: "The token of the request." }),
    dashboard_url: z.string().nullable().optional().meta({
      description:
        "The `return_url` of the checkout, with `checkout_token` and `status` in its query. Null if the checkout has no `return_url`.",
    }),
  })
  .meta({ id: "CheckoutResult", description: "The result of a checkout, for its success or cancel page." });

const messages = {
  pending: "The payment is being confirmed. This takes a moment.",
  failed: "The payment was declined. Nothing was taken.",
  expired: "The payment page has expired. Nothing was taken.",
} as const;

function messageOf({ status, amount, currency, purchase_batch_id }: StoredTopup): string {
  if (status !== "paid") return messages[status];
  const next = purchase_batch_id === undefined ? "" : " The order that waited for the payment goes on.";
  return `Thank you. ${amount} ${currency} went to your wallet.${next}`;
}

/** Runs a read. Returns `fallback` if the read throws a 503. */
const readOr = <T>(fallback: T, read: () => Promise<T>): Promise<T> =>
  read().catch((error: unknown) => {
    if (isUnavailable(error)) return fallback;
    throw error;
  });

/**
 * The result of the checkout that a token identifies. Asks the provider about a pending checkout, at most every four
 * seconds. Throws 404 for an unknown token.
 */
export async function checkoutResult(
  accountId: string,
  checkoutToken: string,
  table: Reader,
  openContext: () => AskContext & RechargeContext,
): Promise<z.output<typeof CheckoutResult>> {
  const setup = await setupOfToken(table, accountId, checkoutToken);
  if (setup) return setupResult(accountId, checkoutToken, setup, table, openContext);
  const before = await topupOfToken(table, accountId, checkoutToken);
  if (before.status === "pending") await askForPage(accountId, before, openContext());
  const topup =
    before.status === "pending" ? await readOr(before, () => topupOfToken(table, accountId, checkoutToken)) : before;
  return {
    status: topup.status,
    purpose: topup.purchase_batch_id === undefined ? "topup" : "purchase",
    amount: topup.amount,
    message: messageOf(topup),
    account: { account_id: accountId, currency: topup.currency },
    checkout_token: checkoutToken,
    dashboard_url: topup.return_url === undefined ? null : returnUrlWith(topup.return_url, checkoutToken, topup.status),
  };
}

/** The result of a page for saving a card. */
async function setupResult(
  accountId: string,
  checkoutToken: string,
  setup: StoredSetup,
  table: Reader,
  openContext: () => AskContext & RechargeContext,
): Promise<z.output<typeof CheckoutResult>> {
  if (setup.status === "pending") await askSetupForPage(accountId, setup, openContext());
  const [{ status }, { currency }] = await Promise.all([
    setup.status === "pending"
      ? readOr(setup, async () => (await readSetup(table, accountId, setup.id)) ?? setup)
      : setup,
    getAccount(table, accountId),
  ]);
  const result = status === "saved" ? "paid" : status;
  return {
    status: result,
    purpose: "payment_method",
    amount: null,
    message: setupMessages[status],
    account: { account_id: accountId, currency },
    checkout_token: checkoutToken,
    dashboard_url: setup.return_url === undefined ? null : returnUrlWith(setup.return_url, checkoutToken, result),
  };
}

const setupMessages = {
  pending: "Your card is being saved. This takes a moment.",
  saved: "Your card is saved.",
  expired: "This page saved no card: it has expired, or a newer page has saved another card.",
} as const;
