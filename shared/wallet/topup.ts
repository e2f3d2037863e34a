import { hash, timingSafeEqual } from "node:crypto";

import * as z from "zod";

import { getAccount } from "../accounts/visible.ts";
import { change, defineKind } from "../changes/kind.ts";
import type { Planned } from "../changes/recorder.ts";
import { invalidAt, notFound } from "../core/errors.ts";
import { Id, newToken, timeOrderedId } from "../core/ids.ts";
import { Currency, money, MoneyText, moneyUpTo } from "../core/money.ts";
import { later, Timestamp } from "../core/time.ts";
import type { Context } from "../http/route.ts";
import { AmountRefused, type Payments } from "../providers/payments/payments.ts";
import { dueWrite, type Queue } from "../table/due.ts";
import type { Reader } from "../table/table.ts";
import type { Key } from "../table/writes.ts";
import { checkoutHours, leastPayment, topupLimit } from "./catalogue.ts";
import { ReturnUrl } from "./return-url.ts";
import { planCurrencyKept } from "./wallet.ts";

/*
 * Access patterns
 *   a top-up by its reference   ACCOUNT#<id> / TOPUP#<reference>
 *
 * The reference is the id of the top-up. The checkout and the token of the result page contain the reference.
 */
/** The key of a top-up. */
export const topupKey = (accountId: string, reference: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `TOPUP#${reference}`,
});

/**
 * The queue of tasks that ask the provider about the checkouts of top-ups. The account and the reference identify a
 * task.
 */
export const checkoutQueue: Queue = { name: "CHECKOUT_DUE", shards: 4 };

/**
 * The wait before the provider is first asked about a new checkout, in milliseconds. A webhook usually comes within
 * seconds.
 */
const firstAskMs = 120_000;

export const TopupStatus = z.enum(["pending", "paid", "failed", "expired"]);

const Topup = z.object({
  id: Id.meta({ description: "The top-up's id." }),
  amount: MoneyText.meta({ description: "The amount of the top-up." }),
  currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
  status: TopupStatus.meta({ description: "The status of the top-up." }),
  created_at: Timestamp.meta({ description: "When the top-up was started." }),
});

export const StoredTopup = Topup.extend({
  checkout_id: z.string(),
  /** SHA-256 of the secret in the result page's token. */
  token_hash: z.string(),
  /** The batch of purchases that continues when the top-up is paid. */
  purchase_batch_id: z.string().optional(),
  /** The automatic recharge that the payer confirms by paying. */
  recharge_id: Id.optional(),
  /** The page of the customer to which the result page leads the payer. */
  return_url: z.string().optional(),
  /** When the provider was last asked about the top-up for its result page. */
  asked_at: Timestamp.optional(),
  /**
   * Whether the top-up was put into `checkoutQueue`. `queueOldTopups` does this later for top-ups of the first version.
   */
  is_queued: z.boolean().default(false),
  version: z.int(),
});
export type StoredTopup = z.output<typeof StoredTopup>;

export const topupKind = defineKind({
  name: "billing.topup",
  verbs: ["created", "paid", "failed", "expired"],
  view: Topup,
  seenWith: "billing.view",
});

const TopupAmount = moneyUpTo(topupLimit).meta({
  description: `The amount to top up, at most ${money(topupLimit)}, as a decimal string or a number. The payment provider refuses small amounts (422): send ${money(leastPayment)} at least.`,
  examples: ["50.00"],
});

export const NewTopup = z
  .strictObject({ amount: TopupAmount, return_url: ReturnUrl.nullish() })
  .meta({ id: "TopupSessionCreate", description: "How much to top up." });

/** A page of the payment provider, as an answer shows it. */
export const hostedPage = (description: string) =>
  z
    .object({
      id: z.string().meta({ description: "The provider's id of the page." }),
      url: z.string().meta({ description: "The address of the page." }),
      expires_at: Timestamp.meta({ description: "When the page expires." }),
    })
    .meta({ description });

export const TopupSession = z
  .object({
    amount: MoneyText.meta({ description: "The amount that the wallet gets after the payment." }),
    checkout_token: z.string().meta({
      description:
        "The token for `billing.checkout_result.get`. The token gives access to the result of this checkout only.",
    }),
    hosted_page: hostedPage("The page of the payment provider on which the payer pays."),
  })
  .meta({ id: "TopupSession", description: "A payment page to top up the wallet." });

const hashOf = (secret: string): Buffer => hash("sha256", secret, "buffer");

/**
 * Generates a new reference, and the token of its result page. The token contains a secret. `token_hash` is the hash of
 * this secret, and is stored instead of the secret.
 */
export function newCheckoutToken(at: Date): { reference: string; token: string; token_hash: string } {
  const reference = timeOrderedId(at);
  const secret = newToken();
  return { reference, token: `${reference}.${secret}`, token_hash: hashOf(secret).toString("hex") };
}

/**
 * The row of a result page's token. `read` finds the row by the reference in the token. Undefined if the row does not
 * exist, or if the secret in the token is not the secret of the row.
 */
