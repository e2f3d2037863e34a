import { vatOn, type VatRule } from "./vat.ts";
import type { Posting } from "./wallet.ts";

/**
 * A purchase: its price without VAT, in minor units of its currency, and its texts in the ledger (`code`) and for the
 * customer (`description`).
 */
export type Purchase = { id: string; price: number; currency: string; code: string; description: string };

/** The hold in the wallet for a purchase, with the VAT on its price. */
export function purchaseHold(
  { id, price, currency, code, description }: Purchase,
  rule: VatRule,
): Extract<Posting, { kind: "hold" }> {
  const vat = vatOn(price, rule);
  const charged = rule.treatment === "none" ? {} : { tax: vat, vat: { ...rule, amount: vat } };
  const sides = { debit: "wallet", credit: "revenue" };
  return { kind: "hold", id, ...sides, amount: price + vat, code, type: "purchase", currency, description, ...charged };
}
