import { randomBytes } from "node:crypto";

import * as z from "zod";

import { AccountParams } from "../../accounts/account.ts";
import { defineKind } from "../../changes/kind.ts";
import { Id, ordinalOf } from "../../core/ids.ts";
import { Currency, MoneyText, money } from "../../core/money.ts";
import { Day, Timestamp, plusDays } from "../../core/time.ts";
import { type List, rowKey } from "../../table/ranked-list.ts";
import type { Key } from "../../table/writes.ts";
import { seller } from "../../wallet/catalogue.ts";
import type { BillingState } from "../../wallet/state.ts";
import { countryName, percentText, vatNote } from "../../wallet/vat.ts";
import { Line, LineView } from "../charges.ts";
import { VatRow, VatView } from "./amounts.ts";
import { Party, PartyView } from "./parties.ts";
import type { InvoiceDocument } from "./pdf.ts";

/*
 * Access patterns
 *   invoices of an account, newest first, and one by the ordinal in its id   ACCOUNT#<id> / LIST#invoices
 */
/** The list of an account's invoices. */
export const invoicesOf = (accountId: string): List => ({ partition: `ACCOUNT#${accountId}`, name: "invoices" });

/** The key of the invoice with this id. An id without an ordinal gets the ordinal 2 ** 40, which no invoice has. */
export const invoiceKey = (accountId: string, id: string): Key =>
  rowKey(invoicesOf(accountId), ordinalOf(id) ?? 2 ** 40);

/** A new key that signs the addresses of a PDF: 256 random bits. */
export const newDownloadKey = (): string => randomBytes(32).toString("base64url");

const InvoiceStatus = z.enum(["open", "paid", "void"]);

const InvoiceBase = z.object({
  id: Id.meta({ description: "The invoice's id." }),
  number: z.string().meta({ description: "The invoice's number. The numbers of an account have no gaps." }),
  date: Timestamp.meta({ description: "When the invoice was made." }),
  period_start: Day.meta({ description: "The first day of the invoice's period." }),
  period_end: Day.meta({ description: "The last day of the invoice's period." }),
  amount: MoneyText.meta({ description: "The invoice's total with VAT, as a decimal." }),
  currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
  status: InvoiceStatus.meta({
    description: "`open` until the wallet has paid the invoice, then `paid`. `void` is not used.",
  }),
});

export const Invoice = InvoiceBase.extend({
  download_url: z.string().meta({
    description:
      "The address of the invoice's PDF. The address works for an hour without a credential, and shows the invoice in its current state.",
  }),
}).meta({ id: "Invoice", description: "The charges of an account for a month or a part of a month." });

const CreditedBy = z.object({
  id: Id.meta({ description: "The credit note's id." }),
  number: z.string().meta({ description: "The credit note's number." }),
  date: Timestamp.meta({ description: "When the credit note was made." }),
  amount: MoneyText.meta({ description: "The credited amount, with VAT." }),
});
export type CreditedBy = z.output<typeof CreditedBy>;

export const InvoiceDetail = Invoice.extend({
  lines: z.array(LineView).meta({ description: "The charges: the usage of the period, and purchases." }),
  vat: z.array(VatView).meta({ description: "The VAT by rate. Empty if no VAT was configured." }),
  paid_before: MoneyText.meta({ description: "The part of `amount` that the wallet had paid for purchases before." }),
  amount_due: MoneyText.meta({ description: "The rest of `amount`, which the invoice charges." }),
  credit_notes: z.array(CreditedBy).meta({ description: "The credit notes that correct the invoice, oldest first." }),
  credited_amount: MoneyText.meta({ description: "The sum of the credit notes. The wallet got this sum back." }),
  remaining_amount: MoneyText.meta({ description: "The rest of `amount`, without `credited_amount`." }),
  seller: PartyView.meta({ description: "The issuer of the invoice." }),
  buyer: PartyView.meta({ description: "The addressee of the invoice, as it was when the invoice was made." }),
  notes: z
    .array(z.string())
    .meta({ description: "The sentences that tax law requires on the invoice, such as about a reverse charge." }),
  paid_at: Timestamp.nullable().meta({ description: "When the wallet paid the invoice. Null while it is open." }),
}).meta({ id: "InvoiceDetail", description: "An invoice with its lines." });

export const InvoiceParams = AccountParams.extend({ invoice_id: Id.meta({ description: "The invoice's id." }) });

export const StoredInvoice = InvoiceBase.extend({
  account_id: z.string(),
  /** The customer's name when the invoice was made. */
  customer_name: z.string(),
  lines: z.array(Line),
  /** `amount` in minor units, with the VAT. */
  total: z.int(),
  /** The part of `total` that the wallet had paid for purchases before the invoice, in minor units. */
  prepaid: z.int().optional(),
  /** The VAT by rate. Absent if no VAT was configured. */
  vat: z.array(VatRow).optional(),
  /** The customer's billing profile when the invoice was made. */
  buyer: Party.optional(),
  /** The VAT in the currency of the seller's country. Absent if the invoice is in that currency, or its VAT is zero. */
  national_vat: z.object({ currency: Currency, rate: z.string(), amount: z.int() }).optional(),
  /** The credited parts of the invoice: lines by their numbers from 1 on, and amounts by the rows of `vat`. */
  credited: z
    .object({
      lines: z.array(z.int()),
      vat: z.array(z.object({ net: z.int(), amount: z.int() })),
      /**
       * The credit notes. Absent if an earlier version made the first credit note of the invoice. In this case only the
       * list of credit notes has the invoice's credit notes.
       */
      notes: z.array(CreditedBy).optional(),
    })
    .optional(),
  paid_at: z.string().optional(),
  /** The seller when the invoice was made. Absent on the oldest invoices, which show the seller of catalogue.ts. */
  seller: Party.optional(),
  /** The key that signs the addresses of the PDF. Absent on the oldest invoices until they are first read. */
  download_key: z.string().optional(),
  version: z.int(),
});
export type StoredInvoice = z.output<typeof StoredInvoice>;

