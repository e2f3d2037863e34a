import type * as z from "zod";

import { money } from "../money.ts";
import { spanOf, type PageQuery } from "../page.ts";
import type { Files } from "../providers/files.ts";
import type { Context } from "../route.ts";
import { readRows } from "../table/ranked-list.ts";
import type { Table } from "../table/table.ts";
import { seller } from "./catalogue.ts";
import { plusDays } from "./days.ts";
import type { InvoiceDocument } from "./invoice-pdf.ts";
import { invoiceKey, invoicesOf, StoredInvoice, type Invoice } from "./invoice.ts";

const downloadSeconds = 3_600;

/** The document of an invoice as it is now. */
const documentOf = (invoice: StoredInvoice): InvoiceDocument => ({
  number: invoice.number,
  issuedAt: invoice.date,
  periodStart: invoice.period_start,
  periodEnd: plusDays(invoice.period_end, 1),
  status: invoice.status,
  seller,
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

type Work = { table: Table; files: Files; render: (document: InvoiceDocument) => Promise<Buffer> };

/** Makes the PDF of an invoice as it is now and notes where it is. Doing it again makes the same. */
export async function makeInvoiceFile(accountId: string, invoiceId: string, work: Work): Promise<void> {
  const { table, files, render } = work;
  const key = invoiceKey(accountId, invoiceId);
  const invoice = await table.get(key, StoredInvoice);
  if (invoice?.id !== invoiceId) throw new Error(`There is no invoice ${invoiceId}.`);
  const fileKey = `invoices/${accountId}/${invoice.number}-${invoice.status}.pdf`;
  await files.put(fileKey, await render(documentOf(invoice)), "application/pdf");
  // One that was paid meanwhile has an event of its own, and gets another file.
  await table.attempt({ update: key, set: { file_key: fileKey }, if: { status: invoice.status } });
}

type Listed = z.input<typeof Invoice>;

/** A page of the account's invoices, newest first, each with where its PDF can be had for an hour. */
export async function listInvoices(
  accountId: string,
  page: PageQuery,
  { table, now }: Context,
  files: Files,
): Promise<{ items: Listed[]; total: number }> {
  const { rows, total } = await readRows(table, invoicesOf(accountId), { ...spanOf(page), order: "newest" });
  const items = rows.map(async (row): Promise<Listed> => {
    const invoice = StoredInvoice.parse(row);
    const options = { filename: `invoice-${invoice.number}.pdf`, expiresInSeconds: downloadSeconds, now: now() };
    const url = invoice.file_key === undefined ? null : await files.downloadUrl(invoice.file_key, options);
    return { ...invoice, download_url: url };
  });
  return { items: await Promise.all(items), total };
}
