import { Problem } from "../../core/errors.ts";
import { idOfWords, timeOrderedId } from "../../core/ids.ts";
import { currency, minorUnits, money } from "../../core/money.ts";
import { removeFailed } from "../../deletion/domain.ts";
import type { Context } from "../../http/route.ts";
import type { Registrar } from "../../providers/registrar/registrar.ts";
import type { Write } from "../../table/writes.ts";
import type { Checkouts } from "../../wallet/topup.ts";
import { readWallet } from "../../wallet/wallet.ts";
import type { StoredDomain } from "../domain.ts";
import { domainByName } from "../find.ts";
import { takenNames } from "../holder.ts";
import { batchItem, getBatch } from "./batch.ts";
import { buyNames, type Wanted, pricesPaid } from "./buy.ts";
import { checkoutFor, newBatch, totalPrice, waitingWrite, type Order, type Outcomes } from "./checkout.ts";
import { quotesFor } from "./offers.ts";
import {
  purchaseAnswer,
  result,
  resultOfEarlier,
  resultOfOwn,
  resultOfQuote,
  type Purchase,
  type PurchaseAnswer,
} from "./purchase-view.ts";

const budgetMs = 5_000;

type Outside = { registrar: Registrar; checkouts: () => Checkouts };

/**
 * Buys names: holds their prices and starts their registrations. Throws 409 `quote_changed`.
 * - For names that the wallet does not cover, it opens a checkout; the purchase continues once that is paid.
 * - A repeat with the same idempotency key finds the names that were bought, even if their domains have been deleted
 *   since.
 */
export async function purchaseDomains(
  accountId: string,
  purchase: Purchase,
  context: Context,
  { registrar, checkouts }: Outside,
): Promise<PurchaseAnswer> {
  const { table, permissions, keyId } = context;
  const batchId = keyId === undefined ? timeOrderedId(context.now()) : idOfWords("purchase", accountId, keyId);
  const order = { accountId, batchId, purchase };
  const known = await lookUp(accountId, batchId, [...new Set(purchase.domains)], context);
  const { own } = known;
  const earlier = [...known.earlier.values()];
  const outcomes: Outcomes = new Map([
    ...[...own.values()].map((domain) => [domain.name, resultOfOwn(domain, permissions)] as const),
    ...earlier.map(({ name, domain }) => [name, resultOfEarlier(domain, permissions)] as const),
  ]);
  const wanted = await pricedNames(order, known, outcomes, context, registrar);
  const agreed = withinAgreed(order, earlier, wanted, outcomes);
  const { available } = await readWallet(table, accountId);
  const isShort = available < totalPrice(agreed);
  const short = isShort ? agreed : await buy(order, agreed, own, outcomes, context);
  const waiting = await checkoutFor(order, short, outcomes, context, checkouts);
  const all = [...earlier, ...wanted];
  const paymentUrl = waiting?.session.hosted_page.url ?? null;
  const value = purchaseAnswer(purchase.domains, outcomes, {
    wanted: all,
    batchId: all.length === 0 ? null : batchId,
    paymentUrl,
  });
  return context.commit(async () => {
    const noted = waiting ? [...waiting.writes, await waitingWrite(order, short, context)] : [];
    return { value, writes: noted, changes: waiting?.changes ?? [] };
  });
}

/** The names that can be bought, with their prices. The reasons for the other names are stored in `outcomes`. */
async function pricedNames(
  { accountId, purchase }: Order,
  { earlier, own }: Known,
  outcomes: Outcomes,
  { table, log }: Context,
  registrar: Registrar,
): Promise<Wanted[]> {
  const names = [...new Set(purchase.domains)].filter((name) => !earlier.has(name));
  const unknown = names.filter((name) => !own.has(name) || own.get(name)?.status === "failed");
  const held = await takenNames(table, unknown, accountId);
  const free = unknown.filter((name) => !held.has(name));
  const quotes = await quotesFor(registrar, free, { budgetMs, log });
  const isAllNew = held.size === 0 && earlier.size === 0;
  if (free.length > 0 && isAllNew && quotes.every(({ reason }) => reason === "unchecked")) throw silent();
  for (const name of held) outcomes.set(name, result("failed", null, "domain_taken"));
  for (const quote of quotes) outcomes.set(quote.name, resultOfQuote(quote));
  return quotes.flatMap(({ name, price, reason }) =>
    reason === undefined && price !== undefined ? [{ name, price }] : [],
  );
}

