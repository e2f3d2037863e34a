import * as z from "zod";

import { valueOn } from "../core/former.ts";
import { AccountCurrency, defaultCurrency, divideHalfUp } from "../core/money.ts";
import { Day, dayOf } from "../core/time.ts";
import type { Reader } from "../table/table.ts";
import { readProfile, type StoredProfile, type VatFacts } from "./profile.ts";

/** The countries of the EU. */
export const euCountries = "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK".split(
  " ",
) as [string, ...string[]];

const EuCountry = z.enum(euCountries, { error: "a country of the EU, as an ISO 3166-1 code" });

/** The value of one unit of a currency in another currency. */
const Rate = z.string().regex(/^\d{1,6}(\.\d{1,6})?$/);

/** A rate in percent, with two decimals at most. */
const Percent = z.number().min(0).max(50).multipleOf(0.01);

/**
 * The VAT settings of a stage. Rates are the standard rates of the EU's countries, in percent. `rate_changes` has the
 * rates that apply from a day on. A charge keeps the rate of its day.
 */
export const VatSettings = z.strictObject({
  seller_country: EuCountry,
  seller_vat_id: z.string().regex(/^[A-Z]{2}[A-Z0-9]{2,18}$/, "a VAT id, such as IE6433435F"),
  /** The name and the address on invoices. The default is the seller of shared/wallet/catalogue.ts. */
  seller_name: z.string().min(1).max(200).optional(),
  seller_address: z.array(z.string().min(1).max(100)).max(6).optional(),
  rates: z.record(EuCountry, Percent, { error: "a rate for each of the 27 countries of the EU" }),
  rate_changes: z
    .array(z.strictObject({ country: EuCountry, from: Day, rate: Percent }))
    .max(8, "8 changes at most, because the environment of a Lambda is small. Move old changes into rates")
    .refine((changes) => changes.every(({ from }, index) => index === 0 || (changes[index - 1]?.from ?? "") <= from), {
      error: "the changes are not in the order of their days",
    })
    .optional(),
  /**
   * The currency of the seller's country. The setting is required if this currency is not the default currency, or if
   * there are prices in several currencies. Invoices in another currency have the VAT in this currency too (Directive
   * 2006/112/EC, Article 230). `rate` is the amount of this currency for one unit of the default currency. `rates` has
   * the amount for one unit of each other currency.
   */
  national_currency: z
    .strictObject({ code: AccountCurrency, rate: Rate.optional(), rates: z.record(AccountCurrency, Rate).optional() })
    .refine(({ code, rate }) => code === defaultCurrency || rate !== undefined, {
      error: "the value of one unit of the default currency in this currency",
      path: ["rate"],
    })
    .optional(),
  /** The register that is asked about VAT ids of the EU: `vies` of the European Commission, or `embedded` for tests. */
  register: z.enum(["none", "vies", "embedded"]).default("none"),
});
export type VatSettings = z.output<typeof VatSettings>;

let parsedVat: { text: string; settings: VatSettings | undefined } = { text: "", settings: undefined };

/** The VAT settings of this process, from the JSON in VAT; undefined if no VAT is charged. */
export function vatSettings(): VatSettings | undefined {
  const text = process.env["VAT"] ?? "";
  if (text !== parsedVat.text)
    parsedVat = { text, settings: text === "" ? undefined : VatSettings.parse(JSON.parse(text)) };
  return parsedVat.settings;
}

/**
 * The currency of the seller's country (`code`), and the value of one unit of `currency` in that currency (`rate`).
 * `rate` is undefined if the settings do not have the rate.
 */
function rateOf(currency: string, { national_currency }: VatSettings): { code: string; rate: string | undefined } {
  const { code, rate, rates = {} } = national_currency ?? { code: defaultCurrency };
  if (currency === code) return { code, rate: "1" };
  return { code, rate: currency === defaultCurrency ? rate : rates[currency] };
}

/**
 * The currency of the seller's country, and the value of one unit of an invoice's currency in that currency. Undefined
 * if the invoice is in the currency of the seller's country, or if no VAT is charged. Throws if the settings have no
 * rate.
 */
export function nationalRate(currency: string): { code: string; rate: string } | undefined {
  const settings = vatSettings();
  if (settings === undefined) return undefined;
  const { code, rate } = rateOf(currency, settings);
  if (rate === undefined) throw new Error(`The VAT settings have no rate from ${currency} to ${code}.`);
  return currency === code ? undefined : { code, rate };
}

/** The error for settings that lack the rate of a currency in the price lists (`withoutRate`). */
export const noRateMessage =
  "A currency of the plan prices has no rate to the currency of the seller's country. Add it to national_currency.rates of the VAT settings.";

/**
 * The currencies of price lists for which the VAT settings have no rate. Invoices in these currencies could not show
 * their VAT.
 */
