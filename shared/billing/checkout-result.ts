import * as z from "zod";

import { Id } from "../core/ids.ts";
import { Currency, currency } from "../core/money.ts";
import type { Reader } from "../table/table.ts";
import { topupOfToken, TopupStatus } from "../wallet/topup.ts";
import { askForPage, isUnavailable, type AskWork } from "./ask.ts";

export const CheckoutResult = z
  .object({
    status: TopupStatus.meta({
      description: "The status of the payment: `pending` until the provider has reported it.",
    }),
    message: z.string().meta({ description: "A text to show to the payer." }),
    account: z
      .object({
        account_id: Id.meta({ description: "The account's id." }),
        currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
      })
      .meta({ description: "The account that the payment is for." }),
    checkout_token: z.string().meta({ description: "The token of the request." }),
    dashboard_url: z
      .string()
      .nullable()
      .optional()
      .meta({ description: "The address of the page to continue with. Null if there is none." }),
  })
  .meta({ id: "CheckoutResult", description: "The result of a checkout, for its success or cancel page." });

const messages = {
  pending: "The payment is being confirmed. This takes a moment.",
  paid: "Thank you. The amount is in your wallet.",
  failed: "The payment was declined. Nothing was taken.",
  expired: "The payment page has expired. Nothing was taken.",
} as const;

/** Reads the top-up after the provider was asked. Returns the top-up from before if the table does not answer. */
const readAfter = <T>(before: T, read: () => Promise<T>): Promise<T> =>
  read().catch((error: unknown) => {
    if (isUnavailable(error)) return before;
    throw error;
  });

/**
 * The result of the checkout that a token identifies. Throws 404 for an unknown token. While the result is not known,
 * this asks the provider, but only every few seconds.
 */
export async function checkoutResult(
  accountId: string,
  checkoutToken: string,
  table: Reader,
  asking: () => AskWork,
): Promise<z.output<typeof CheckoutResult>> {
  const before = await topupOfToken(table, accountId, checkoutToken);
  if (before.status === "pending") await askForPage(accountId, before, asking());
  const { status } =
    before.status === "pending" ? await readAfter(before, () => topupOfToken(table, accountId, checkoutToken)) : before;
  return {
    status,
    message: messages[status],
    account: { account_id: accountId, currency },
    checkout_token: checkoutToken,
    dashboard_url: null,
  };
}
