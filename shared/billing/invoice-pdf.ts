import { money } from "../core/money.ts";
import { invoiceFonts, legible } from "./invoice-fonts.ts";

const days = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });

/** Formats the day in UTC, as "3 January 2026". Throws a RangeError for an invalid time. */
const invoiceDay = (time: string | number): string => days.format(new Date(time));

/** Formats a period from its first day to its last; `periodEnd` is the day after the last. */
function invoicePeriod({ periodStart, periodEnd }: { periodStart: string; periodEnd: string }): string {
  const [first, last] = [invoiceDay(periodStart), invoiceDay(Date.parse(periodEnd) - 1)];
  return first === last ? first : `${first} – ${last}`;
}

/** Minor units in groups of three: 123456789 → "1,234,567.89". */
const groupedMoney = (minor: number): string => money(minor).replaceAll(/\B(?=(?:\d{3})+\.)/g, ",");

/** The document to draw on, and the function that makes a text fit for its fonts. All lengths are in points. */
type InvoicePage = { document: PDFKit.PDFDocument; legible: (text: string) => string };

const left = 56;
const right = 539;
const width = right - left;
const top = 56;
/** The lower end of the table. The footer is below. */
const bottom = 770;

const ink = "#1c2430";
const faint = "#5d6875";
const rule = "#dfe4ea";
const shade = "#f3f5f8";

const marks = {
  paid: { text: "PAID", color: "#1a7f37" },
  open: { text: "OPEN", color: "#b25000" },
  void: { text: "VOID", color: faint },
};

type Box = { x: number; y: number; width: number };
type Style = {
  size?: number;
  font?: "regular" | "bold";
  color?: string;
  align?: "left" | "right" | "center";
  /** The number of lines after which a text ends with an ellipsis. */
  mostLines?: number;
};

/** Returns the height of a text, and sets its font. */
function measure({ document, legible }: InvoicePage, text: string, width: number, style: Style): number {
  const { size = 9.5, font = "regular", mostLines = 12 } = style;
  document.font(font).fontSize(size);
  const lineHeight = document.currentLineHeight(true);
  return (
    Math.max(1, Math.min(Math.round(document.heightOfString(legible(text), { width }) / lineHeight), mostLines)) *
    lineHeight
  );
}

/** Draws a text and returns where it ends. */
function write(page: InvoicePage, text: string, { x, y, width }: Box, style: Style = {}): number {
  const { color = ink, align = "left" } = style;
  const height = measure(page, text, width, style);
  // Without the tolerance a last line that just fits would count as one too many.
  const box = { width, height: height + 0.5, align, ellipsis: true };
  page.document.fillColor(color).text(page.legible(text), x, y, box);
  return y + height;
}

function line({ document }: InvoicePage, y: number, color = rule, thickness = 0.75): void {
  document.moveTo(left, y).lineTo(right, y).lineWidth(thickness).strokeColor(color).stroke();
}

function drawMark(page: InvoicePage, status: InvoiceDocument["status"], y: number): number {
  const { text, color } = marks[status];
  const size = { width: 50, height: 18 };
  page.document.roundedRect(right - size.width, y, size.width, size.height, 3).fill(color);
  write(
    page,
    text,
    { x: right - size.width, y: y + 3, width: size.width },
    { size: 8.5, font: "bold", color: "#ffffff", align: "center" },
  );
  return y + size.height;
}

/** Draws the seller, the customer and the dates of an invoice, and returns where they end. */
function drawHead(page: InvoicePage, invoice: InvoiceDocument): number {
  const { seller, customer, status, paidAt } = invoice;
  const title = write(
    page,
    "Invoice",
    { x: right - 160, y: top - 8, width: 160 },
    { size: 22, font: "bold", align: "right" },
  );
  const mark = drawMark(page, status, title + 4);
  let y = write(page, seller.name, { x: left, y: top, width: 300 }, { size: 13, font: "bold", mostLines: 4 }) + 2;
  for (const text of seller.lines.slice(0, 8))
    y = write(page, text, { x: left, y, width: 300 }, { size: 9, color: faint, mostLines: 2 });
  const start = Math.max(y, mark) + 34;

  y = write(page, "Billed to", { x: left, y: start, width: 210 }, { size: 8.5, color: faint }) + 3;
  y = write(page, customer.name, { x: left, y, width: 210 }, { size: 11, font: "bold", mostLines: 14 }) + 3;
  const billed = write(page, `Account ${customer.accountId}`, { x: left, y, width: 210 }, { size: 8.5, color: faint });

  const facts: [string, string][] = [
    ["Number", invoice.number],
    ["Issued", invoiceDay(invoice.issuedAt)],
    ["Period", invoicePeriod(invoice)],
    ...(status !== "paid" || paidAt === undefined ? [] : [["Paid", invoiceDay(paidAt)] satisfies [string, string]]),
  ];
  y = start;
  for (const [label, value] of facts) {
    write(page, label, { x: 300, y, width: 45 }, { color: faint });
    y = write(page, value, { x: 345, y, width: right - 345 }, { align: "right" }) + 3;
  }
  return Math.max(billed, y) + 26;
}