export const withoutRate = (lists: readonly { currency: string }[], settings: VatSettings | undefined): string[] =>
  settings === undefined
    ? []
    : [...new Set(lists.map(({ currency }) => currency))].filter(
        (currency) => rateOf(currency, settings).rate === undefined,
      );

export const VatTreatment = z.enum(["domestic", "oss", "reverse_charge", "outside_eu", "none"]);

/**
 * The VAT that applies to a customer. `rate` is in hundredths of a percent. The treatment is `none` for a charge that
 * was made while the stage had no VAT settings.
 */
export const VatRule = z.object({ treatment: VatTreatment, country: z.string().nullable(), rate: z.int().min(0) });
export type VatRule = z.output<typeof VatRule>;

export const noVat: VatRule = { treatment: "none", country: null, rate: 0 };

/** A text that identifies the treatment, the country and the rate of a rule. */
export const vatKey = ({ treatment, country, rate }: VatRule): string => [treatment, country, rate].join();

/** VAT that was charged, with its amount in minor units. */
export const ChargedVat = VatRule.extend({ amount: z.int().min(0) });
export type ChargedVat = z.output<typeof ChargedVat>;

/** For VAT, Monaco belongs to France (Directive 2006/112/EC, Article 7). */
const vatCountry = (country: string): string => (country === "MC" ? "FR" : country);

/** Whether a customer's VAT id counts: its form is right and, if a register is asked, the register knows the id. */
const isBusiness = ({ vat_id, vat_id_status }: VatFacts, { register }: VatSettings): boolean =>
  vat_id !== null && (vat_id_status === "valid" || (register === "none" && vat_id_status === "unchecked"));

/** The standard rate of a country on a day, in hundredths of a percent. */
function rateOn(day: Day, country: string, { rates, rate_changes = [] }: VatSettings): number {
  const changed = rate_changes.findLast((change) => change.country === country && change.from <= day);
  return Math.round((changed?.rate ?? rates[country] ?? 0) * 100);
}

/**
 * The VAT on the charges of a day (Directive 2006/112/EC), by the billing profile at the end of the day. For today and
 * later days, the present profile counts.
 * - A customer in the seller's country, or without a country, pays the VAT of the seller's country.
 * - A business in another country of the EU accounts for the VAT itself (Articles 44 and 196).
 * - Another customer in the EU pays the VAT of their country (Article 58, One Stop Shop).
 * - A customer outside the EU pays no VAT of the EU. Northern Ireland is outside the EU for services.
 */
export function vatRule(profile: StoredProfile, day: Day, settings = vatSettings()): VatRule {
  if (settings === undefined) return noVat;
  const { seller_country: seller } = settings;
  const facts = valueOn<VatFacts>(day, profile, profile.former_vat);
  const country = facts.country === null ? seller : vatCountry(facts.country);
  if (country === seller) return { treatment: "domestic", country, rate: rateOn(day, country, settings) };
  if (!euCountries.includes(country)) return { treatment: "outside_eu", country, rate: 0 };
  if (isBusiness(facts, settings)) return { treatment: "reverse_charge", country, rate: 0 };
  return { treatment: "oss", country, rate: rateOn(day, country, settings) };
}

/** The VAT on a net amount, in minor units, rounded half up. */
export const vatOn = (net: number, { rate }: VatRule): number => divideHalfUp(net * rate, 10_000);

/** A net amount with its VAT. */
export const withVat = (net: number, rule: VatRule): number => net + vatOn(net, rule);

/** Reads the VAT rule for a purchase that an account makes now. */
export const readVatRule = async (table: Reader, accountId: string, now: Date): Promise<VatRule> =>
  vatRule(await readProfile(table, accountId), dayOf(now));

/** A rate for people: 2350 → "23.5 %". */
export const percentText = (rate: number): string => `${rate / 100} %`;

const names = new Intl.DisplayNames("en", { type: "region" });

/** The English name of a country: "DE" → "Germany". `XI` is Northern Ireland, as in VAT ids. */
export const countryName = (code: string): string => (code === "XI" ? "Northern Ireland" : (names.of(code) ?? code));

/** The sentence that an invoice needs about a treatment; undefined if the invoice needs no sentence. */
export function vatNote({ treatment, country }: VatRule): string | undefined {
  if (treatment === "reverse_charge")
    return "Reverse charge: the customer accounts for the VAT (Directive 2006/112/EC, Articles 44 and 196).";
  if (treatment === "outside_eu")
    return "No EU VAT: the place of supply is outside the EU (Directive 2006/112/EC, Articles 44 and 58).";
  if (treatment === "oss")
    return `VAT of ${countryName(country ?? "EU")} (Directive 2006/112/EC, Article 58, One Stop Shop).`;
  return undefined;
}
