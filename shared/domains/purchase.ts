import * as z from "zod";

import { openTopup, type Checkouts } from "../billing/topup.ts";
import { readWallet } from "../billing/wallet.ts";
import { Problem } from "../errors.ts";
import { Id, timeOrderedId } from "../ids.ts";
import { Currency, currency, minorUnits, money, MoneyText, moneyUpTo } from "../money.ts";
import type { Registrar } from "../providers/registrar.ts";
import type { Context } from "../route.ts";
import { batchItem, type StoredBatch } from "./batch.ts";
import { buyNames, type Bought, type Wanted } from "./buy.ts";
import { ContactInfo } from "./contact.ts";
import type { StoredDomain } from "./domain.ts";
import { domainByName } from "./find.ts";
import { DomainName } from "./name.ts";
import { quotesFor, refusalReasons, type Quote, type RefusalReason } from "./offers.ts";
import { removeFailed } from "./release.ts";

/** Fifty names at a thousand each. */
const largestTotal = 5_000_000;
/** Payment providers take no smaller amounts. */
const leastCheckout = 100;
const budgetMs = 5_000;

export const Purchase = z
  .strictObject({
    workspace_id: Id.meta({ description: "The workspace the domains come into." }),
    domains: z.array(DomainName).min(1).max(50).meta({ description: "The names to buy, 1 to 50." }),
    contact_info: ContactInfo,
    max_total: moneyUpTo(largestTotal)
      .optional()
      .meta({
        description: "What all of it may cost: at a higher quote nothing is bought.",
        examples: ["40.00"],
      }),
  })
  .meta({ id: "DomainPurchase", description: "Names to buy, and who registers them." });
type Purchase = z.output<typeof Purchase>;

const otherReasons = {
  domain_exists: "The account has this domain already.",
  domain_taken: "Another account has this domain.",
  insufficient_funds: "The wallet did not hold enough for this name any more.",
  duplicate: "The name is in the list twice.",
} as const;
type ErrorCode = RefusalReason | keyof typeof otherReasons;
const messages: Record<ErrorCode, string> = { ...refusalReasons, ...otherReasons };
const codes = Object.keys(messages) as [ErrorCode, ...ErrorCode[]];

const Result = z
  .object({
    domain_name: z.string().meta({ description: "The name." }),
    status: z.enum(["pending_registration", "payment_required", "failed"]).meta({
      description:
        "`pending_registration` is paid for by a hold; `payment_required` goes on once `payment_url` is paid.",
    }),
    id: Id.nullable().meta({ description: "The domain's id, once there is one." }),
    error: z.string().nullable().meta({ description: "Why it failed, for people." }),
    error_code: z.enum(codes).nullable().meta({ description: "Why it failed." }),
  })
  .meta({ id: "DomainPurchaseResult", description: "What came of one name." });
type Result = z.output<typeof Result>;

export const PurchaseAnswer = z
  .object({
    results: z.array(Result).meta({ description: "What came of each name, in the order they were given." }),
    successful_count: z.int().min(0).meta({ description: "How many are being registered." }),
    failed_count: z.int().min(0).meta({ description: "How many failed." }),
    currency: Currency.meta({ description: "ISO 4217." }),
    estimated_total: MoneyText.meta({ description: "What the names cost that did not fail, for their first year." }),
    payment_url: z
      .string()
      .nullable()
      .meta({ description: "Where to pay what the wallet is short of; null when it is not." }),
    purchase_batch_id: Id.nullable().meta({
      description: "What the purchase goes by; null when no name can be bought.",
    }),
  })
  .meta({ id: "DomainPurchaseResponse", description: "What came of a purchase." });
type PurchaseAnswer = z.output<typeof PurchaseAnswer>;

