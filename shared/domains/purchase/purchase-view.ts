import * as z from "zod";

import { covers, type Permissions } from "../../auth/permissions.ts";
import { Id } from "../../core/ids.ts";
import { Currency, MoneyText, currency, money, moneyUpTo } from "../../core/money.ts";
import type { StoredDomain } from "../domain.ts";
import { scopesOfDomain } from "../find.ts";
import { NewDomainName } from "../registrable.ts";
import type { Wanted } from "./buy.ts";
import { ContactInfo } from "./contact.ts";
import { refusalReasons, type Quote, type RefusalReason } from "./offers.ts";

/** The largest `max_total`, in minor units: fifty names at a thousand each. */
const largestTotal = 5_000_000;

export const Purchase = z
  .strictObject({
    workspace_id: Id.meta({ description: "The workspace for the domains." }),
    domains: z.array(NewDomainName).min(1).max(50).meta({ description: "The names to purchase, 1 to 50." }),
    contact_info: ContactInfo,
    max_total: moneyUpTo(largestTotal)
      .optional()
      .meta({
        description: "The highest total price to accept. If the names cost more, nothing is purchased.",
        examples: ["40.00"],
      }),
  })
  .meta({ id: "DomainPurchase", description: "Names to purchase, and the contact for their registration." });
export type Purchase = z.output<typeof Purchase>;

const otherReasons = {
  domain_exists: "The account has this domain already.",
  domain_taken: "Another account has this domain.",
  insufficient_funds: "The wallet's available balance was too low for this name.",
  quote_changed: "With this name, the purchase costs more than agreed.",
  duplicate: "The name is in the list twice.",
} as const;
type ErrorCode = RefusalReason | keyof typeof otherReasons;
const messages: Record<ErrorCode, string> = { ...refusalReasons, ...otherReasons };
const codes = Object.keys(messages) as [ErrorCode, ...ErrorCode[]];

const Result = z
  .object({
    domain_name: z.string().meta({ description: "The domain's name." }),
    status: z.enum(["pending_registration", "payment_required", "failed"]).meta({
      description:
        "With `pending_registration`, the name was bought by this purchase, and its price is held. With `payment_required`, the purchase continues once `payment_url` is paid.",
    }),
    id: Id.nullable().meta({ description: "The domain's id. Null if there is no domain, or if it was deleted." }),
    error: z.string().nullable().meta({ description: "Why the name failed, for people." }),
    error_code: z.enum(codes).nullable().meta({ description: "Why the name failed." }),
  })
  .meta({ id: "DomainPurchaseResult", description: "The result for one name." });
export type Result = z.output<typeof Result>;

export const PurchaseAnswer = z
  .object({
    results: z.array(Result).meta({ description: "The result for each name, in the order of the request." }),
    successful_count: z.int().min(0).meta({ description: "How many names are being registered." }),
    failed_count: z.int().min(0).meta({ description: "How many names failed." }),
    currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
    estimated_total: MoneyText.meta({ description: "The price of the first year for all names that did not fail." }),
    payment_url: z.string().nullable().meta({
      description:
        "The address of the payment page for the amount that is missing in the wallet. Null if no name waits for a payment.",
    }),
    purchase_batch_id: Id.nullable().meta({
      description: "The id of the purchase. Null if no name can be purchased.",
    }),
  })
  .meta({ id: "DomainPurchaseResponse", description: "The result of a purchase." });
export type PurchaseAnswer = z.output<typeof PurchaseAnswer>;

/** The result of a name, with the message for its code. */
export const result = (status: Result["status"], id: string | null = null, code: ErrorCode | null = null) => ({
  status,
  id,
  error: code === null ? null : messages[code],
  error_code: code,
});

/** The id of a domain, or null if the purchaser may not see the domain because of its workspace. */
const shownId = (domain: StoredDomain, permissions: Permissions): string | null =>
  covers(permissions, "domain.view", scopesOfDomain(domain)) ? domain.id : null;

/** The result of a name that the account has already. */
export const resultOfOwn = (domain: StoredDomain, permissions: Permissions) =>
  result("failed", shownId(domain, permissions), "domain_exists");

/**
 * The result of a name that an earlier attempt of the same purchase bought. It is `pending_registration`, even if the
 * registration has ended since. `domain` is undefined if the domain was deleted.
 */
export const resultOfEarlier = (domain: StoredDomain | undefined, permissions: Permissions) =>
  result("pending_registration", domain ? shownId(domain, permissions) : null);

/** The result of a name without an offer. */
export const resultOfQuote = ({ reason }: Quote) => result("failed", null, reason ?? "unchecked");

type Whole = { wanted: readonly Wanted[]; batchId: string | null; paymentUrl: string | null };

/** The answer to a purchase, with results in the order of the requested names. */
export function purchaseAnswer(
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
