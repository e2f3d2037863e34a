import { createHmac, timingSafeEqual } from "node:crypto";

import type * as z from "zod";

import { notFound, Problem } from "../../core/errors.ts";
import { money } from "../../core/money.ts";
import { spanOf, type OrderedPage } from "../../core/page.ts";
import { readRows, aheadOfRows } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader, Table } from "../../table/table.ts";
import { lineView } from "../charges.ts";
import { vatView } from "./amounts.ts";
import {
  creditedOf,
  creditNoteKey,
  creditNotesOf,
  creditNotesOfInvoice,
  StoredCreditNote,
  type CreditNote,
  type CreditNoteDetail,
} from "./credit-note.ts";
import {
  customerOf,
  dueOf,
  invoiceKey,
  invoicesOf,
  newDownloadKey,
  notesOf,
  sellerOf,
  StoredInvoice,
  type Invoice,
  type InvoiceDetail,
} from "./invoice.ts";
import { partyView } from "./parties.ts";

/** How long the address of a PDF is valid, in seconds. */
const downloadSeconds = 3_600;

/** The signed content of an address: the account, the invoice or credit note, and the expiry in seconds since 1970. */
type LinkContent = { accountId: string; documentId: string; expires: number };

const linkSignature = (downloadKey: string, { accountId, documentId, expires }: LinkContent): Buffer =>
  createHmac("sha256", downloadKey).update(`${accountId}/${documentId}/${expires}`).digest();

type InvoiceWithKey = StoredInvoice & { download_key: string };
type Downloadable = { account_id: string; id: string; download_key: string };

function urlOf(
  { account_id: accountId, id: documentId, download_key }: Downloadable,
  address: string,
  now: Date,
  family = "invoices",
): string {
  const expires = Math.floor(now.getTime() / 1_000) + downloadSeconds;
  const signature = linkSignature(download_key, { accountId, documentId, expires }).toString("base64url");
  const query = new URLSearchParams({ expires: String(expires), signature });
  return `${address}/v1/public/accounts/${accountId}/billing/${family}/${documentId}/pdf?${query.toString()}`;
}

/**
 * Returns an invoice with its download key. The first version of the product stored invoices without a key. If the
 * invoice has no key, this function stores a new key.
 */
async function withDownloadKey(invoice: StoredInvoice, table: Table): Promise<InvoiceWithKey> {
  const { download_key, account_id, id } = invoice;
  if (download_key !== undefined) return { ...invoice, download_key };
  return table.commit(async () => {
    const key = invoiceKey(account_id, id);
    const current = await table.get(key, StoredInvoice);
    if (current?.id !== id) throw new Error(`There is no invoice ${id}.`);
    const { download_key: storedKey, version } = current;
    if (storedKey !== undefined) return { value: { ...current, download_key: storedKey }, writes: [] };
    const after = { download_key: newDownloadKey(), version: version + 1 };
    return { value: { ...current, ...after }, writes: [{ update: key, set: after, if: { version } }] };
  });
}

type ListedInvoice = z.input<typeof Invoice>;
type LinkContext = { table: Table; now: () => Date; address: string };

/** The items that `listInvoices` reads. */
export const aheadOfInvoices = (accountId: string, page: OrderedPage): Ahead =>
  aheadOfRows(invoicesOf(accountId), spanOf(page));

/**
 * A page of the account's invoices, each with the address of its PDF. The address begins with `address`, and is valid
 * for an hour. Invoices without a download key get one in `table`.
 */
export async function listInvoices(
  accountId: string,
  page: OrderedPage,
  reader: Reader,
  { table, now, address }: LinkContext,
): Promise<{ items: ListedInvoice[]; total: number }> {
  const { rows, total } = await readRows(reader, invoicesOf(accountId), spanOf(page));
  const items = rows.map(async (row): Promise<ListedInvoice> => {
    const invoice = await withDownloadKey(StoredInvoice.parse(row), table);
    return { ...invoice, download_url: urlOf(invoice, address, now()) };
  });
  return { items: await Promise.all(items), total };
}

/**
 * An invoice with its lines and the address of its PDF, as in `listInvoices`. Throws 404 if the account does not have
 * the invoice.
 */
