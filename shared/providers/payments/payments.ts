/** The payment that a checkout asks for: `amount` in minor units of `currency` (ISO 4217, upper case). */
export type CheckoutInput = {
  /** Our id for the payment, 1 to 200 characters. Every event of the checkout has it, and the account. */
  reference: string;
  accountId: string;
  amount: number;
  currency: string;
  /** The text that the payer reads. */
  description: string;
  /** The page for the payer after the payment; `{CHECKOUT_SESSION_ID}` in it becomes the checkout's id. */
  successUrl?: string;
  cancelUrl?: string;
  /** Replaced by the nearest time from 31 minutes to almost 24 hours from now. */
  expiresAt: Date;
  idempotencyKey: string;
};

export type Checkout = { id: string; url: string; expiresAt: Date };

/** `processing`: the payer is done, but the money has not arrived. A payment that is refused later stays `processing`. */
export type CheckoutStatus = "open" | "processing" | "paid" | "expired";

export type CheckoutState = {
  id: string;
  status: CheckoutStatus;
  reference: string;
  accountId: string;
  amount: number;
  currency: string;
  expiresAt: Date;
  /** The payment page, while the checkout is open. */
  url?: string;
};

/**
 * A report of the provider about a checkout. Events may come late, more than once, twice at the same time and in any
 * order; a repeated event has the same `id`. A checkout is paid at most once, whatever the ids of its events.
 */
export type PaymentEvent = {
  id: string;
  type: "paid" | "failed" | "expired";
  checkoutId: string;
  reference: string;
  accountId: string;
  amount: number;
  currency: string;
  at: Date;
};

/** Takes money through a page of the provider. Every promise may reject with 503 `upstream_unavailable`. */
export type Payments = {
  /**
   * Opens a checkout. The same key and input return the same checkout. The same key with another input throws an Error.
   */
  createCheckout: (input: CheckoutInput) => Promise<Checkout>;
  /**
   * Reads the event in the unchanged body of a webhook.
   * - Undefined for a type of event that we do not use, and for a checkout that is not ours.
   * - Throws 400 `malformed_request` for a signature that is not the provider's or more than 5 minutes away from `now`.
   */
  readEvent: (
    body: string,
    headers: Record<string, string | undefined>,
    now: Date,
  ) => Promise<PaymentEvent | undefined>;
  /** Asks the provider for the state of a checkout. Throws 404 `not_found`. */
  getCheckout: (id: string) => Promise<CheckoutState>;
};
