import * as z from "zod";

import { Id } from "../../core/ids.ts";
import { Currency, MoneyText, money } from "../../core/money.ts";
import type { Context } from "../../http/route.ts";
import { registrarCurrency, type Registrar } from "../../providers/registrar/registrar.ts";
import type { Reader } from "../../table/table.ts";
import { Warning } from "../domain.ts";
import { takenNames } from "../holder.ts";
import { readName } from "../name.ts";
import { registrableName } from "../registrable.ts";
import { warningsFor } from "../setup/lookalikes.ts";
import { registrationQuotes, refusalReasons, tldsOf, type Quote, type RefusalReason } from "./offers.ts";

const tldForm = /^\.?[a-z0-9-]+(?:\.[a-z0-9-]+)*$/;
const tldError = "Write a top-level domain such as com";

/** The query of a search. Top-level domains are a list, or one text with commas. */
export const searchQuery = z.strictObject({
  workspace_id: Id.meta({ description: "The workspace for the domain." }),
  query: z
    .string()
    .trim()
    .min(1)
    .max(253)
    .meta({
      description: "A name such as `example.com`, or a keyword such as `example` for suggestions.",
      examples: ["example"],
    }),
  tlds: z
    .union(
      [
        z
          .array(z.string().trim().toLowerCase().max(253).regex(tldForm, { error: tldError }))
          .min(1)
          .max(20),
        z
          .string()
          .trim()
          .toLowerCase()
          .max(500)
          .refine((text) => text.split(",").every((part) => tldForm.test(part.trim())), { error: tldError }),
      ],
      { error: "Write 1 to 20 top-level domains such as com" },
    )
    .optional()
    .meta({
      description:
        "Only names under these top-level domains: a list, or one text with commas. The default is the top-level domains that are sold, the best-known first.",
    }),
});

const reasonNames = Object.keys(refusalReasons) as [RefusalReason, ...RefusalReason[]];

export const SearchResult = z
  .object({
    name: z.string().meta({ description: "The domain's name." }),
    available: z.boolean().meta({ description: "Whether the name can be bought, unless the account has it already." }),
    premium: z.boolean().meta({ description: "Whether the registry sells the name at a premium price." }),
    price: MoneyText.nullable().meta({
      description: "The price of the first year, without VAT. Null if it is not known.",
    }),
    renewal_price: MoneyText.nullable().meta({
      description: "The price of a further year, without VAT. Null if it is not known.",
    }),
    currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
    reason: z
      .enum(reasonNames)
      .nullable()
      .meta({ description: "Why the name is not available. Null if it is available." }),
    warnings: z
      .array(Warning)
      .meta({ description: "Warnings about the name, such as that it looks like a domain of the account." }),
  })
  .meta({ id: "DomainSearchResult", description: "A name with its availability and price." });
type SearchResult = z.output<typeof SearchResult>;

const resultLimit = 20;
const defaultBudgetMs = 4_000;
/**
 * The best-known top-level domains. A search tries them first. If the registrar does not say which ones it sells, a
 * search tries only these.
 */
const favourites = ["com", "net", "org", "io", "co", "app", "dev", "email"];
/** The similar labels that a search suggests. */
const similarLabels = [
  (word: string) => `get${word}`,
  (word: string) => `${word}hq`,
  (word: string) => `try${word}`,
  (word: string) => `${word}mail`,
  (word: string) => `${word}app`,
  (word: string) => `go${word}`,
  (word: string) => `${word}online`,
  (word: string) => `${word}team`,
];

/** The label that a keyword gives for a name; empty if the keyword gives no valid label. */
function labelOf(keyword: string): string {
  const read = readName(`${keyword.replaceAll(/[\s_.]+/g, "")}.com`);
  return "name" in read ? read.name.slice(0, -".com".length) : "";
}

const isValidName = (name: string): boolean => "name" in readName(name);

