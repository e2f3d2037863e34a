import { clock } from "../../core/time.ts";
import type { Table } from "../../table/table.ts";
import { addCheckout, getStored, checkoutStatus, type StoredCheckout } from "./embedded-checkout.ts";
import type { Payments } from "./payments.ts";
import { readPaymentEvent } from "./stripe-objects.ts";

export type EmbeddedOptions = {
  /** The secret that signs webhooks. */
  webhookSecret: string;
  /** The origin of the checkout pages. */
  baseUrl: string;
  now?: () => Date;
};

/**
 * Payments without a provider. The table has the checkouts, and a page of the local runtime settles them. No money moves.
 */
export function embeddedPayments(table: Table, options: EmbeddedOptions): Payments {
  const { webhookSecret, baseUrl, now = clock } = options;
  const urlOf = ({ id }: StoredCheckout): string => new URL(`/_local/checkout/${id}`, baseUrl).href;
  return {
    createCheckout: async (input) => {
      const checkout = await addCheckout(table, input, now());
      return { id: checkout.id, url: urlOf(checkout), expiresAt: new Date(checkout.expires_at) };
    },
    readEvent: (body, headers, at) => readPaymentEvent(body, headers["stripe-signature"], webhookSecret, at),
    getCheckout: async (id) => {
      const checkout = await getStored(table, id);
      const status = checkoutStatus(checkout, now());
      const { reference, account_id: accountId, amount, currency, expires_at } = checkout;
      return {
        id,
        status,
        reference,
        accountId,
        amount,
        currency,
        expiresAt: new Date(expires_at),
        ...(status === "open" ? { url: urlOf(checkout) } : {}),
      };
    },
  };
}
