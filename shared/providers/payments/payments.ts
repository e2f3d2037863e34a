/** What is to be paid: `amount` in minor units of `currency` (ISO 4217, upper case). */
export type CheckoutInput = {
  /** Our name for what is paid; every event of the checkout carries it, with the account. 1 to 200 characters. */
  reference: string;
  accountId: string;
  amount: number;
  currency: string;
  /** What the payer reads. */
  description: string;
  /** Where the payer goes afterwards; `{CHECKOUT_SESSION_ID}` in it becomes the checkout's id. */
  successUrl?: string;
  cancelUrl?: string;
  /** Moved to between 31 minutes and 24 hours from now when it is not. */
  expiresAt: Date;
  idempotencyKey: string;
};

export type Checkout = { id: string; url: string; expiresAt: Date };

/** `processing`: the payer is done, the money is not there (yet); a late refusal of it stays so. */
export type CheckoutStatus = "open" | "processing" | "paid" | "expired";

export type CheckoutState = {
  id: string;
  status: CheckoutStatus;
  reference: string;
  accountId: string;
  amount: number;
  currency: string;
  expiresAt: Date;
  /** Where to pay, while it is open. */
  url?: string;
};

/**
 * What the provider says of a checkout. It may come late, more than once, twice at the same time and in any order:
 * `id` is the event's, equal when it comes again. One checkout is paid at most once, whatever the events' ids are.
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

/** Takes money through a page of the provider's. Every promise may reject with 503 `upstream_unavailable`. */
export type Payments = {
  /** Opens a checkout. The same key and input answer the same checkout; the same key and another input, an Error. */
  createCheckout: (input: CheckoutInput) => Promise<Checkout>;
  /**
   * The event in a webhook's body, given as it came; undefined for a kind we do not care for, and for what is paid to
   * somebody else's checkout. Throws 400 `malformed_request` for a signature that is not the provider's or more than
   * 5 minutes away from `now`.
   */
  readEvent: (
    body: string,
    headers: Record<string, string | undefined>,
    now: Date,
  ) => Promise<PaymentEvent | undefined>;
  /** How a checkout stands, asked of the provider. Throws 404 `not_found`. */
  getCheckout: (id: string) => Promise<CheckoutState>;
};
