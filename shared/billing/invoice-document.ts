import { plusDays } from "../core/days.ts";
import { money } from "../core/money.ts";
import { seller } from "../wallet/catalogue.ts";
import type { InvoiceDocument } from "./invoice-pdf.ts";
import type { StoredInvoice } from "./invoice.ts";

/** The document of an invoice as it is now. */
export const documentOf = (invoice: StoredInvoice): InvoiceDocument => ({
  number: invoice.number,
  issuedAt: invoice.date,
  periodStart: invoice.period_start,
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
