import * as z from "zod";

import { Id } from "../core/ids.ts";
import { Currency, currency } from "../core/money.ts";
import type { Reader } from "../table/table.ts";
import { topupOfToken, TopupStatus } from "../wallet/topup.ts";
import { askForPage, isSilence, type AskWork } from "./ask.ts";

export const CheckoutResult = z
  .object({
    status: TopupStatus.meta({
      description: "What became of the payment; `pending` until the provider has told us, unasked or asked for this.",
    }),
    message: z.string().meta({ description: "What to show to the payer." }),
    account: z
      .object({
        account_id: Id.meta({ description: "The account's id." }),
        currency: Currency.meta({ description: "ISO 4217." }),
      })
      .meta({ description: "The account that was paid for." }),
    checkout_token: z.string().meta({ description: "The token again." }),
    dashboard_url: z.string().nullable().optional().meta({ description: "Where to go on from here." }),
  })
  .meta({ id: "CheckoutResult", description: "What a success or cancel page shows." });

const messages = {
  pending: "The payment is being confirmed. This takes a moment.",
  paid: "Thank you. The amount is in your wallet.",
  failed: "The payment was declined. Nothing was taken.",
  expired: "The payment page has expired. Nothing was taken.",
} as const;

/** Reads the top-up after the provider was asked. Keeps the one from before if the table does not answer. */
const readAfter = <T>(before: T, read: () => Promise<T>): Promise<T> =>
  read().catch((error: unknown) => {
    if (isSilence(error)) return before;
    throw error;
  });

/**
 * The outcome of the checkout that a token stands for. Throws 404 for any other token. While the outcome is not known
 * the provider is asked, every few seconds at most.
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
