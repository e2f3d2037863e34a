import { money } from "../../core/money.ts";
import { invoiceFonts, legible } from "./fonts.ts";

const days = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });

/** Formats the UTC day of a time, as "3 January 2026". Throws a RangeError for an invalid time. */
const invoiceDay = (time: string | number): string => days.format(new Date(time));

/** Formats a period from its first day to its last day. `periodEnd` is the day after the last day. */
function invoicePeriod({ periodStart, periodEnd }: { periodStart: string; periodEnd: string }): string {
  const [first, last] = [invoiceDay(periodStart), invoiceDay(Date.parse(periodEnd) - 1)];
  return first === last ? first : `${first} – ${last}`;
}

/** Formats minor units with commas: 123456789 → "1,234,567.89". */
const groupedMoney = (minor: number): string => money(minor).replaceAll(/\B(?=(?:\d{3})+\.)/g, ",");

/** The document to draw on, `legible` for the regular font, and the columns of the table. Lengths are in points. */
type InvoicePage = {
  document: PDFKit.PDFDocument;
  legible: (text: string) => string;
  columns: readonly Column[];
};

const left = 56;
const right = 539;
/** The width of the table. */
const contentWidth = right - left;
const top = 56;
/** The lower end of the table, above the footer. */
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
  const { size = 9.5, font = "regular", mostLines = 16 } = style;
  document.font(font).fontSize(size);
  const lineHeight = document.currentLineHeight(true);
  const lines = Math.round(document.heightOfString(legible(text), { width }) / lineHeight);
  return Math.max(1, Math.min(lines, mostLines)) * lineHeight;
}

/** Draws a text, and returns the `y` of its lower end. */
function write(page: InvoicePage, text: string, { x, y, width }: Box, style: Style = {}): number {
  const { color = ink, align = "left" } = style;
  const height = measure(page, text, width, style);
  // Without the tolerance of 0.5, rounding would make pdfkit cut off a last line that just fits.
  const box = { width, height: height + 0.5, align, ellipsis: true };
  page.document.fillColor(color).text(page.legible(text), x, y, box);
  return y + height;
}

function line({ document }: InvoicePage, y: number, color = rule, thickness = 0.75): void {
  document.moveTo(left, y).lineTo(right, y).lineWidth(thickness).strokeColor(color).stroke();
}