export const invoiceKind = defineKind({
  name: "billing.invoice",
  verbs: ["created", "paid"],
  view: InvoiceBase,
  seenWith: "billing.view",
});

/** The number of an invoice, such as `de944be07fc1f90a-000042`. `position` counts the account's invoices from 1. */
export const numberOf = (series: string, position: number): string => `${series}-${String(position).padStart(6, "0")}`;

/**
 * The first part of the numbers of an account's invoices: the last 16 digits of the account's id. No two accounts share
 * this part.
 */
export const newSeries = (accountId: string): string => accountId.replaceAll("-", "").slice(-16);

/** The first part of the invoice numbers of an account whose first invoice was made by an earlier version. */
export const oldSeries = (accountId: string): string => accountId.slice(0, 8);

/** The first part of the numbers of the next invoice and the next credit note. */
export const seriesOf = (accountId: string, { invoices, series }: Pick<BillingState, "invoices" | "series">): string =>
  invoices === 0 ? newSeries(accountId) : (series ?? oldSeries(accountId));

/**
 * The amount of an invoice without its purchases, in minor units. The wallet pays or has paid this amount for the
 * invoice.
 */
export const dueOf = ({ total, prepaid }: Pick<StoredInvoice, "total" | "prepaid">): number => total - (prepaid ?? 0);

/** The VAT of an invoice, in minor units. */
export const vatTotal = ({ vat = [] }: Pick<StoredInvoice, "vat">): number =>
  vat.reduce((sum, { amount }) => sum + amount, 0);

/** The seller of an invoice. The oldest invoices show the seller of catalogue.ts. */
export const sellerOf = ({ seller: stored }: Pick<StoredInvoice, "seller">): Party => stored ?? seller;

/** The document of an invoice in its current state. */
export const documentOf = (invoice: StoredInvoice): InvoiceDocument => ({
  title: "Invoice",
  number: invoice.number,
  issuedAt: invoice.date,
  periodStart: invoice.period_start,
  periodEnd: plusDays(invoice.period_end, 1),
  status: invoice.status,
  seller: sellerOf(invoice),
  customer: customerOf(invoice),
  lines: invoice.lines.map((line) => documentLine(line, invoice.vat)),
  vat: documentVat(invoice.vat),
  total: invoice.total,
  prepaid: invoice.prepaid ?? 0,
  notes: notesOf(invoice),
  currency: invoice.currency,
  ...(invoice.paid_at === undefined ? {} : { paidAt: invoice.paid_at }),
});

/** The customer as a document shows them: by the billing profile, or by the account's name. */
export const customerOf = ({
  buyer,
  customer_name,
  account_id,
}: Pick<StoredInvoice, "buyer" | "customer_name" | "account_id">): InvoiceDocument["customer"] => ({
  lines: [],
  ...buyer,
  name: buyer === undefined || buyer.name === "" ? customer_name : buyer.name,
  accountId: account_id,
});

/** A line as a document shows it. A purchase has the day of its supply. */
export function documentLine(
  { description, quantity, unit_price, amount, supplied_on, vat_row }: Line,
  vat: readonly VatRow[] = [],
): InvoiceDocument["lines"][number] {
  const row = vat_row === undefined ? undefined : vat[vat_row];
  return {
    description: supplied_on === undefined ? description : `${description} (${supplied_on}, paid from the wallet)`,
    quantity,
    unitPrice: money(unit_price),
    amount,
    ...(row === undefined ? {} : { vat: row.treatment === "none" ? "–" : percentText(row.rate) }),
  };
}

/** The sums by rate as a document shows them. */
export const documentVat = (vat: readonly VatRow[] = []): InvoiceDocument["vat"] =>
  vat.map((row) => ({ label: `${vatLabel(row)}, on ${money(row.net)}`, amount: row.amount }));

/** The label of a row of VAT: its rate and country, and the reason for a rate of zero. */
function vatLabel({ treatment, country, rate }: VatRow): string {
  if (treatment === "none") return "Without VAT";
  const reasons: Partial<Record<VatRow["treatment"], string>> = {
    reverse_charge: "reverse charge",
    outside_eu: "outside the EU",
  };
  return [`VAT ${percentText(rate)}`, country === null ? "" : countryName(country), reasons[treatment] ?? ""]
    .filter((part) => part !== "")
    .join(", ");
}

/** The sentences that tax law requires on a document. The document shows them below the sums. */
export function notesOf({
  vat = [],
  national_vat,
  currency,
}: Pick<StoredInvoice, "vat" | "national_vat" | "currency">): string[] {
  const notes = vat.flatMap((row) => vatNote(row) ?? []);
  if (national_vat === undefined) return [...new Set(notes)];
  const { currency: code, rate, amount } = national_vat;
  return [...new Set(notes), `VAT in ${code}: ${money(amount)} (1 ${currency} = ${rate} ${code}).`];
}