const columns = [
  { title: "Description", x: left + 8, width: 227, align: "left" },
  { title: "Quantity", x: 299, width: 74, align: "right" },
  { title: "Unit price", x: 381, width: 68, align: "right" },
  { title: "Amount", x: 457, width: right - 8 - 457, align: "right" },
] as const;

const padding = 5;

function drawRow(page: InvoicePage, cells: readonly string[], y: number, style: Style = {}): void {
  for (const [index, { x, width, align }] of columns.entries()) {
    write(page, cells[index] ?? "", { x, y: y + padding, width }, { ...style, align });
  }
}

function drawTableHead(page: InvoicePage, y: number): number {
  const style = { size: 8.5, font: "bold", color: faint } as const;
  const titles = columns.map(({ title }) => title);
  const height = measure(page, "Amount", width, style) + 2 * padding;
  page.document.rect(left, y, width, height).fill(shade);
  drawRow(page, titles, y, style);
  return y + height;
}

const totalHeight = 44;

/** Draws the table from `y` on, over as many pages as it takes, and the total below it. */
function drawLines(page: InvoicePage, { lines, total, currency }: InvoiceDocument, y: number): void {
  y = drawTableHead(page, y);
  for (const [index, { description, quantity, unitPrice, amount }] of lines.entries()) {
    const cells = [description, quantity, unitPrice, groupedMoney(amount)];
    const heights = columns.map(({ width }, column) => measure(page, cells[column] ?? "", width, {}));
    const height = Math.max(...heights) + 2 * padding;
    // The total never stands on its own page.
    const needed = height + (index === lines.length - 1 ? totalHeight : 0);
    if (y + needed > bottom) {
      page.document.addPage();
      y = drawTableHead(page, top);
    }
    drawRow(page, cells, y);
    y += height;
    line(page, y);
  }
  line(page, y, ink, 1);
  const style = { size: 12, font: "bold" } as const;
  write(page, "Total", { x: left + 8, y: y + 10, width: 100 }, style);
  write(
    page,
    `${currency} ${groupedMoney(total)}`,
    { x: 200, y: y + 10, width: right - 8 - 200 },
    { ...style, align: "right" },
  );
}

/** Draws the footers, after all pages were drawn. */
function drawFooters(page: InvoicePage, { number, seller }: InvoiceDocument): void {
  const { count } = page.document.bufferedPageRange();
  const style = { size: 8, color: faint, mostLines: 1 } as const;
  for (let index = 0; index < count; index++) {
    page.document.switchToPage(index);
    line(page, 788);
    write(page, `Invoice ${number} · ${seller.name}`, { x: left, y: 794, width: 380 }, style);
    write(page, `Page ${index + 1} of ${count}`, { x: right - 100, y: 794, width: 100 }, { ...style, align: "right" });
  }
}

export type InvoiceDocument = {
  number: string;
  /** RFC 3339. */
  issuedAt: string;
  /** The first day, and the day after the last one. */
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

function checkDocument({ number, lines, total, periodStart, periodEnd }: InvoiceDocument): void {
  const sum = lines.reduce((before, { amount }) => before + amount, 0);
  if (sum !== total) throw new Error(`The lines of invoice ${number} add up to ${sum}, but its total is ${total}.`);
  if (!(Date.parse(periodStart) < Date.parse(periodEnd)))
    throw new Error(`The period of invoice ${number} has no days.`);
}

/**
 * Renders an invoice as a PDF of A4 pages; the same invoice gives the same bytes.
 * - Characters for which its fonts (Latin, Greek, Cyrillic, Devanagari) have no shape become U+FFFD.
 * - Throws if the total is not the sum of the lines, and for invalid dates and amounts.
 * - The first call loads pdfkit and the fonts.
 */
export async function renderInvoice(invoice: InvoiceDocument): Promise<Buffer> {
  checkDocument(invoice);
  const [{ default: PDFDocument }, { regular, bold }] = await Promise.all([import("pdfkit"), invoiceFonts()]);
  const document = new PDFDocument({
    size: "A4",
    margin: 0,
    bufferPages: true,
    lang: "en",
    // For its default font, pdfkit would read a file that the bundle does not have.
    font: "",
    info: {
      Title: `Invoice ${legible(invoice.number, regular)}`,
      Author: legible(invoice.seller.name, regular),
      // pdfkit also makes the file's identifier from these.
      CreationDate: new Date(invoice.issuedAt),
      ModDate: new Date(invoice.paidAt ?? invoice.issuedAt),
    },
  });
  document.registerFont("regular", regular).registerFont("bold", bold);
  const page: InvoicePage = { document, legible: (text) => legible(text, regular) };
  drawLines(page, invoice, drawHead(page, invoice));
  drawFooters(page, invoice);
  document.end();
  const chunks: Uint8Array[] = [];
  for await (const chunk of document) chunks.push(chunk);
  return Buffer.concat(chunks);
}
