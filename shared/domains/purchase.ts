import { openTopup, type Checkouts } from "../billing/topup.ts";
import { readWallet } from "../billing/wallet.ts";
import { Problem } from "../errors.ts";
import { timeOrderedId } from "../ids.ts";
import { currency, minorUnits, money } from "../money.ts";
import type { Registrar } from "../providers/registrar.ts";
import type { Context } from "../route.ts";
import type { Write } from "../table/writes.ts";
import { batchItem, getBatch, type StoredBatch } from "./batch.ts";
import { buyNames, type Wanted } from "./buy.ts";
import { domainByName } from "./find.ts";
import { firmlyHeld } from "./holder.ts";
import { quotesFor } from "./offers.ts";
import {
  answerOf,
  result,
  resultOfBought,
  resultOfOwn,
  resultOfQuote,
  type Purchase,
  type PurchaseAnswer,
  type Result,
} from "./purchase-view.ts";
import { removeFailed } from "./release.ts";

/** Payment providers take no smaller amounts. */
const leastCheckout = 100;
const budgetMs = 5_000;

type Outside = { registrar: Registrar; checkouts: () => Checkouts };

type Order = { accountId: string; purchase: Purchase; wanted: readonly Wanted[]; total: number };

/**
 * Buys names: holds their price and has them registered, or, when the wallet is short, opens a checkout that goes on
 * with them once it is paid. 409 `quote_changed`.
 */
export async function purchaseDomains(
  accountId: string,
  purchase: Purchase,
  context: Context,
  { registrar, checkouts }: Outside,
): Promise<PurchaseAnswer> {
  const names = [...new Set(purchase.domains)];
  const known = await Promise.all(names.map((name) => domainByName(context.table, accountId, name)));
  const own = new Map(known.flatMap((domain) => (domain ? [[domain.name, domain] as const] : [])));
  const unknown = names.filter((name) => !own.has(name) || own.get(name)?.status === "failed");
  const held = await firmlyHeld(context.table, unknown, accountId);
  const free = unknown.filter((name) => !held.has(name));
  const quotes = await quotesFor(registrar, free, { budgetMs, log: context.log });
  if (free.length > 0 && held.size === 0 && quotes.every(({ reason }) => reason === "unchecked")) throw silent();
  const wanted = quotes.flatMap(({ name, price, reason }): Wanted[] =>
    reason === undefined && price !== undefined ? [{ name, price }] : [],
  );
  const total = wanted.reduce((sum, { price }) => sum + price, 0);
  requireAgreed(purchase.max_total, total);
  const outcomes: Outcomes = new Map([
    ...[...own.values()].map((domain) => [domain.name, resultOfOwn(domain, context.permissions)] as const),
    ...quotes.map((quote) => [quote.name, resultOfQuote(quote)] as const),
    ...[...held].map((name) => [name, result("failed", null, "domain_taken")] as const),
  ]);
  const order = { accountId, purchase, wanted, total };
  const { available } = await readWallet(context.table, accountId);
  if (wanted.length > 0 && available < total) return waitForPayment(order, outcomes, available, context, checkouts());
  const failed = wanted.flatMap(({ name }) => own.get(name) ?? []);
  for (const domain of failed) await removeFailed(accountId, domain, context);
  return buy(order, outcomes, context);
}

type Outcomes = Map<string, Omit<Result, "domain_name">>;

/** Opens a checkout over what the wallet is short of; nothing is held until it is paid. */
async function waitForPayment(
  { accountId, purchase, wanted, total }: Order,
  outcomes: Outcomes,
  available: number,
  context: Context,
  checkouts: Checkouts,
): Promise<PurchaseAnswer> {
  const batch = newBatch(accountId, purchase, context.now());
  const missing = Math.max(total - available, leastCheckout);
  const names = wanted.length === 1 ? "a domain" : `${wanted.length} domains`;
  const about = { batchId: batch.id, description: `Wallet top-up for ${names}` };
  const { session, writes, changes } = await openTopup(accountId, missing, context, checkouts, about);
  for (const { name } of wanted) outcomes.set(name, result("payment_required"));
  const paymentUrl = session.hosted_page.url;
  const value = answerOf(purchase.domains, outcomes, { wanted, batchId: batch.id, paymentUrl });
  const put = { put: batchItem({ ...batch, waiting: [...wanted] }), if: "absent" as const };
  return context.commit(async () => ({ value, writes: [...writes, put], changes }));
}

/** Buys what the wallet covers. Who registers is noted with the first name that is. */
async function buy(
  { accountId, purchase, wanted }: Order,
  outcomes: Outcomes,
  context: Context,
): Promise<PurchaseAnswer> {
  const batch = newBatch(accountId, purchase, context.now());
  const claim = async (): Promise<Write[]> =>
    (await getBatch(context.table, accountId, batch.id)) ? [] : [{ put: batchItem(batch), if: "absent" }];
  const order = { accountId, workspaceId: purchase.workspace_id, batchId: batch.id, claim };
  for (const bought of await buyNames(order, wanted, context)) outcomes.set(bought.name, resultOfBought(bought));
  const batchId = wanted.length === 0 ? null : batch.id;
  const value = answerOf(purchase.domains, outcomes, { wanted, batchId, paymentUrl: null });
  return context.commit(async () => ({ value, writes: [], changes: [] }));
}

const silent = (): Problem =>
  new Problem("upstream_unavailable", "The registrar does not answer: nothing was bought. Try again.", {
    retry_after: 5,
  });

function requireAgreed(most: string | number | undefined, total: number): void {
  const agreed = most === undefined ? undefined : minorUnits(most);
  if (agreed === undefined || total <= agreed) return;
  throw new Problem("quote_changed", `The names cost ${money(total)} ${currency}, which is more than was agreed.`, {
    estimated_total: money(total),
    currency,
  });
}

const newBatch = (accountId: string, { workspace_id, contact_info }: Purchase, now: Date): StoredBatch => ({
  id: timeOrderedId(now),
  account_id: accountId,
  workspace_id,
  contact: contact_info,
  waiting: [],
  created_at: now.toISOString(),
  version: 1,
});