/** Draws the status of an invoice as a colored mark at the right edge, and returns the `y` of the mark's lower end. */
function drawMark(page: InvoicePage, status: NonNullable<InvoiceDocument["status"]>, y: number): number {
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

/** Draws the seller, the customer and the dates of an invoice, and returns the `y` of the lower end. */
function drawHead(page: InvoicePage, invoice: InvoiceDocument): number {
  const { seller, customer, status, paidAt, refersTo } = invoice;
  const title = write(
    page,
    invoice.title,
    { x: right - 170, y: top - 8, width: 170 },
    { size: 22, font: "bold", align: "right" },
  );
  const mark = status === undefined ? title : drawMark(page, status, title + 4);
  let y = write(page, seller.name, { x: left, y: top, width: 300 }, { size: 13, font: "bold", mostLines: 4 }) + 2;
  for (const text of [...seller.lines.slice(0, 8), ...vatIdLine(seller)])
    y = write(page, text, { x: left, y, width: 300 }, { size: 9, color: faint, mostLines: 2 });
  const start = Math.max(y, mark) + 34;

  y = write(page, "Billed to", { x: left, y: start, width: 210 }, { size: 8.5, color: faint }) + 3;
  y = write(page, customer.name, { x: left, y, width: 210 }, { size: 11, font: "bold", mostLines: 14 }) + 3;
  for (const text of customer.lines) y = write(page, text, { x: left, y, width: 210 }, { size: 9, mostLines: 2 });
  for (const text of vatIdLine(customer)) y = write(page, text, { x: left, y, width: 210 }, { size: 9 });
  const billed = write(page, `Account ${customer.accountId}`, { x: left, y, width: 210 }, { size: 8.5, color: faint });

  const facts: [string, string][] = [
    ["Number", invoice.number],
    ["Issued", invoiceDay(invoice.issuedAt)],
    ...(refersTo === undefined ? [["Period", invoicePeriod(invoice)] satisfies [string, string]] : []),
    ...(refersTo === undefined ? [] : [["For invoice", refersTo] satisfies [string, string]]),
    ...(status !== "paid" || paidAt === undefined ? [] : [["Paid", invoiceDay(paidAt)] satisfies [string, string]]),
  ];
  y = start;
  for (const [label, value] of facts) {
    write(page, label, { x: 300, y, width: 60 }, { color: faint });
    y = write(page, value, { x: 360, y, width: right - 360 }, { align: "right" }) + 3;
  }
  return Math.max(billed, y) + 26;
}

const vatIdLine = ({ vat_id }: { vat_id?: string | undefined }): string[] =>
  vat_id === undefined ? [] : [`VAT id ${vat_id}`];

type Column = { title: string; x: number; width: number; align: "left" | "right" };

/** The columns of the table, with the rates of the VAT if there are any. */
function columnsOf({ vat }: InvoiceDocument): Column[] {
  const hasVat = vat.length > 0;
  // Without the VAT column, the description is wider, and the next two columns are further to the right.
  const shift = hasVat ? 0 : 34;
  return [
    { title: "Description", x: left + 8, width: 163 + shift, align: "left" },
    { title: "Quantity", x: 235 + shift, width: 104, align: "right" },
    { title: "Unit price", x: 347 + shift, width: 58, align: "right" },
    ...(hasVat ? [{ title: "VAT", x: 411, width: 40, align: "right" } as const] : []),
    { title: "Amount", x: 457, width: right - 8 - 457, align: "right" },
  ];
}

const padding = 5;

function drawRow(page: InvoicePage, cells: readonly string[], y: number, style: Style = {}): void {
  for (const [index, { x, width, align }] of page.columns.entries()) {
    write(page, cells[index] ?? "", { x, y: y + padding, width }, { ...style, align });
  }
}

function drawTableHead(page: InvoicePage, y: number): number {
  const style = { size: 8.5, font: "bold", color: faint } as const;
  const titles = page.columns.map(({ title }) => title);
  const height = measure(page, "Amount", contentWidth, style) + 2 * padding;
  page.document.rect(left, y, contentWidth, height).fill(shade);
  drawRow(page, titles, y, style);
  return y + height;
}

type Sum = { label: string; amount: number; isBold?: boolean };

/** The sums below the table. Without VAT and purchases there is only the total. */
function sumsOf({ vat, total, prepaid, title, lines }: InvoiceDocument): Sum[] {
  const net = lines.reduce((sum, { amount }) => sum + amount, 0);
  return [
    ...(vat.length === 0 ? [] : [{ label: "Subtotal without VAT", amount: net }, ...vat]),
    { label: title === "Invoice" ? "Total" : "Total credited to the wallet", amount: total, isBold: true },
    ...(prepaid === 0
      ? []
      : [
          { label: "Paid from the wallet before", amount: -prepaid },
          { label: "Charged by this invoice", amount: total - prepaid, isBold: true },
        ]),
  ];
}

const sumHeight = 20;
const noteStyle = { size: 8.5, color: faint } as const;
const noteWidth = contentWidth - 16;

/** The height of everything below the table. */
function endHeight(page: InvoicePage, invoice: InvoiceDocument): number {
  const notes = invoice.notes.map((note) => measure(page, note, noteWidth, noteStyle) + 3);
  return sumsOf(invoice).length * sumHeight + 24 + notes.reduce((sum, height) => sum + height, 0);
}

/** Draws the table from `y` on, over as many pages as it needs, and then the sums and the notes. */
function drawLines(page: InvoicePage, invoice: InvoiceDocument, y: number): void {
  const { lines, currency, notes } = invoice;
  const end = endHeight(page, invoice);
  y = drawTableHead(page, y);
  for (const [index, { description, quantity, unitPrice, vat = "", amount }] of lines.entries()) {
    const rate = invoice.vat.length > 0 ? [vat] : [];
    const cells = [description, quantity, unitPrice, ...rate, groupedMoney(amount)];
    const heights = page.columns.map(({ width }, column) => measure(page, cells[column] ?? "", width, {}));
    const height = Math.max(...heights) + 2 * padding;
    // The sums have to be on the page of the last row.
    const needed = height + (index === lines.length - 1 ? end : 0);
    if (y + needed > bottom) {
      page.document.addPage();
      y = drawTableHead(page, top);
    }
    drawRow(page, cells, y);
    y += height;
    line(page, y);
  }
  line(page, y, ink, 1);
  y += 8;
  for (const { label, amount, isBold = false } of sumsOf(invoice)) {
    const style = isBold ? ({ size: 12, font: "bold" } as const) : {};
    write(page, label, { x: left + 8, y, width: 330 }, style);
    const text = `${isBold ? `${currency} ` : ""}${groupedMoney(amount)}`;
    write(page, text, { x: 347, y, width: right - 8 - 347 }, { ...style, align: "right" });
    y += sumHeight;
  }
  y += 8;
  for (const note of notes) y = write(page, note, { x: left + 8, y, width: noteWidth }, noteStyle) + 3;
}

/** Draws the footers. Call this last, because a footer has the number of pages. */
function drawFooters(page: InvoicePage, { title, number, seller }: InvoiceDocument): void {
  const { count } = page.document.bufferedPageRange();
  const style = { size: 8, color: faint, mostLines: 1 } as const;
  for (let index = 0; index < count; index++) {
    page.document.switchToPage(index);
    line(page, 788);
    write(page, `${title} ${number} · ${seller.name}`, { x: left, y: 794, width: 380 }, style);
    write(page, `Page ${index + 1} of ${count}`, { x: right - 100, y: 794, width: 100 }, { ...style, align: "right" });
  }
}

type ShownParty = { name: string; lines: string[]; vat_id?: string | undefined };

/** An invoice or a credit note as it is drawn. Amounts are in minor units. */
export type InvoiceDocument = {
  title: "Invoice" | "Credit note";
  number: string;
  /** The number and the day of the invoice that a credit note corrects. Undefined on an invoice. */
  refersTo?: string;
  /** RFC 3339. */
  issuedAt: string;
  /** The first day of the period. `periodEnd` is the day after the last day. */
  periodStart: string;
  periodEnd: string;
  /** Undefined on a credit note. */
  status?: "open" | "paid" | "void";
  seller: ShownParty;
  customer: ShownParty & { accountId: string };
  /** `amount` is without VAT. `vat` is the rate. */
  lines: { description: string; quantity: string; unitPrice: string; vat?: string; amount: number }[];
  /** The VAT by rate. */
  vat: { label: string; amount: number }[];
  /** The sum of the lines and the VAT. */
  total: number;
  /** The part of the total that the wallet had paid before. */
  prepaid: number;
  /** Sentences below the sums. */
  notes: string[];
  currency: string;
  /** RFC 3339. */
  paidAt?: string;
};

function checkDocument({ number, lines, vat, total, periodStart, periodEnd }: InvoiceDocument): void {
  const sum = [...lines, ...vat].reduce((before, { amount }) => before + amount, 0);
  if (sum !== total) throw new Error(`The lines and the VAT of ${number} add up to ${sum}, but its total is ${total}.`);
  if (!(Date.parse(periodStart) < Date.parse(periodEnd)))
    throw new Error(`The period of invoice ${number} has no days.`);
}

/**
 * Renders an invoice or a credit note as a PDF of A4 pages. The same document gives the same bytes.
 * - The fonts have Latin, Greek, Cyrillic and Devanagari letters. A character without a shape in the fonts becomes
 *   U+FFFD.
 * - Throws if the total is not the sum of the lines and the VAT, and for invalid dates and amounts.
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
    // With a default font, pdfkit would read a file that the bundle does not have.
    font: "",
    info: {
      Title: `${invoice.title} ${legible(invoice.number, regular)}`,
      Author: legible(invoice.seller.name, regular),
      // pdfkit also derives the identifier of the file from this member.
      CreationDate: new Date(invoice.issuedAt),
      ModDate: new Date(invoice.paidAt ?? invoice.issuedAt),
    },
  });
  document.registerFont("regular", regular).registerFont("bold", bold);
  const page = { document, legible: (text: string) => legible(text, regular), columns: columnsOf(invoice) };
  drawLines(page, invoice, drawHead(page, invoice));
  drawFooters(page, invoice);
  document.end();
  const chunks: Uint8Array[] = [];
  for await (const chunk of document) chunks.push(chunk);
  return Buffer.concat(chunks);
}