export async function getInvoice(
  accountId: string,
  invoiceId: string,
  reader: Reader,
  { table, now, address }: LinkContext,
): Promise<z.input<typeof InvoiceDetail>> {
  const found = await reader.get(invoiceKey(accountId, invoiceId), StoredInvoice);
  if (found?.id !== invoiceId) throw notFound();
  const invoice = await withDownloadKey(found, table);
  return {
    ...invoice,
    lines: invoice.lines.map(lineView),
    vat: (invoice.vat ?? []).map(vatView),
    paid_before: money(invoice.prepaid ?? 0),
    amount_due: money(dueOf(invoice)),
    credit_notes: await creditNotesOfInvoice(reader, invoice),
    credited_amount: money(creditedOf(invoice)),
    remaining_amount: money(invoice.total - creditedOf(invoice)),
    seller: partyView(sellerOf(invoice)),
    buyer: partyView(customerOf(invoice)),
    notes: notesOf(invoice),
    paid_at: invoice.paid_at ?? null,
    download_url: urlOf(invoice, address, now()),
  };
}

/**
 * The invoice of a PDF's address. Throws 403 `forbidden` for an address that has expired, has a wrong signature, or
 * names no invoice.
 */
export async function invoiceOfLink(
  table: Reader,
  link: LinkContent & { signature: string },
  now: Date,
): Promise<StoredInvoice> {
  const invoice = await table.get(invoiceKey(link.accountId, link.documentId), StoredInvoice);
  if (invoice?.id !== link.documentId || invoice.download_key === undefined) throw invalidLink();
  requireSigned(invoice.download_key, link, now);
  return invoice;
}

function requireSigned(downloadKey: string, link: LinkContent & { signature: string }, now: Date): void {
  const [actual, expected] = [Buffer.from(link.signature, "base64url"), linkSignature(downloadKey, link)];
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) throw invalidLink();
  if (now.getTime() >= link.expires * 1_000) throw invalidLink();
}

/** The credit note of a PDF's address. Throws as `invoiceOfLink` does. */
export async function creditNoteOfLink(
  table: Reader,
  link: LinkContent & { signature: string },
  now: Date,
): Promise<StoredCreditNote> {
  const note = await table.get(creditNoteKey(link.accountId, link.documentId), StoredCreditNote);
  if (note?.id !== link.documentId) throw invalidLink();
  requireSigned(note.download_key, link, now);
  return note;
}

/** The items that `listCreditNotes` reads. */
export const aheadOfCreditNotes = (accountId: string, page: OrderedPage): Ahead =>
  aheadOfRows(creditNotesOf(accountId), spanOf(page));

const creditNoteUrl = (note: StoredCreditNote, { address, now }: Omit<LinkContext, "table">): string =>
  urlOf(note, address, now(), "credit-notes");

/** A page of the account's credit notes, with the addresses of their PDFs. */
export async function listCreditNotes(
  accountId: string,
  page: OrderedPage,
  reader: Reader,
  links: Omit<LinkContext, "table">,
): Promise<{ items: z.input<typeof CreditNote>[]; total: number }> {
  const { rows, total } = await readRows(reader, creditNotesOf(accountId), spanOf(page));
  const items = rows.map((row) => StoredCreditNote.parse(row));
  return { items: items.map((note) => ({ ...note, download_url: creditNoteUrl(note, links) })), total };
}

/**
 * A credit note with its lines and the address of its PDF. Throws 404 if the account does not have the credit note.
 */
export async function getCreditNote(
  accountId: string,
  id: string,
  reader: Reader,
  links: Omit<LinkContext, "table">,
): Promise<z.input<typeof CreditNoteDetail>> {
  const note = await reader.get(creditNoteKey(accountId, id), StoredCreditNote);
  if (note?.id !== id) throw notFound();
  return {
    ...note,
    lines: note.lines.map(lineView),
    vat: (note.vat ?? []).map(vatView),
    seller: partyView(note.seller),
    buyer: partyView(customerOf(note)),
    notes: notesOf(note),
    download_url: creditNoteUrl(note, links),
  };
}

const invalidLink = (): Problem =>
  new Problem("forbidden", "This download address has expired or is not valid. List the documents to get a new one.");
