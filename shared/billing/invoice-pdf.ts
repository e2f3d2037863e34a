import { invoiceFonts, legible } from "./invoice-fonts.ts";
import { drawFooters, drawHead, drawLines, type Page } from "./invoice-layout.ts";

export type InvoiceDocument = {
  number: string;
  /** RFC 3339. */
  issuedAt: string;
  /** Days: the first one, and the one after the last. */
  periodStart: string;
  periodEnd: string;
  status: "open" | "paid" | "void";
  seller: { name: string; lines: string[] };
  customer: { name: string; accountId: string };
  /** Amounts are in minor units. */
  lines: { description: string; quantity: string; unitPrice: string; amount: number }[];
  total: number;
  currency: string;
  /** RFC 3339. */
  paidAt?: string;
};

function check({ number, lines, total, periodStart, periodEnd }: InvoiceDocument): void {
  const sum = lines.reduce((before, { amount }) => before + amount, 0);
  if (sum !== total) throw new Error(`The lines of invoice ${number} add up to ${sum}, but its total is ${total}.`);
  if (!(Date.parse(periodStart) < Date.parse(periodEnd))) throw new Error(`Invoice ${number} is for no day.`);
}

/**
 * An invoice as a PDF of A4 pages; the same invoice gives the same bytes. Characters that its fonts (Latin,
 * Greek, Cyrillic, Devanagari) have no shape for become U+FFFD. Throws when the total is not the sum of the
 * lines, and for dates and amounts that are none. The first one loads pdfkit and the fonts.
 */
export async function renderInvoice(invoice: InvoiceDocument): Promise<Buffer> {
  check(invoice);
  const [{ default: PDFDocument }, { regular, bold }] = await Promise.all([import("pdfkit"), invoiceFonts()]);
  const document = new PDFDocument({
    size: "A4",
    margin: 0,
    bufferPages: true,
    lang: "en",
    // Otherwise pdfkit looks for Helvetica's metrics beside itself, where a bundle has none.
    font: "",
    info: {
      Title: `Invoice ${legible(invoice.number, regular)}`,
      Author: legible(invoice.seller.name, regular),
      // From these pdfkit also makes the file's identifier.
      CreationDate: new Date(invoice.issuedAt),
      ModDate: new Date(invoice.paidAt ?? invoice.issuedAt),
    },
  });
  document.registerFont("regular", regular).registerFont("bold", bold);
  const page: Page = { document, legible: (text) => legible(text, regular) };
  drawLines(page, invoice, drawHead(page, invoice));
  drawFooters(page, invoice);
  document.end();
  const chunks: Uint8Array[] = [];
  for await (const chunk of document) chunks.push(chunk);
  return Buffer.concat(chunks);
}
