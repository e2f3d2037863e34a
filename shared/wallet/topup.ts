import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

import * as z from "zod";

import { change, defineKind, type Change } from "../changes/kind.ts";
import { notFound } from "../core/errors.ts";
import { Id, timeOrderedId } from "../core/ids.ts";
import { Currency, currency, money, MoneyText, moneyUpTo } from "../core/money.ts";
import { Timestamp } from "../core/time.ts";
import type { Context } from "../http/route.ts";
import type { Payments } from "../providers/payments/payments.ts";
import { dueWrite, type Queue } from "../table/due.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import { checkoutHours, topupLimit } from "./catalogue.ts";

/*
 * Access patterns
 *   a top-up by our reference, which is in its checkout and in the token of its result page
 *                                                   ACCOUNT#<id> / TOPUP#<reference>
 */
export const topupKey = (accountId: string, reference: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `TOPUP#${reference}`,
});

/** The queue of top-ups whose checkout is to be asked about. The account and the reference identify a task. */
export const checkoutQueue: Queue = { name: "CHECKOUT_DUE", shards: 4 };

/** The time before the provider is first asked about a new checkout, because webhooks come within seconds. */
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
  /** The batch of purchases that continues once the top-up is paid. */
  purchase_batch_id: z.string().optional(),
  /** When the provider was last asked about the top-up for its result page. */
  asked_at: Timestamp.optional(),
  /** Whether the top-up is in `checkoutQueue` until it is settled. A top-up of the first version is put there later. */
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

export const TopupAmount = moneyUpTo(topupLimit).meta({
  description: `The amount to top up: above 0 and at most ${money(topupLimit)}, as a decimal string or a number.`,
  examples: ["50.00"],
});

export const TopupSession = z
  .object({
    amount: MoneyText.meta({ description: "The amount that the wallet gets after the payment." }),
    hosted_page: z
      .object({
        id: z.string().meta({ description: "The provider's id of the page." }),
        url: z.string().meta({ description: "The address of the page." }),
        expires_at: Timestamp.meta({ description: "When the page expires." }),
      })
      .meta({ description: "The payment provider's page." }),
  })
  .meta({ id: "TopupSession", description: "A payment page to top up the wallet." });

const hashOf = (secret: string): Buffer => createHash("sha256").update(secret).digest();

const tokenPattern = /^([0-9a-f-]{36})\.([\w-]{22})$/;

/** The URL to which the payer returns: the public result page of the checkout. */
function returnUrl(base: string, accountId: string, checkoutToken: string): string {
  const query = `checkout_token=${checkoutToken}&hosted_page_id={CHECKOUT_SESSION_ID}`;
  return `${base}/v1/public/accounts/${accountId}/billing/checkout/result?${query}`;
}

export type Checkouts = { payments: Payments; publicUrl: string };

type Opened = { session: z.output<typeof TopupSession>; writes: Write[]; changes: Change[] };

/**
 * Opens a checkout for a top-up, and plans the writes that store it, for one transaction.
 * - The provider's webhook names the account and our reference, and credits the money. So a paid checkout is credited
 *   even if the process dies before it has stored the top-up.
 * - The provider is asked about stored top-ups, in case the webhook does not come.
 * - A batch of purchases that waits for the money is stored with the top-up.
 */
export async function openTopup(
  accountId: string,
  amount: number,
  { now, requestId }: Pick<Context, "now" | "requestId">,
  { payments, publicUrl }: Checkouts,
  { batchId, description = "Wallet top-up" }: { batchId?: string; description?: string } = {},
): Promise<Opened> {
  const at = now();
  const reference = timeOrderedId(at);
  const secret = randomBytes(16).toString("base64url");
  const url = returnUrl(publicUrl, accountId, `${reference}.${secret}`);
  const checkout = await payments.createCheckout({
    reference,
    accountId,
    amount,
    currency,
    description,
    successUrl: url,
    cancelUrl: `${url}&status_hint=cancelled`,
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
    token_hash: hashOf(secret).toString("hex"),
    ...(batchId === undefined ? {} : { purchase_batch_id: batchId }),
    is_queued: true,
    version: 1,
  };
  return {
    session: {
      amount: topup.amount,
      hosted_page: { id: checkout.id, url: checkout.url, expires_at: checkout.expiresAt.toISOString() },
    },
    writes: [
      { put: { ...topupKey(accountId, reference), ...topup }, if: "absent" },
      dueWrite(checkoutQueue, [accountId, reference], new Date(at.getTime() + firstAskMs).toISOString()),
    ],
    changes: [change(topupKind, "created", reference, { after: topup })],
  };
}

/** Opens a checkout for a top-up, and stores it. */
export async function createTopup(
  accountId: string,
  amount: number,
  context: Context,
  checkouts: Checkouts,
): Promise<z.output<typeof TopupSession>> {
  const { session, ...planned } = await openTopup(accountId, amount, context, checkouts);
  return context.commit(async () => ({ value: session, ...planned }));
}

/** The top-up of a result page's token. Throws 404 for a token that is not this account's. */
export async function topupOfToken(table: Reader, accountId: string, checkoutToken: string): Promise<StoredTopup> {
  const [, reference = "", secret = ""] = tokenPattern.exec(checkoutToken) ?? [];
  const topup = reference === "" ? undefined : await table.get(topupKey(accountId, reference), StoredTopup);
  if (!topup || !timingSafeEqual(hashOf(secret), Buffer.from(topup.token_hash, "hex"))) throw notFound();
  return topup;
}
