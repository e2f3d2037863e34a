import * as z from "zod";

import { getAccount } from "../../accounts/visible.ts";
import { change, defineKind } from "../../changes/kind.ts";
import type { ChangePlan } from "../../changes/recorder.ts";
import { Id } from "../../core/ids.ts";
import { hourMs, later, minuteMs, Timestamp } from "../../core/time.ts";
import type { Context } from "../../http/route.ts";
import type { CardSetupState, Payments, SavedCard } from "../../providers/payments/payments.ts";
import { dueWrite, moveDue, type Queue } from "../../table/due.ts";
import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import { checkoutHours } from "../../wallet/catalogue.ts";
import { ReturnUrl } from "../../wallet/return-url.ts";
import { hostedPage, newCheckoutToken, resultPage, rowOfToken, type Checkouts } from "../../wallet/topup.ts";

/*
 * The card that an account's automatic recharges are charged to. The payment provider keeps the card.
 *
 * Access patterns
 *   the saved card of an account    ACCOUNT#<id> / PAYMENT_METHOD
 *   a page for saving a card        ACCOUNT#<id> / CARD_SETUP#<reference>
 */
const methodKey = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "PAYMENT_METHOD" });
const setupKey = (accountId: string, reference: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `CARD_SETUP#${reference}`,
});

/**
 * The queue of tasks about saved cards. The account and one of these names identify a task:
 * - `setup/<reference>`: ask about a page for saving a card;
 * - `recharge/<id>`: charge the card, or ask about the charge;
 * - `retry/<id>`: check the wallet again, some time after the recharge `<id>`.
 */
export const rechargeQueue: Queue = { name: "RECHARGE_DUE", shards: 4 };

const PaymentMethod = z.object({
  brand: z.string().meta({ description: "The card's brand, such as `visa`." }),
  last4: z.string().meta({ description: "The last four digits of the card's number." }),
  exp_month: z.int().meta({ description: "The last month in which the card is valid, from 1 to 12." }),
  exp_year: z.int().meta({ description: "The year of `exp_month`." }),
  saved_at: Timestamp.meta({ description: "When the card was saved." }),
});

export const PaymentMethodAnswer = z
  .object({
    payment_method: PaymentMethod.nullable().meta({ description: "The saved card. Null if there is none." }),
  })
  .meta({ id: "PaymentMethod", description: "The card that automatic recharges are charged to." });

const StoredMethod = z.object({
  customer_id: z.string(),
  card: PaymentMethod.extend({
    id: z.string(),
    /** The page on which the card was saved. A card from a page that was opened earlier does not replace this card. */
    reference: z.string(),
  }).nullable(),
  version: z.int(),
});
export type StoredMethod = z.output<typeof StoredMethod>;

const StoredSetup = z.object({
  id: Id,
  session_id: z.string(),
  customer_id: z.string(),
  /** SHA-256 of the secret in the result page's token. */
  token_hash: z.string(),
  status: z.enum(["pending", "saved", "expired"]),
  created_at: Timestamp,
  /** When the task in `rechargeQueue` is due. */
  due_at: Timestamp.nullable(),
  /** The page of the customer to which the result page leads the payer. */
  return_url: z.string().optional(),
  /** When the provider was last asked about the card because somebody opened the result page. */
  asked_at: Timestamp.optional(),
  version: z.int(),
});
export type StoredSetup = z.output<typeof StoredSetup>;

export const paymentMethodKind = defineKind({
  name: "billing.payment_method",
  verbs: ["requested", "saved", "deleted"],
  view: PaymentMethod.partial(),
  seenWith: "billing.view",
});

export const NewPaymentMethod = z
  .strictObject({ return_url: ReturnUrl.nullish() })
  .meta({ id: "PaymentMethodSessionCreate", description: "Where the payer goes after the page for saving a card." });

