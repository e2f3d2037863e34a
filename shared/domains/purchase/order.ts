import type * as z from "zod";

import { openAccountBilling, totalDue } from "../../billing/book.ts";
import { Problem } from "../../core/errors.ts";
import { idOfWords, timeOrderedId } from "../../core/ids.ts";
import { minorUnits, money } from "../../core/money.ts";
import { removeFailed } from "../../deletion/domain.ts";
import type { Context } from "../../http/route.ts";
import { registrarCurrency } from "../../providers/registrar/registrar.ts";
import type { Write } from "../../table/writes.ts";
import { leastPayment } from "../../wallet/catalogue.ts";
import { type Checkouts, openTopup } from "../../wallet/topup.ts";
import { readVatRule, withVat, type VatRule } from "../../wallet/vat.ts";
import { readWallet, requireCurrency } from "../../wallet/wallet.ts";
import type { DnsMode, StoredDomain } from "../domain.ts";
import { domainByName } from "../find.ts";
import { takenNames } from "../holder.ts";
import { batchItem, boughtIn, getBatch, type StoredBatch } from "./batch.ts";
import { buyNames, pricesPaid, type OrderKind, type Wanted } from "./buy.ts";
import type { ContactInfo } from "./contact.ts";
import {
  boughtAs,
  orderAnswer,
  result,
  resultOfEarlier,
  resultOfOwn,
  resultOfQuote,
  type NameResult,
  type OrderAnswer,
} from "./results.ts";

/** How long an order waits for the prices of its names, in milliseconds. */
const budgetMs = 5_000;

/** An order to register names, or to transfer them to us. */
export type Order = {
  kind: OrderKind;
  accountId: string;
  batchId: string;
  /** The requested names. A name can be there twice. */
  names: readonly string[];
  request: {
    workspace_id: string;
    contact_info: z.output<typeof ContactInfo>;
    dns_mode?: DnsMode;
    max_total?: string | number | undefined;
    return_url?: string | null | undefined;
  };
};

/** The results of the names so far. */
type Results = Map<string, NameResult>;

/**
 * The id of the batch of an order. A repeat of the order with the same idempotency key has the same id. `kind` names
 * the kind of order in the id, so that a purchase and a transfer never have the same id.
 */
export const orderIdOf = (accountId: string, kind: string, { keyId, now }: Pick<Context, "keyId" | "now">): string =>
  keyId === undefined ? timeOrderedId(now()) : idOfWords(kind, accountId, keyId);

/**
 * Places an order of names: holds their prices and starts their registrations or transfers. `read` makes the answer of
 * the route from the results.
 * - If the wallet does not cover all names, this buys none of them and opens a checkout. The order continues once the
 *   checkout is paid. If the balance falls while names are being bought, the checkout is only for the names that the
 *   wallet does not cover any more.
 * - A repeat with the same idempotency key finds the names that were bought, even if their domains were deleted since.
 *
 * Throws:
 * - 409 `quote_changed` if the names cost more than `max_total`, and no earlier attempt bought a name;
 * - 409 `other_currency` if the account does not pay in the registrar's currency;
 * - 409 `payments_unavailable` if a checkout is needed, and the deployment takes no payments;
 * - 503 if all names that are priced are `unchecked`, with the exceptions that `priceOrder` describes;
 * - 503 if the key service does not answer (`OrderKind.prepare`);
 * - 503 if the payment provider does not answer, and no name was bought;
 * - 503 if a checkout is opened, and the account's currency changes meanwhile.
 */
export async function placeOrder<Answer>(
  order: Order,
  read: (answer: OrderAnswer) => Answer,
  context: Context,
  checkouts: () => Checkouts,
): Promise<Answer> {
  const { kind, accountId, batchId, names } = order;
  const { own, earlier, results, wanted, agreed: unprepared } = await priceOrder(order, context);
  const agreed = await kind.prepare(unprepared);
  const [{ available }, rule] = await Promise.all([
    readWallet(context.table, accountId),
    readVatRule(context.table, accountId, context.now()),
  ]);
  // If the wallet does not cover all names, none is bought before the payment.
  const isCovered = totalCharge(agreed, rule) <= available;
  const unpaid = isCovered ? await buy(order, agreed, own, results, context) : agreed;
  const checkout = await checkoutFor(order, unpaid, rule, results, context, checkouts);
  const all = [...earlier, ...wanted];
  const paymentUrl = checkout?.session.hosted_page.url ?? null;
  const about = {
    bought: boughtAs[kind.type],
    wanted: all,
    batchId: all.length === 0 ? null : batchId,
    paymentUrl,
    rule,
  };
  const value = read(orderAnswer(names, results, about));
  return context.commit(async () => {
    if (!checkout) return { value, writes: [], changes: [] };
    const { writes, changes } = await checkout.plan();
    return { value, writes: [...writes, await waitingWrite(order, unpaid, own, context)], changes };
  });
}

