import * as z from "zod";

import { defineKind } from "../changes/kind.ts";
import { Id, ordinalOf } from "../core/ids.ts";
import { Currency, MoneyText, money } from "../core/money.ts";
import { Day, Timestamp, plusDays } from "../core/time.ts";
import { type List, rowKey } from "../table/ranked-list.ts";
import type { Key } from "../table/writes.ts";
import { seller } from "../wallet/catalogue.ts";
import { Line } from "./charges.ts";
import type { InvoiceDocument } from "./invoice-pdf.ts";

/*
 * Access patterns
 *   invoices of an account, newest first, and one by the ordinal in its id   ACCOUNT#<id> / LIST#invoices
 */
export const invoicesOf = (accountId: string): List => ({ partition: `ACCOUNT#${accountId}`, name: "invoices" });

/** The key of the invoice with this id. For an id without an ordinal it is the key of no invoice. */
export const invoiceKey = (accountId: string, id: string): Key =>
  rowKey(invoicesOf(accountId), ordinalOf(id) ?? 2 ** 40);

const InvoiceStatus = z.enum(["open", "paid", "void"]);

const InvoiceBase = z.object({
  id: Id.meta({ description: "The invoice's id." }),
  number: z.string().meta({ description: "The invoice's number. An account's numbers have no gaps." }),
  date: Timestamp.meta({ description: "When the invoice was made." }),
  period_start: Day.meta({ description: "The first day that the invoice is for." }),
  period_end: Day.meta({ description: "The last day that the invoice is for." }),
  amount: MoneyText.meta({ description: "The invoice's total, as a decimal." }),
  currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
  status: InvoiceStatus.meta({ description: "`open` until the wallet has paid it." }),
});

export const Invoice = InvoiceBase.extend({
  download_url: z.string().meta({
    description:
      "The address of the invoice's PDF. The address works for an hour without a credential, and shows the invoice in its current state.",
  }),
}).meta({ id: "Invoice", description: "The charges of an account for a month or a part of a month." });

export const StoredInvoice = InvoiceBase.extend({
  account_id: z.string(),
  /** The customer's name when the invoice was made. */
  customer_name: z.string(),
  lines: z.array(Line),
  /** `amount` in minor units. */
  total: z.int(),
  paid_at: z.string().optional(),
  /** The seller when the invoice was made. Absent on the oldest invoices, which show the present seller. */
  seller: z.object({ name: z.string(), lines: z.array(z.string()) }).optional(),
  /** The key that signs the addresses of its PDF. Absent on the oldest invoices until they are first listed. */
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

/**
 * The number of an invoice, from the account's id and its place among the account's invoices, from 1:
 * `7c9e6679-000042`.
 */
export const numberOf = (accountId: string, place: number): string =>
  `${accountId.slice(0, 8)}-${String(place).padStart(6, "0")}`;

/** The document of an invoice in its current state. */
export const documentOf = (invoice: StoredInvoice): InvoiceDocument => ({
  number: invoice.number,
  issuedAt: invoice.date,
  periodStart: invoice.period_start,
  // The day after the last one.
  periodEnd: plusDays(invoice.period_end, 1),
  status: invoice.status,
  seller: invoice.seller ?? seller,
  customer: { name: invoice.customer_name, accountId: invoice.account_id },
  lines: invoice.lines.map(({ description, quantity, unit_price, amount }) => ({
    description,
    quantity,
    unitPrice: money(unit_price),
    amount,
  })),
  total: invoice.total,
  currency: invoice.currency,
  ...(invoice.paid_at === undefined ? {} : { paidAt: invoice.paid_at }),
});