type Outside = { registrar: Registrar; checkouts: () => Checkouts };

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
  const quotes = await quotesFor(registrar, unknown, { budgetMs, log: context.log });
  if (unknown.length > 0 && quotes.every(({ reason }) => reason === "unchecked")) throw silent();
  const wanted = quotes.flatMap(({ name, price, reason }): Wanted[] =>
    reason === undefined && price !== undefined ? [{ name, price }] : [],
  );
  const total = wanted.reduce((sum, { price }) => sum + price, 0);
  requireAgreed(purchase.max_total, total);
  const outcomes = new Map<string, Omit<Result, "domain_name">>([
    ...[...own.values()].map((domain) => [domain.name, resultOfOwn(domain)] as const),
    ...quotes.map((quote) => [quote.name, resultOfQuote(quote)] as const),
  ]);
  const answer = (batchId: string | null, paymentUrl: string | null = null): PurchaseAnswer =>
    answerOf(purchase.domains, outcomes, { wanted, batchId, paymentUrl });
  if (wanted.length === 0) return context.commit(async () => ({ value: answer(null), writes: [], changes: [] }));
  const batch = newBatch(accountId, purchase, context.now());
  const { available } = await readWallet(context.table, accountId);
  if (available < total) {
    const missing = Math.max(total - available, leastCheckout);
    const about = { batchId: batch.id, description: `Wallet top-up for ${wanted.length} domains` };
    const { session, writes, changes } = await openTopup(accountId, missing, context, checkouts(), about);
    for (const { name } of wanted) outcomes.set(name, result("payment_required"));
    const value = answer(batch.id, session.hosted_page.url);
    const put = { put: batchItem({ ...batch, waiting: wanted }), if: "absent" as const };
    return context.commit(async () => ({ value, writes: [...writes, put], changes }));
  }
  await context.commit(async () => ({
    value: undefined,
    writes: [{ put: batchItem(batch), if: "absent" as const }],
    changes: [],
    housekeeping: true,
    partial: true,
  }));
  for (const { name } of wanted) {
    const failed = own.get(name);
    if (failed) await removeFailed(accountId, failed, context);
  }
  const order = { accountId, workspaceId: purchase.workspace_id, batchId: batch.id };
  for (const bought of await buyNames(order, wanted, context)) outcomes.set(bought.name, resultOfBought(bought));
  const value = answer(batch.id);
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

const result = (status: Result["status"], id: string | null = null, code: ErrorCode | null = null) => ({
  status,
  id,
  error: code === null ? null : messages[code],
  error_code: code,
});

/** A name that is being bought already is no mistake: a purchase that was cut off can be sent again. */
const resultOfOwn = ({ id, status }: StoredDomain) =>
  status === "pending_registration" ? result("pending_registration", id) : result("failed", id, "domain_exists");

const resultOfQuote = ({ reason }: Quote) => result("failed", null, reason ?? "unchecked");

const resultOfBought = (bought: Bought) =>
  "domain" in bought ? result("pending_registration", bought.domain?.id ?? null) : result("failed", null, bought.code);

type Whole = { wanted: readonly Wanted[]; batchId: string | null; paymentUrl: string | null };

function answerOf(
  asked: readonly string[],
  outcomes: ReadonlyMap<string, Omit<Result, "domain_name">>,
  { wanted, batchId, paymentUrl }: Whole,
): PurchaseAnswer {
  const results = asked.map((name, index): Result => ({
    domain_name: name,
    ...(asked.indexOf(name) < index
      ? result("failed", null, "duplicate")
      : (outcomes.get(name) ?? result("failed", null, "unchecked"))),
  }));
  const isGoingOn = (name: string): boolean => outcomes.get(name)?.status !== "failed";
  const total = wanted.reduce((sum, { name, price }) => sum + (isGoingOn(name) ? price : 0), 0);
  return {
    results,
    successful_count: results.filter(({ status }) => status === "pending_registration").length,
    failed_count: results.filter(({ status }) => status === "failed").length,
    currency,
    estimated_total: money(total),
    payment_url: paymentUrl,
    purchase_batch_id: batchId,
  };
}
