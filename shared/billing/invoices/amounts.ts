import * as z from "zod";

import { divideHalfUp, money, MoneyText } from "../../core/money.ts";
import { ChargedVat, vatKey, vatOn, nationalRate, VatTreatment, type VatRule } from "../../wallet/vat.ts";
import type { Captured } from "../captured.ts";
import { totalAmount, type Line, type UsageGroup } from "../charges.ts";

/** The VAT of one rate on an invoice: the amount without VAT (`net`), and the VAT (`amount`), in minor units. */
export const VatRow = ChargedVat.extend({ net: z.int().min(0) });
export type VatRow = z.output<typeof VatRow>;

export const VatView = z
  .object({
    treatment: VatTreatment.meta({
      description:
        "`domestic`: the VAT of the seller's country. `oss`: the VAT of the customer's country. `reverse_charge`: the customer accounts for the VAT. `outside_eu`: no VAT of the EU. `none`: charged while no VAT was configured.",
    }),
    country: z.string().nullable().meta({ description: "The country of the VAT, as an ISO 3166-1 code." }),
    rate: z.number().meta({ description: "The rate, in percent." }),
    net: MoneyText.meta({ description: "The amount without VAT." }),
    vat: MoneyText.meta({ description: "The VAT on this amount." }),
  })
  .meta({ id: "InvoiceVat", description: "The VAT of one rate." });

/** A row of VAT as callers see it. */
export const vatView = ({ rate, net, amount, ...row }: VatRow): z.output<typeof VatView> => ({
  ...row,
  rate: rate / 100,
  net: money(net),
  vat: money(amount),
});

/**
 * The lines of an invoice and their sums, in minor units. `prepaid` is the part of `total` that the wallet has already
 * paid for purchases.
 */
export type InvoiceAmounts = { lines: Line[]; vat?: VatRow[]; prepaid: number; total: number };

/**
 * Adds up the usage of a period and the purchases that the wallet has paid.
 * - The VAT on usage is rounded once for each rate. The VAT on a purchase is the VAT that was charged with it.
 * - Amounts with the same treatment, country and rate are one row of VAT. If all amounts have the treatment `none`, the
 *   invoice has no rows of VAT.
 */
export function invoiceAmounts(usage: readonly UsageGroup[], purchases: readonly Captured[]): InvoiceAmounts {
  const rows = new Map<string, VatRow>();
  /** Adds amounts to the row of a VAT rule, and returns the index of the row. */
  const add = (vatRule: VatRule, net: number, amount: number): number => {
    const key = vatKey(vatRule);
    const { treatment, country, rate } = vatRule;
    const row = rows.get(key) ?? { treatment, country, rate, net: 0, amount: 0 };
    rows.set(key, { ...row, net: row.net + net, amount: row.amount + amount });
    return [...rows.keys()].indexOf(key);
  };
  const used = usage.flatMap(({ rule, lines }) => {
    const net = totalAmount(lines);
    const vat_row = net > 0 ? add(rule, net, vatOn(net, rule)) : 0;
    return lines.map((line) => ({ ...line, vat_row }));
  });
  const bought = purchases.map(({ day, description, net: price, vat }): Line & { vat_row: number } => ({
    description,
    quantity: "1",
    unit_price: price,
    amount: price,
    supplied_on: day,
    vat_row: add(vat, price, vat.amount),
  }));
  const vat = [...rows.values()];
  const prepaid = purchases.reduce((sum, purchase) => sum + purchase.net + purchase.vat.amount, 0);
  const lines = [...used, ...bought];
  const total = vat.reduce((sum, row) => sum + row.net + row.amount, 0);
  const hasVat = vat.some(({ treatment }) => treatment !== "none");
  if (hasVat) return { lines, vat, prepaid, total };
  return { lines: lines.map(({ vat_row: _, ...line }) => line), prepaid, total };
}

type NationalVat = { currency: string; rate: string; amount: number };

/**
 * The VAT in the currency of the seller's country, as an invoice stores it; nothing if the invoice is in that currency,
 * or if its VAT is zero. A credit note uses the rate of the invoice that it corrects (`corrected`).
 */
export function nationalVat(
  vat: readonly VatRow[] = [],
  currency: string,
  corrected?: NationalVat,
): { national_vat?: NationalVat } {
  const national = corrected ? { code: corrected.currency, rate: corrected.rate } : nationalRate(currency);
  const amount = vat.reduce((sum, row) => sum + row.amount, 0);
  if (national === undefined || amount === 0) return {};
  const { code, rate } = national;
  // The rate is multiplied as an integer, so that the result is exact: 1.25 becomes 125 / 100.
  const [whole = "0", fraction = ""] = rate.split(".");
  const converted = divideHalfUp(amount * Number(whole + fraction), 10 ** fraction.length);
  return { national_vat: { currency: code, rate, amount: converted } };
}
