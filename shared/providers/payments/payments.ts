/** The payment that a checkout asks for: `amount` in minor units of `currency` (ISO 4217, upper case). */
export type CheckoutInput = {
  /** Our id for the payment, 1 to 200 characters. Every event of the checkout has this id and the account. */
  reference: string;
  accountId: string;
  amount: number;
  currency: string;
  /** The text that the payer reads. */
  description: string;
  /** The page for the payer after the payment; `{CHECKOUT_SESSION_ID}` in it becomes the checkout's id. */
  successUrl?: string;
  cancelUrl?: string;
  /**
   * The wanted end of the checkout. The checkout gets the nearest allowed time: from 31 minutes to almost 24 hours from
   * now.
   */
  expiresAt: Date;
  idempotencyKey: string;
};

export type Checkout = { id: string; url: string; expiresAt: Date };

/** Thrown when the provider takes no payment of an amount. The provider's limits depend on the currency. */
export class AmountRefused extends Error {
  readonly isTooSmall: boolean;

  constructor(isTooSmall: boolean) {
    const [size, accepted] = isTooSmall ? ["small", "larger"] : ["large", "smaller"];
    super(`The payment provider does not take an amount this ${size}. Choose a ${accepted} amount.`);
    this.isTooSmall = isTooSmall;
  }
}

/**
 * `processing`: the payer is done, but the money has not arrived. A checkout whose payment is refused later stays
 * `processing`.
 */
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
 * order; a repeated event has the same `id`. A checkout is paid at most once, even if its events have different ids.
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

/** A card that the provider keeps for us. We never see its number. */
export type SavedCard = { id: string; brand: string; last4: string; expMonth: number; expYear: number };

/** The page on which a payer saves a card for later charges. `expiresAt` has the same limits as at a checkout. */
export type CardSetupInput = Omit<CheckoutInput, "amount" | "currency" | "description"> & { customerId: string };

export type CardSetupState = {
  id: string;
  status: "open" | "saved" | "expired";
  reference: string;
  accountId: string;
  /** The card, if it is saved. */
  card?: SavedCard;
};

/** A payment without the payer: `amount` in minor units of `currency`. */
export type ChargeInput = {
  /** Our id for the charge, 1 to 200 characters. This id is the idempotency key too. */
  reference: string;
  accountId: string;
  customerId: string;
  cardId: string;
  amount: number;
  currency: string;
  /** The text on the payer's receipt. */
  description: string;
  /**
   * When the first attempt was made. The provider forgets idempotency keys after a day. So if the first attempt is
   * almost a day old, the charge is searched for at the provider.
   */
  startedAt: Date;
};

/**
 * The state of a charge. `failed` and `action_required` are final: the charge takes no money any more. With
 * `action_required` the payer's bank wants the payer to confirm a payment of this amount.
 */
export type ChargeState = {
  /** The provider's id. Undefined if the provider refused to begin the charge. */
  id?: string;
  status: "processing" | "succeeded" | "action_required" | "failed";
  reference: string;
  accountId: string;
  amount: number;
  currency: string;
  /** For people: why the charge did not succeed. */
  reason?: string;
  /**
   * For the operator: the provider's error, if the provider refused the charge for a reason that the customer cannot
   * remove.
   */
  refusal?: string;
};

/** A report about a page for saving a card. `id` is the id of the report, and `setupId` the id of the page. */
type CardSetupEvent = CardSetupState & { id: string; type: "card_setup"; setupId: string };

/** A report that a card was removed at the provider. */
export type CardRemovedEvent = { id: string; type: "card_removed"; accountId: string; cardId: string };

/**
 * A report about a charge. Only the report of a success is final. After any other report, ask the provider for the
 * charge's state.
 */
export type ChargeEvent = {
  id: string;
  type: "charge";
  chargeId: string;
  reference: string;
  accountId: string;
  amount: number;
  currency: string;
  isSucceeded: boolean;
};

/** A refund of a payment. A refund that failed stays failed: the payer did not get the money. */
export type Refund = { id: string; amount: number; isFailed: boolean };

/** A report of a refund: all refunds of the payment so far, oldest first. */
export type RefundEvent = {
  id: string;
  type: "refund";
  paymentId: string;
  accountId: string;
  refunds: readonly Refund[];
  currency: string;
};

/** A report about a payment that the payer disputes at the bank. The provider takes the money when a dispute opens. */
export type DisputeEvent = {
  id: string;
  type: "dispute";
  disputeId: string;
  paymentId: string;
  accountId: string;
  amount: number;
  currency: string;
  status: "open" | "won" | "lost";
  reason: string;
};

/** Everything that the provider reports. Events of every type may come late, more than once and in any order. */
export type ProviderEvent = PaymentEvent | CardSetupEvent | CardRemovedEvent | ChargeEvent | RefundEvent | DisputeEvent;

/**
 * Takes money through a page of the provider, or from a saved card. Every promise may reject with 503
 * `upstream_unavailable`.
 */
export type Payments = {
  /**
   * Opens a checkout. The same key and input return the same checkout. The same key with another reference, account,
   * amount or currency throws an Error. Throws `AmountRefused` if the provider does not take the amount.
   */
  createCheckout: (input: CheckoutInput) => Promise<Checkout>;
  /**
   * Reads the event in the unchanged body of a webhook.
   * - Undefined for an event that we do not use, such as an event about a payment that is not ours.
   * - Throws 400 `malformed_request` if the signature is not from the provider, or if its time is more than 5 minutes
   *   away from `now`.
   */
  readEvent: (
    body: string,
    headers: Record<string, string | undefined>,
    now: Date,
  ) => Promise<ProviderEvent | undefined>;
  /** Asks the provider for the state of a checkout. Throws 404 `not_found`. */
  getCheckout: (id: string) => Promise<CheckoutState>;
  /**
   * Ends a checkout that is open, so that it cannot be paid any more. Does nothing to other checkouts. Throws 404
   * `not_found`.
   */
  expireCheckout: (id: string) => Promise<void>;
  /**
   * Creates the provider's customer of an account, and returns the customer's id. The same key returns the same
   * customer.
   */
  createCustomer: (input: { accountId: string; name: string; idempotencyKey: string }) => Promise<string>;
  /** Opens a page on which a payer saves a card. */
  createCardSetup: (input: CardSetupInput) => Promise<Checkout>;
  /** Asks the provider for the state of a page for saving a card. Throws 404 `not_found`. */
  getCardSetup: (id: string) => Promise<CardSetupState>;
  /** Removes a saved card. Does nothing if the provider does not have the card. */
  removeCard: (id: string) => Promise<void>;
  /**
   * Charges a saved card once for each reference: a repeat returns the state of the first charge. If the charge has not
   * succeeded and is not processing, the charge is cancelled before the promise resolves.
   */
  charge: (input: ChargeInput) => Promise<ChargeState>;
  /** Asks the provider for the state of a charge, and cancels the charge as `charge` does. Throws 404 `not_found`. */
  getCharge: (id: string) => Promise<ChargeState>;
};