/**
 * The names to buy: all, or none if the total is above `max_total`. Names that an earlier attempt bought are kept in
 * either case. Throws 409 `quote_changed` when the total is too high and nothing was bought before.
 */
function withinAgreed(
  { purchase: { max_total } }: Order,
  earlier: readonly Earlier[],
  wanted: readonly Wanted[],
  outcomes: Outcomes,
): readonly Wanted[] {
  const total = totalPrice([...earlier, ...wanted]);
  const agreed = max_total === undefined ? undefined : minorUnits(max_total);
  if (agreed === undefined || total <= agreed) return wanted;
  if (earlier.length === 0) throw tooMuch(total);
  for (const { name } of wanted) outcomes.set(name, result("failed", null, "quote_changed"));
  return [];
}

/**
 * Buys the names that the wallet covers, and returns those that it does not cover. The contact is stored with the first
 * name that is bought.
 */
async function buy(
  { accountId, batchId, purchase }: Order,
  wanted: readonly Wanted[],
  own: Known["own"],
  outcomes: Outcomes,
  context: Context,
): Promise<Wanted[]> {
  const { table, permissions } = context;
  for (const { name } of wanted) {
    const failed = own.get(name);
    if (failed) await removeFailed(accountId, failed, context);
  }
  const batch = newBatch(accountId, batchId, purchase, context.now());
  const planMore = async (): Promise<Write[]> =>
    (await getBatch(table, accountId, batchId)) ? [] : [{ put: batchItem(batch), if: "absent" }];
  const order = { accountId, workspaceId: purchase.workspace_id, batchId, planMore };
  const short = new Set<string>();
  for (const bought of await buyNames(order, wanted, context)) {
    const { name } = bought;
    const code = "code" in bought ? bought.code : undefined;
    if (code === "insufficient_funds") short.add(name);
    const made = "domain" in bought ? bought.domain : undefined;
    // Another attempt of this purchase may have bought the name meanwhile.
    const found =
      made ?? (code === undefined || code === "domain_exists" ? await domainByName(table, accountId, name) : undefined);
    const isIts = found?.purchase?.batch_id === batchId;
    if (code === undefined || isIts) outcomes.set(name, resultOfEarlier(isIts ? found : undefined, permissions));
    else outcomes.set(name, found ? resultOfOwn(found, permissions) : result("failed", null, code));
  }
  return wanted.filter(({ name }) => short.has(name));
}

const silent = (): Problem =>
  new Problem("upstream_unavailable", "The registrar does not answer, so nothing was purchased. Try again.", {
    retry_after: 5,
  });

const tooMuch = (total: number): Problem =>
  new Problem("quote_changed", `The names cost ${money(total)} ${currency}, which is more than agreed.`, {
    estimated_total: money(total),
    currency,
  });

/** The state of a purchase's names in its account, before the purchase continues. */
type Known = {
  /**
   * The names that an earlier, interrupted attempt of this purchase bought, with their prices. The domain is undefined
   * if it has been deleted since.
   */
  earlier: ReadonlyMap<string, Earlier>;
  /** The account's other domains. */
  own: ReadonlyMap<string, StoredDomain>;
};
type Earlier = Wanted & { domain: StoredDomain | undefined };

/** Looks up the names of a purchase in its account. A purchase without an idempotency key has no earlier attempt. */
async function lookUp(
  accountId: string,
  batchId: string,
  names: readonly string[],
  { table, keyId }: Pick<Context, "table" | "keyId">,
): Promise<Known> {
  const [domains, prices] = await Promise.all([
    Promise.all(names.map((name) => domainByName(table, accountId, name))),
    keyId === undefined ? [] : pricesPaid(table, { accountId, batchId }, names),
  ]);
  const earlier = new Map<string, Earlier>();
  const own = new Map<string, StoredDomain>();
  for (const [index, name] of names.entries()) {
    const [domain, price] = [domains[index], prices[index]];
    const bought = domain?.purchase?.batch_id === batchId ? domain.purchase : undefined;
    const paid = bought?.price ?? price;
    if (paid !== undefined) earlier.set(name, { name, price: paid, domain: bought && domain });
    else if (domain) own.set(name, domain);
  }
  return { earlier, own };
}