/** An order after its names were priced: its names with their prices, and the results so far. */
type PricedOrder = {
  own: NameStates["own"];
  earlier: readonly Earlier[];
  results: Results;
  /** The names that the registrar offers. */
  wanted: readonly Wanted[];
  /** The names to buy: all of `wanted`, or none if they cost more than agreed. */
  agreed: readonly Wanted[];
};

/**
 * Asks for the prices of an order's names. Throws:
 * - 409 `quote_changed` if the names cost more than `max_total`, and no earlier attempt bought a name;
 * - 409 `other_currency` if the account does not pay in the registrar's currency;
 * - 503 if names are priced, and all of them are `unchecked`. But if another account has one of the order's names, or
 *   an earlier attempt bought a name, the names fail as `unchecked` instead.
 */
export async function priceOrder(order: Order, context: Context): Promise<PricedOrder> {
  const { kind, accountId, batchId, names } = order;
  const { permissions } = context;
  await requireCurrency(context.table, accountId, registrarCurrency);
  const states = await readNames(accountId, batchId, [...new Set(names)], context);
  const { own } = states;
  const earlier = [...states.earlier.values()];
  const results: Results = new Map([
    ...[...own.values()].map((domain) => [domain.name, resultOfOwn(domain, permissions)] as const),
    ...earlier.map(({ name, domain }) => [name, resultOfEarlier(kind.type, domain, permissions)] as const),
  ]);
  const wanted = await pricedNames(order, states, results, context);
  return { own, earlier, results, wanted, agreed: withinAgreed(order, earlier, wanted, results) };
}

/** The state of an order's names in the account, before the order continues. */
type NameStates = {
  /**
   * The names that an earlier, interrupted attempt of this order bought, with their prices. The domain is undefined if
   * it was deleted since.
   */
  earlier: ReadonlyMap<string, Earlier>;
  /** The domains of the other names, if the account has them. */
  own: ReadonlyMap<string, StoredDomain>;
};
type Earlier = Wanted & { domain: StoredDomain | undefined };

/** Reads the state of the names of an order. An order without an idempotency key has no earlier attempt. */
async function readNames(
  accountId: string,
  batchId: string,
  names: readonly string[],
  { table, keyId }: Pick<Context, "table" | "keyId">,
): Promise<NameStates> {
  const [domains, prices] = await Promise.all([
    Promise.all(names.map((name) => domainByName(table, accountId, name))),
    keyId === undefined ? [] : pricesPaid(table, { accountId, batchId }, names),
  ]);
  const earlier = new Map<string, Earlier>();
  const own = new Map<string, StoredDomain>();
  for (const [index, name] of names.entries()) {
    const [domain, price] = [domains[index], prices[index]];
    const bought = domain && boughtIn(domain, batchId);
    const paid = bought?.price ?? price;
    if (paid !== undefined) earlier.set(name, { name, price: paid, domain: bought && domain });
    else if (domain) own.set(name, domain);
  }
  return { earlier, own };
}

/** The names that can be bought, with their prices. Puts the results of the other names into `results`. */
async function pricedNames(
  { kind, accountId, names: requested }: Order,
  { earlier, own }: NameStates,
  results: Results,
  { table, log }: Context,
): Promise<Wanted[]> {
  const names = [...new Set(requested)].filter((name) => !earlier.has(name));
  const orderable = names.filter((name) => {
    const domain = own.get(name);
    return domain === undefined || kind.takesOwn(domain);
  });
  const held = await takenNames(table, orderable, accountId);
  const free = orderable.filter((name) => !held.has(name));
  const quotes = await kind.quotes(free, { budgetMs, log });
  const isAllNew = held.size === 0 && earlier.size === 0;
  if (free.length > 0 && isAllNew && quotes.every(({ reason }) => reason === "unchecked")) throw noPrice();
  for (const name of held) results.set(name, result("failed", null, "domain_taken"));
  // A name with a price is `unchecked` until a later result replaces this one.
  for (const quote of quotes) results.set(quote.name, resultOfQuote(quote));
  return quotes.flatMap(({ name, price, reason }) =>
    reason === undefined && price !== undefined ? [{ name, price }] : [],
  );
}

/**
 * The names to buy: all, or none if the total is above `max_total`. Names that an earlier attempt bought stay bought.
 * Throws 409 `quote_changed` if the total is above `max_total` and no earlier attempt bought a name.
 */
function withinAgreed(
  { request: { max_total } }: Order,
  earlier: readonly Earlier[],
  wanted: readonly Wanted[],
  results: Results,
): readonly Wanted[] {
  const total = totalPrice([...earlier, ...wanted]);
  const agreed = max_total === undefined ? undefined : minorUnits(max_total);
  if (agreed === undefined || total <= agreed) return wanted;
  if (earlier.length === 0) throw tooMuch(total);
  for (const { name } of wanted) results.set(name, result("failed", null, "quote_changed"));
  return [];
}

const totalPrice = (names: readonly Wanted[]): number => names.reduce((sum, { price }) => sum + price, 0);

/** The amount that the wallet pays for names: each price with its VAT. */
export const totalCharge = (names: readonly Wanted[], rule: VatRule): number =>
  names.reduce((sum, { price }) => sum + withVat(price, rule), 0);

