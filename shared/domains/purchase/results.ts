import * as z from "zod";

import { covers, type Permissions } from "../../auth/permissions.ts";
import { Id } from "../../core/ids.ts";
import { Currency, money, MoneyText, moneyUpTo } from "../../core/money.ts";
import { registrarCurrency } from "../../providers/registrar/registrar.ts";
import { vatOn, type VatRule } from "../../wallet/vat.ts";
import type { StoredDomain } from "../domain.ts";
import { scopesOfDomain } from "../find.ts";
import { refusalReasons, transferReasons, type Quote, type RefusalReason, type TransferReason } from "./offers.ts";

/** The largest `max_total`, in minor units: 50 names at 1,000.00 each. */
const largestTotal = 5_000_000;

export const MaxTotal = moneyUpTo(largestTotal).meta({
  description: "The highest total price without VAT to accept. If the names cost more, nothing is purchased.",
  examples: ["40.00"],
});

/** This product's own reasons for not buying a name, each with a sentence for people. */
export const orderReasons = {
  domain_exists: "The account has this domain already.",
  domain_taken: "Another account has this domain, or is buying it.",
  domain_not_ready:
    "The zone of the account's own domain with this name is still being removed from the nameservers. Try again in a minute.",
  insufficient_funds: "The wallet's available balance was too low for this name.",
  quote_changed: "With this name, the purchase costs more than agreed.",
  duplicate: "The name is in the list twice. Its first entry counts.",
} as const;
export type OrderReason = keyof typeof orderReasons;
export type ErrorCode = RefusalReason | TransferReason | OrderReason;
const messages: Record<ErrorCode, string> = { ...refusalReasons, ...transferReasons, ...orderReasons };

/** The codes of reasons, as a list that is not empty: `z.enum` requires such a list. */
export const codesOf = <Code extends string>(reasons: Record<Code, string>): [Code, ...Code[]] =>
  Object.keys(reasons) as [Code, ...Code[]];

/** The result of a purchase or transfer for one name. */
export type Result = {
  domain_name: string;
  status: Bought | "payment_required" | "failed";
  id: string | null;
  error: string | null;
  error_code: ErrorCode | null;
  transferable_at: string | null;
};
/** The result for a name that an order bought, by the type of the order. */
export const boughtAs = { registration: "pending_registration", transfer: "pending_transfer" } as const;
/** The type of an order: it registers its names, or transfers them to us. */
export type OrderType = keyof typeof boughtAs;
type Bought = (typeof boughtAs)[OrderType];
/** The result for a name, without the name. */
export type NameResult = Omit<Result, "domain_name">;

export const resultMembers = {
  domain_name: z.string().meta({ description: "The domain's name." }),
  id: Id.nullable().meta({
    description: "The domain's id. Null if there is no domain, if it was deleted, or if you cannot see it.",
  }),
  error: z.string().nullable().meta({ description: "Why the name failed, for people." }),
};

export const answerMembers = {
  failed_count: z.int().min(0).meta({ description: "How many names failed." }),
  currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
  estimated_vat: MoneyText.meta({
    description: "The VAT on `estimated_total`. `estimated_total` is without VAT, and the wallet pays both amounts.",
  }),
  payment_url: z.string().nullable().meta({
    description:
      "The address of the payment page for the amount that is missing in the wallet. Null if no name waits for a payment.",
  }),
  purchase_batch_id: Id.nullable().meta({
    description: "The id of the purchase. Null if no name can be purchased, and in the answer to a dry run.",
  }),
};

/** A result with the message for its code. */
export const result = (
  status: Result["status"],
  id: string | null = null,
  code: ErrorCode | null = null,
): NameResult => ({
  status,
  id,
  error: code === null ? null : messages[code],
  error_code: code,
  transferable_at: null,
});

/** The id of a domain, or null if the caller may not see the domain. */
const shownId = (domain: StoredDomain, permissions: Permissions): string | null =>
  covers(permissions, "domain.view", scopesOfDomain(domain)) ? domain.id : null;

/** The result for a name that the account has already. */
export const resultOfOwn = (domain: StoredDomain, permissions: Permissions): NameResult =>
  result("failed", shownId(domain, permissions), "domain_exists");

/**
 * The result for a name that this attempt or an earlier attempt of the order bought. The result stays the same after
 * the registration or the transfer has ended. `domain` is undefined if the domain was deleted.
 */
export const resultOfEarlier = (
  type: OrderType,
  domain: StoredDomain | undefined,
  permissions: Permissions,
): NameResult => result(boughtAs[type], domain ? shownId(domain, permissions) : null);

/**
 * The result for a name that the registrar does not offer. `unchecked` for a name with a price, which has no other
 * result yet.
 */
export function resultOfQuote({ reason = "unchecked", detail, transferableAt }: Quote<ErrorCode>): NameResult {
  const { error, ...rest } = result("failed", null, reason);
  return {
    ...rest,
    error: [error, ...(detail === undefined ? [] : [detail])].join(" "),
    transferable_at: transferableAt ?? null,
  };
}

/** The parts of an answer that are about the order as a whole. `bought` is the status of a name that was bought. */
type Whole = {
  bought: Bought;
  wanted: readonly { name: string; price: number }[];
  batchId: string | null;
  paymentUrl: string | null;
  rule: VatRule;
};

/** The answer to an order, with results in the order of the requested names. */
export function orderAnswer(
  asked: readonly string[],
  outcomes: ReadonlyMap<string, NameResult>,
  { bought, wanted, batchId, paymentUrl, rule }: Whole,
) {
  const results = asked.map((name, index): Result => ({
    domain_name: name,
    ...(asked.indexOf(name) < index
      ? result("failed", null, "duplicate")
      : (outcomes.get(name) ?? result("failed", null, "unchecked"))),
  }));
  const isOrdered = (name: string): boolean => outcomes.get(name)?.status !== "failed";
  const ordered = wanted.filter(({ name }) => isOrdered(name));
  const total = ordered.reduce((sum, { price }) => sum + price, 0);
  const vat = ordered.reduce((sum, { price }) => sum + vatOn(price, rule), 0);
  return {
    results,
    successful_count: results.filter(({ status }) => status === bought).length,
    failed_count: results.filter(({ status }) => status === "failed").length,
    currency: registrarCurrency,
    estimated_total: money(total),
    estimated_vat: money(vat),
    payment_url: paymentUrl,
    purchase_batch_id: batchId,
  };
}
export type OrderAnswer = ReturnType<typeof orderAnswer>;