/**
 * The names to ask for, at most 20:
 * - first the requested name, unless the caller gave top-level domains without the one of the requested name;
 * - then the label of the query under `tlds`. If the caller gave no top-level domains, only the first of `tlds` are
 *   used, to leave room for the similar labels;
 * - then similar labels under the first of `tlds`.
 */
function candidates(query: string, tlds: readonly string[], areTldsGiven: boolean): string[] {
  const read = readName(query);
  const named = "name" in read ? registrableName(read.name) : undefined;
  const requested = named && (!areTldsGiven || tlds.includes(named.suffix)) ? [named.domain] : [];
  const label = named ? named.domain.slice(0, -named.suffix.length - 1) : labelOf(query);
  if (label === "") return requested;
  const [first = "com"] = tlds;
  const similar = label.startsWith("xn--") ? [] : similarLabels.map((similarTo) => `${similarTo(label)}.${first}`);
  const near = similar.filter(isValidName);
  const asked = areTldsGiven ? tlds : tlds.slice(0, resultLimit - near.length);
  const elsewhere = asked.map((tld) => `${label}.${tld}`);
  return [...new Set([...requested, ...elsewhere, ...near])].filter(isValidName).slice(0, resultLimit);
}

/**
 * Searches for a name, or suggests names for a keyword, with availability and prices. Returns at most 20 results. The
 * calls to the registrar take `budgetMs` at most. A name is `unchecked` if the registrar does not answer for this name
 * in this time.
 */
export async function searchDomains(
  accountId: string,
  { query, tlds }: z.output<typeof searchQuery>,
  { table, log }: Pick<Context, "table" | "log">,
  registrar: Registrar,
  budgetMs: number = defaultBudgetMs,
): Promise<SearchResult[]> {
  const startedMs = performance.now();
  const wantedTlds =
    tlds === undefined
      ? inOrder((await tldsOf(registrar, { budgetMs: budgetMs / 2, log })) ?? favourites)
      : listOf(tlds);
  const leftMs = budgetMs - (performance.now() - startedMs);
  const quotes = await registrationQuotes(registrar, candidates(query, wantedTlds, tlds !== undefined), {
    budgetMs: leftMs,
    log,
  });
  const checked = await withoutHeld(table, quotes);
  return Promise.all(checked.map(async (quote) => resultOf(quote, await warningsFor(table, accountId, quote.name))));
}

/**
 * Marks a name as unavailable if an account here holds it firmly or is buying it. The registrar can still offer such a
 * name, for example because the registration of the name has not begun yet.
 */
async function withoutHeld(table: Reader, quotes: readonly Quote[]): Promise<Quote[]> {
  const names = quotes.map(({ name }) => name);
  const held = await takenNames(table, names);
  return quotes.map((quote) =>
    quote.reason === undefined && held.has(quote.name) ? { name: quote.name, reason: "domain_unavailable" } : quote,
  );
}

/** Reads top-level domains from a list, or from one text with commas, and removes leading dots. */
const listOf = (tlds: string | readonly string[]): string[] => {
  const parts = typeof tlds === "string" ? tlds.split(",") : tlds;
  return [...new Set(parts.map((part) => part.trim().replace(/^\./, "")))];
};

/** Puts the best-known top-level domains first. The others keep their order. */
const inOrder = (tlds: readonly string[]): string[] => [
  ...favourites.filter((tld) => tlds.includes(tld)),
  ...tlds.filter((tld) => !favourites.includes(tld)),
];

const resultOf = ({ name, price, renewalPrice, reason }: Quote, warnings: SearchResult["warnings"]): SearchResult => ({
  name,
  available: reason === undefined,
  premium: reason === "domain_premium",
  price: price === undefined ? null : money(price),
  renewal_price: renewalPrice === undefined ? null : money(renewalPrice),
  currency: registrarCurrency,
  reason: reason ?? null,
  warnings,
});