export const PaymentMethodSession = z
  .object({
    checkout_token: z
      .string()
      .meta({ description: "The token with which `billing.checkout_result.get` tells the result." }),
    hosted_page: hostedPage("The page of the payment provider on which the payer saves a card."),
  })
  .meta({ id: "PaymentMethodSession", description: "A page for saving a card." });

export const readMethod = (table: Reader, accountId: string): Promise<StoredMethod | undefined> =>
  table.get(methodKey(accountId), StoredMethod);

export const aheadOfMethod = (accountId: string): { keys: Key[] } => ({ keys: [methodKey(accountId)] });

export async function getPaymentMethod(
  accountId: string,
  { table }: Pick<Context, "table">,
): Promise<z.input<typeof PaymentMethodAnswer>> {
  return { payment_method: (await readMethod(table, accountId))?.card ?? null };
}

/**
 * The wait before the provider is first asked about a new page, in milliseconds. A webhook usually comes within
 * seconds.
 */
const firstAskMs = 2 * minuteMs;

/**
 * The id of an account's customer at the provider. If a process dies before it stores the id, another call on the same
 * day gets the same id.
 */
async function customerOf(accountId: string, table: Reader, payments: Payments): Promise<string> {
  const known = await readMethod(table, accountId);
  if (known) return known.customer_id;
  const { name } = await getAccount(table, accountId);
  return payments.createCustomer({ accountId, name, idempotencyKey: `customer/${accountId}` });
}

/**
 * Opens a page for saving a card, and stores a row about the page. A card that is saved on the page replaces the
 * present card. The result page leads the payer to `returnUrl`.
 */
export async function openCardSetup(
  accountId: string,
  { table, commit, now }: Context,
  { payments, publicUrl }: Checkouts,
  returnUrl?: string,
): Promise<z.output<typeof PaymentMethodSession>> {
  const at = now();
  const customer_id = await customerOf(accountId, table, payments);
  const { reference, token, token_hash } = newCheckoutToken(at);
  const page = await payments.createCardSetup({
    reference,
    accountId,
    customerId: customer_id,
    successUrl: resultPage(publicUrl, accountId, token),
    cancelUrl: resultPage(publicUrl, accountId, token, true),
    expiresAt: new Date(at.getTime() + checkoutHours * hourMs),
    idempotencyKey: `setup/${reference}`,
  });
  const due_at = later(at, firstAskMs);
  const setup: StoredSetup = {
    id: reference,
    session_id: page.id,
    customer_id,
    token_hash,
    status: "pending",
    ...(returnUrl === undefined ? {} : { return_url: returnUrl }),
    created_at: at.toISOString(),
    due_at,
    version: 1,
  };
  const hosted_page = { id: page.id, url: page.url, expires_at: page.expiresAt.toISOString() };
  return commit(async () => ({
    value: { checkout_token: token, hosted_page },
    writes: await setupWrites(table, accountId, setup, due_at),
    changes: [change(paymentMethodKind, "requested", accountId, { after: {} })],
  }));
}

async function setupWrites(table: Reader, accountId: string, setup: StoredSetup, dueAt: string): Promise<Write[]> {
  const method = await readMethod(table, accountId);
  const first = { ...methodKey(accountId), customer_id: setup.customer_id, card: null, version: 1 };
  return [
    ...(method ? [] : [{ put: first, if: "absent" as const }]),
    { put: { ...setupKey(accountId, setup.id), ...setup }, if: "absent" },
    dueWrite(rechargeQueue, [accountId, `setup/${setup.id}`], dueAt),
  ];
}

export const readSetup = (table: Reader, accountId: string, reference: string): Promise<StoredSetup | undefined> =>
  table.get(setupKey(accountId, reference), StoredSetup);

/**
 * Finds a stored page for saving a card, by the token of its result page. Undefined if the account has no page with
 * this token.
 */
export const setupOfToken = (table: Reader, accountId: string, token: string): Promise<StoredSetup | undefined> =>
  rowOfToken(token, (reference) => readSetup(table, accountId, reference));