export async function rowOfToken<T extends { token_hash: string }>(
  token: string,
  read: (reference: string) => Promise<T | undefined>,
): Promise<T | undefined> {
  const [, reference = "", secret = ""] = /^([0-9a-f-]{36})\.([\w-]{22})$/.exec(token) ?? [];
  const row = reference === "" ? undefined : await read(reference);
  return row && timingSafeEqual(hashOf(secret), Buffer.from(row.token_hash, "hex")) ? row : undefined;
}

/**
 * The address of the result page of a checkout, to which the payer returns. The page is infra/docs/checkout.html.
 * `isCancelled` is for a payer who left the payment page.
 */
export function resultPage(publicUrl: string, accountId: string, checkoutToken: string, isCancelled = false): string {
  const hint = isCancelled ? "&status_hint=cancelled" : "";
  return `${publicUrl}/checkout?account_id=${accountId}&checkout_token=${checkoutToken}${hint}`;
}

/** The services with which a process opens checkouts. `publicUrl` is the address of the API. */
export type Checkouts = { payments: Payments; publicUrl: string };

type TopupPurpose = {
  /** A batch of purchases that waits for the money. */
  batchId?: string;
  /** The automatic recharge that the payer confirms. */
  rechargeId?: string;
  description?: string;
  returnUrl?: string | undefined;
};

type OpenedTopup = {
  session: z.output<typeof TopupSession>;
  /** Plans to store the top-up. Throws 503 `busy` if the account's currency has changed since the checkout was opened. */
  plan: () => Promise<Planned>;
};

/**
 * Opens a checkout for a top-up of `amount` minor units of the account's currency. The caller stores the top-up with
 * `plan`.
 * - The provider's webhook names the account and the reference. So a paid checkout is credited even if the process dies
 *   before it has stored the top-up.
 * - The provider is asked about stored top-ups, in case the webhook does not come.
 */
export async function openTopup(
  accountId: string,
  amount: number,
  { table, now, requestId }: Pick<Context, "table" | "now" | "requestId">,
  { payments, publicUrl }: Checkouts,
  { batchId, rechargeId, description = "Wallet top-up", returnUrl }: TopupPurpose = {},
): Promise<OpenedTopup> {
  const { currency } = await getAccount(table, accountId);
  const at = now();
  const { reference, token, token_hash } = newCheckoutToken(at);
  const checkout = await payments.createCheckout({
    reference,
    accountId,
    amount,
    currency,
    description,
    successUrl: resultPage(publicUrl, accountId, token),
    cancelUrl: resultPage(publicUrl, accountId, token, true),
    expiresAt: new Date(at.getTime() + checkoutHours * 3_600_000),
    idempotencyKey: `${requestId}/${reference}`.slice(-200),
  });
  const topup: StoredTopup = {
    id: reference,
    amount: money(amount),
    currency,
    status: "pending",
    created_at: at.toISOString(),
    checkout_id: checkout.id,
    token_hash,
    ...(batchId === undefined ? {} : { purchase_batch_id: batchId }),
    ...(rechargeId === undefined ? {} : { recharge_id: rechargeId }),
    ...(returnUrl === undefined ? {} : { return_url: returnUrl }),
    is_queued: true,
    version: 1,
  };
  return {
    session: {
      amount: topup.amount,
      checkout_token: token,
      hosted_page: { id: checkout.id, url: checkout.url, expires_at: checkout.expiresAt.toISOString() },
    },
    plan: () => planTopup(table, accountId, topup),
  };
}

/** Plans to store a new top-up. Throws 503 `busy` if the account has another currency than the top-up. */
async function planTopup(table: Reader, accountId: string, topup: StoredTopup): Promise<Planned> {
  const { id, currency, created_at } = topup;
  return {
    writes: [
      { put: { ...topupKey(accountId, id), ...topup }, if: "absent" },
      dueWrite(checkoutQueue, [accountId, id], later(new Date(created_at), firstAskMs)),
      ...(await planCurrencyKept(table, accountId, currency)),
    ],
    changes: [change(topupKind, "created", id, { after: topup })],
  };
}

/**
 * Opens a checkout for a top-up of `amount` minor units, and stores the top-up. Throws 422 if the payment provider
 * refuses the amount, and 503 if the account's currency changes meanwhile.
 */
export async function createTopup(
  accountId: string,
  amount: number,
  context: Context,
  checkouts: Checkouts,
  returnUrl?: string,
): Promise<z.output<typeof TopupSession>> {
  const opening = openTopup(accountId, amount, context, checkouts, { returnUrl });
  const { session, plan } = await opening.catch((error: unknown) => {
    if (!(error instanceof AmountRefused)) throw error;
    const type = error.isTooSmall ? "too_small" : "too_big";
    throw invalidAt(["body", "amount"], error.message, type);
  });
  return context.commit(async () => ({ value: session, ...(await plan()) }));
}

/** The top-up of a result page's token. Throws 404 for a token that is not of this account. */
export async function topupOfToken(table: Reader, accountId: string, checkoutToken: string): Promise<StoredTopup> {
  const topup = await rowOfToken(checkoutToken, (reference) => table.get(topupKey(accountId, reference), StoredTopup));
  if (!topup) throw notFound();
  return topup;
}