/**
 * Buys names. Returns the names that the wallet does not cover. The transaction of the first names also stores the
 * contact.
 */
async function buy(
  order: Order,
  wanted: readonly Wanted[],
  own: NameStates["own"],
  results: Results,
  context: Context,
): Promise<Wanted[]> {
  const { kind, accountId, batchId, request } = order;
  const { table, permissions } = context;
  for (const { name } of wanted) {
    const failed = own.get(name);
    if (failed?.status === "failed") await removeFailed(accountId, failed, context);
  }
  const batch = newBatch(order, context.now());
  const planMore = async (): Promise<Write[]> =>
    (await getBatch(table, accountId, batchId)) ? [] : [{ put: batchItem(batch), if: "absent" }];
  const place = { kind, accountId, workspaceId: request.workspace_id, batchId, planMore };
  const unpaid = new Set<string>();
  for (const outcome of await buyNames(place, wanted, context)) {
    const { name } = outcome;
    const code = "code" in outcome ? outcome.code : undefined;
    if (code === "insufficient_funds") unpaid.add(name);
    const made = "domain" in outcome ? outcome.domain : undefined;
    // Another attempt of this order may have bought the name meanwhile.
    const isInAccount = code === undefined || code === "domain_exists";
    const found = made ?? (isInAccount ? await domainByName(table, accountId, name) : undefined);
    const isOfBatch = found !== undefined && boughtIn(found, batchId) !== undefined;
    if (code === undefined || isOfBatch) {
      results.set(name, resultOfEarlier(kind.type, isOfBatch ? found : undefined, permissions));
    } else results.set(name, found ? resultOfOwn(found, permissions) : result("failed", null, code));
  }
  return wanted.filter(({ name }) => unpaid.has(name));
}

/** A new batch without waiting names. */
const newBatch = (
  { kind, accountId, batchId, request: { workspace_id, contact_info, dns_mode = "hosted" } }: Order,
  now: Date,
): StoredBatch => ({
  id: batchId,
  account_id: accountId,
  type: kind.type,
  dns_mode,
  workspace_id,
  contact: contact_info,
  waiting: [],
  own_ids: [],
  created_at: now.toISOString(),
  version: 1,
});

/**
 * Opens a checkout for the amount that the wallet lacks for the `unpaid` names and for everything that is due, because
 * a payment pays what is due first. The amount is at least `leastPayment`. Undefined if there are no `unpaid` names.
 *
 * The payment provider may be unavailable (503) after other names were bought. Then the `unpaid` names fail, and this
 * returns undefined, so that the caller gets an answer about the other names.
 */
async function checkoutFor(
  { kind, accountId, batchId, request: { return_url } }: Order,
  unpaid: readonly Wanted[],
  rule: VatRule,
  results: Results,
  context: Context,
  checkouts: () => Checkouts,
): Promise<Awaited<ReturnType<typeof openTopup>> | undefined> {
  if (unpaid.length === 0) return undefined;
  const billing = await openAccountBilling(context.table, accountId, context.now());
  const missing = Math.max(totalCharge(unpaid, rule) + totalDue(billing) - billing.available, leastPayment);
  const names = unpaid.length === 1 ? "a domain" : `${unpaid.length} domains`;
  const about = { batchId, description: `Wallet top-up for ${names}`, returnUrl: return_url ?? undefined };
  try {
    const opened = await openTopup(accountId, missing, context, checkouts(), about);
    for (const { name } of unpaid) results.set(name, result("payment_required"));
    return opened;
  } catch (error) {
    const isAnyBought = [...results.values()].some(({ status }) => status === boughtAs[kind.type]);
    if (!isAnyBought || !(error instanceof Problem) || error.status !== 503) throw error;
    for (const { name } of unpaid) results.set(name, result("failed", null, "insufficient_funds"));
    return undefined;
  }
}

/**
 * The write that stores which names of a batch wait for their payment, and which domains of the account have these
 * names.
 */
async function waitingWrite(
  order: Order,
  waiting: readonly Wanted[],
  own: NameStates["own"],
  { table, now }: Context,
): Promise<Write> {
  const batch = await getBatch(table, order.accountId, order.batchId);
  const { version, ...rest } = batch ?? newBatch(order, now());
  const own_ids = waiting.flatMap(({ name }) => own.get(name)?.id ?? []);
  return {
    put: batchItem({ ...rest, waiting: [...waiting], own_ids, version: batch ? version + 1 : version }),
    if: batch ? { version } : "absent",
  };
}

const noPrice = (): Problem =>
  new Problem(
    "upstream_unavailable",
    "The registry answers for none of these names, so nothing was ordered. Try again.",
    {
      retry_after: 5,
    },
  );

const tooMuch = (total: number): Problem =>
  new Problem("quote_changed", `The names cost ${money(total)} ${registrarCurrency}, which is more than agreed.`, {
    estimated_total: money(total),
    currency: registrarCurrency,
  });