/**
 * The write that stores when the provider is asked about the card because somebody opened the result page. The write
 * fails if another process has changed the row since it was read.
 */
export const askedWrite = (accountId: string, { id, version }: StoredSetup, at: Date): Write => ({
  update: setupKey(accountId, id),
  set: { asked_at: at.toISOString(), version: version + 1 },
  if: { version },
});

/**
 * The writes that move the task of a page for saving a card to another due time. If `due_at` is null, the writes remove
 * the task.
 */
export const postponeSetup = (accountId: string, setup: StoredSetup, due_at: string | null): Write[] => [
  {
    update: setupKey(accountId, setup.id),
    set: { due_at, version: setup.version + 1 },
    if: { version: setup.version },
  },
  ...moveDue(rechargeQueue, [accountId, `setup/${setup.id}`], setup.due_at, due_at),
];

/**
 * Plans the result of a page for saving a card, as the provider reports it. A page is settled once. A card from a page
 * that was opened before the page of the stored card is not stored. Returns the id of the card that the provider no
 * longer needs to keep: the replaced card, or the card that is not stored.
 */
export async function planSetup(
  table: Reader,
  { accountId, reference, status, card, id }: CardSetupState,
  now: Date,
): Promise<ChangePlan<string | undefined>> {
  const setup = await readSetup(table, accountId, reference);
  if (!setup || setup.session_id !== id || setup.status !== "pending" || status === "open")
    return { value: undefined, writes: [], changes: [] };
  const method = await readMethod(table, accountId);
  const isNewest = (method?.card?.reference ?? "") < reference;
  const after: StoredSetup = {
    ...setup,
    status: card && isNewest ? "saved" : "expired",
    due_at: null,
    version: setup.version + 1,
  };
  const writes: Write[] = [
    { put: { ...setupKey(accountId, reference), ...after }, if: { version: setup.version } },
    ...moveDue(rechargeQueue, [accountId, `setup/${reference}`], setup.due_at, null),
  ];
  if (!card || !isNewest) {
    const unused = card && card.id !== method?.card?.id ? card.id : undefined;
    return { value: unused, writes, changes: [], housekeeping: true };
  }
  const saved = { ...methodOf(card, reference, now), version: (method?.version ?? 0) + 1 };
  const replaced = method?.card?.id === card.id ? undefined : method?.card?.id;
  return {
    value: replaced,
    writes: [
      ...writes,
      {
        put: { ...methodKey(accountId), customer_id: setup.customer_id, ...saved },
        if: method ? { version: method.version } : "absent",
      },
    ],
    changes: [
      change(paymentMethodKind, "saved", accountId, {
        ...(method?.card ? { before: method.card } : {}),
        after: saved.card,
      }),
    ],
  };
}

const methodOf = (
  { id, brand, last4, expMonth, expYear }: SavedCard,
  reference: string,
  now: Date,
): { card: NonNullable<StoredMethod["card"]> } => ({
  card: { id, brand, last4, exp_month: expMonth, exp_year: expYear, saved_at: now.toISOString(), reference },
});

/** Plans the removal of a card from an account. Plans nothing if the account does not have this card. */
export async function planRemoval(
  table: Reader,
  accountId: string,
  cardId: string,
): Promise<Pick<ChangePlan<void>, "writes" | "changes">> {
  const method = await readMethod(table, accountId);
  if (!method?.card || method.card.id !== cardId) return { writes: [], changes: [] };
  const { version, customer_id } = method;
  return {
    writes: [{ put: { ...methodKey(accountId), customer_id, card: null, version: version + 1 }, if: { version } }],
    changes: [change(paymentMethodKind, "deleted", accountId, { before: method.card })],
  };
}

/** The write that makes a transaction fail if the card changes meanwhile. */
export const unchangedMethod = (accountId: string, { version }: StoredMethod): Write => ({
  check: methodKey(accountId),
  if: { version },
});

export type CardServices = Pick<Payments, "getCardSetup" | "removeCard">;
