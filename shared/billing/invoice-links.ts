import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

import type * as z from "zod";

import { Problem } from "../core/errors.ts";
import { spanOf, type PageQuery } from "../core/page.ts";
import { readRows, aheadOfRows } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader, Table } from "../table/table.ts";
import { invoiceKey, invoicesOf, StoredInvoice, type Invoice } from "./invoice.ts";

/** The number of seconds for which the address of a PDF is valid. */
const downloadSeconds = 3_600;

/** A new key to sign the addresses of an invoice's PDF: 256 random bits. */
export const newDownloadKey = (): string => randomBytes(32).toString("base64url");

/** The signed content of an address: the account, the invoice, and the expiry in seconds since 1970. */
type LinkContent = { accountId: string; invoiceId: string; expires: number };

const linkSignature = (downloadKey: string, { accountId, invoiceId, expires }: LinkContent): Buffer =>
  createHmac("sha256", downloadKey).update(`${accountId}/${invoiceId}/${expires}`).digest();

type Linked = StoredInvoice & { download_key: string };

function urlOf({ account_id: accountId, id: invoiceId, download_key }: Linked, address: string, now: Date): string {
  const expires = Math.floor(now.getTime() / 1_000) + downloadSeconds;
  const signature = linkSignature(download_key, { accountId, invoiceId, expires }).toString("base64url");
  const query = new URLSearchParams({ expires: String(expires), signature });
  return `${address}/v1/public/accounts/${accountId}/billing/invoices/${invoiceId}/pdf?${query.toString()}`;
}

/**
 * Returns an invoice with its signing key. An invoice that the first version stored without a key gets one when it is
 * first listed.
 */
async function withDownloadKey(invoice: StoredInvoice, table: Table): Promise<Linked> {
  const { download_key, account_id, id } = invoice;
  if (download_key !== undefined) return { ...invoice, download_key };
  return table.commit(async () => {
    const key = invoiceKey(account_id, id);
    const current = await table.get(key, StoredInvoice);
    if (current?.id !== id) throw new Error(`There is no invoice ${id}.`);
    const { download_key: known, version } = current;
    if (known !== undefined) return { value: { ...current, download_key: known }, writes: [] };
    const after = { download_key: newDownloadKey(), version: version + 1 };
    return { value: { ...current, ...after }, writes: [{ update: key, set: after, if: { version } }] };
  });
}

type Listed = z.input<typeof Invoice>;
type LinkContext = { table: Table; now: () => Date; address: string };

/** The items that `listInvoices` reads. */
export const aheadOfInvoices = (accountId: string, page: PageQuery): Ahead =>
  aheadOfRows(invoicesOf(accountId), { ...spanOf(page), order: "newest" });

/**
 * A page of the account's invoices, newest first. Each has the address of its PDF, valid for an hour, below `address`.
 * `table` stores the keys of invoices that have none.
 */
export async function listInvoices(
  accountId: string,
  page: PageQuery,
  reader: Reader,
  { table, now, address }: LinkContext,
): Promise<{ items: Listed[]; total: number }> {
  const { rows, total } = await readRows(reader, invoicesOf(accountId), { ...spanOf(page), order: "newest" });
  const items = rows.map(async (row): Promise<Listed> => {
    const invoice = await withDownloadKey(StoredInvoice.parse(row), table);
    return { ...invoice, download_url: urlOf(invoice, address, now()) };
  });
  return { items: await Promise.all(items), total };
}

/** The invoice of a PDF's address. Throws 403 `forbidden` for an address that expired or was not signed here. */
export async function invoiceOfLink(
  table: Reader,
  link: LinkContent & { signature: string },
  now: Date,
): Promise<StoredInvoice> {
  const invoice = await table.get(invoiceKey(link.accountId, link.invoiceId), StoredInvoice);
  if (invoice?.id !== link.invoiceId || invoice.download_key === undefined) throw invalidLink();
  const [actual, expected] = [Buffer.from(link.signature, "base64url"), linkSignature(invoice.download_key, link)];
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) throw invalidLink();
  if (now.getTime() >= link.expires * 1_000) throw invalidLink();
  return invoice;
}

const invalidLink = (): Problem =>
  new Problem("forbidden", "This download address has expired or is not valid. List the invoices to get a new one.");
