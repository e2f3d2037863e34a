import { expect, test } from "vitest";
import * as z from "zod";

import { type InvoiceDocument, renderInvoice } from "../../../../shared/billing/invoices/pdf.ts";
import { ProfileMembers } from "../../../../shared/wallet/profile.ts";
import { piecesOf, textsOf } from "../pdf-text.ts";

type Line = InvoiceDocument["lines"][number];

const line = (n: number, given: Partial<Line> = {}): Line => ({
  description: `Line ${n}`,
  quantity: String(n),
  unitPrice: "0.25",
  amount: 25 * n,
  ...given,
});

const many = (count: number): Line[] => Array.from({ length: count }, (_, index) => line(index + 1));

function invoiceOf(lines: Line[], given: Partial<InvoiceDocument> = {}): InvoiceDocument {
  return {
    title: "Invoice",
    number: "7c9e6679-000042",
    issuedAt: "2026-02-01T00:10:00Z",
    periodStart: "2026-01-01",
    periodEnd: "2026-02-01",
    status: "open",
    seller: { name: "Hosted Mail", lines: ["1 Example Street", "Exampletown"] },
    customer: { name: "Example Ltd", lines: [], accountId: "7c9e6679-7425-40de-944b-e07fc1f90ae7" },
    lines,
    total: lines.reduce((sum, { amount }) => sum + amount, 0),
    vat: [],
    prepaid: 0,
    notes: [],
    currency: "USD",
    ...given,
  };
}

/**
 * The text that the finished PDF shows for a description. The description is after the heading `Amount`. The quantity
 * and the unit price, 0.25, are after the description.
 */
async function shown(description: string): Promise<string> {
  const [texts = []] = textsOf(await renderInvoice(invoiceOf([line(1, { description })])));
  return texts.slice(texts.indexOf("Amount") + 1, texts.indexOf("0.25") - 1).join("");
}

test("an invoice names the seller, the customer, the items, the dates and the amounts", async () => {
  const lines = [line(1), line(2, { amount: 123_456_789 })];
  const [texts = [], ...others] = textsOf(await renderInvoice(invoiceOf(lines)));
  expect(others).toEqual([]);
  const expected = [
    ["Invoice", "OPEN"],
    ["Hosted Mail", "1 Example Street", "Exampletown"],
    ["Billed to", "Example Ltd", "Account 7c9e6679-7425-40de-944b-e07fc1f90ae7"],
    ["Number", "7c9e6679-000042"],
    ["Issued", "1 February 2026"],
    ["Period", "1 January 2026 – 31 January 2026"],
    ["Description", "Quantity", "Unit price", "Amount"],
    ["Line 1", "1", "0.25", "0.25"],
    ["Line 2", "2", "0.25", "1,234,567.89"],
    ["Total", "USD 1,234,568.14"],
    ["Invoice 7c9e6679-000042 · Hosted Mail", "Page 1 of 1"],
  ];
  expect(texts).toEqual(expected.flat());
});

test("an invoice shows PAID and the day of the payment only if its status is `paid`", async () => {
  const paidAt = "2026-02-03T23:59:59Z";
  const [paid = []] = textsOf(await renderInvoice(invoiceOf(many(1), { status: "paid", paidAt })));
  expect(paid).toEqual(expect.arrayContaining(["PAID", "Paid", "3 February 2026"]));
  const [voided = []] = textsOf(await renderInvoice(invoiceOf(many(1), { status: "void", paidAt })));
  expect(voided).toContain("VOID");
  expect(voided).not.toContain("Paid");
});

test("a period of one day is shown as this day", async () => {
  const [texts = []] = textsOf(await renderInvoice(invoiceOf(many(1), { periodEnd: "2026-01-02" })));
  expect(texts[texts.indexOf("Period") + 1]).toBe("1 January 2026");
});

test.each([
  ["a total that is not the sum", { total: 26 }, "add up to 25, but its total is 26"],
  ["a part of a cent", { lines: [line(1, { amount: 0.5 })], total: 0.5 }, "not an amount"],
  ["a period without a day", { periodEnd: "2026-01-01" }, "has no days"],
  ["a text that is not a day", { periodStart: "soon" }, "has no days"],
  ["a text that is not a time", { issuedAt: "soon" }, "Invalid time"],
])("an invoice with %s is refused", async (_what, given, message) => {
  await expect(renderInvoice(invoiceOf(many(1), given))).rejects.toThrow(message);
});

test("all amounts end at the same right edge, negative amounts too", async () => {
  const amounts = [1, 1_000, 100_000, -2_500];
  const lines = amounts.map((amount, n) => line(n, { amount, unitPrice: "9" }));
  const [pieces = []] = piecesOf(await renderInvoice(invoiceOf(lines)));
  const xOf = (text: string) => pieces.find((piece) => piece.text === text)?.x ?? Number.NaN;
  // All digits have the same width. So an amount with one more digit begins one width farther left. A width is the font
  // size, 9.5 points, times the width in em.
  const digitWidth = xOf("0.01") - xOf("10.00");
  const groupWidth = xOf("10.00") - xOf("1,000.00");
  const signWidth = xOf("10.00") - xOf("-25.00");
  expect(digitWidth).toBeCloseTo(9.5 * 0.572, 2);
  expect(groupWidth).toBeCloseTo(2 * digitWidth + 9.5 * 0.268, 1);
  expect(signWidth).toBeCloseTo(9.5 * 0.322, 1);
});

test("200 lines take several pages, and each page has the head of the table, lines, and its page number", async () => {
  const lines = many(200);
  const pages = textsOf(await renderInvoice(invoiceOf(lines)));
  expect(pages.length).toBeGreaterThan(3);
  for (const [index, texts] of pages.entries()) {
    expect(texts.filter((text) => text === "Unit price")).toHaveLength(1);
    expect(texts.at(-1)).toBe(`Page ${index + 1} of ${pages.length}`);
    expect(texts.some((text) => text.startsWith("Line "))).toBe(true);
  }
  expect(pages.flat().filter((text) => text.startsWith("Line "))).toEqual(lines.map(({ description }) => description));
  expect(pages.map((texts) => texts.includes("Total"))).toEqual(pages.map((_, index) => index === pages.length - 1));
});

test("no text leaves its page or reaches the foot, and the last line is on the page of the total, for 1 to 35 lines", async () => {
  const isFoot = (text: string) => text.startsWith("Page ") || text.startsWith("Invoice 7c9e");
  for (let count = 1; count <= 35; count++) {
    const long = line(1, { description: "much ado about nothing ".repeat(40) });
    const lines = count % 5 === 0 ? [...many(count), long] : many(count);
    const pages = piecesOf(await renderInvoice(invoiceOf(lines)));
    for (const { text, x, y } of pages.flat()) {
      expect([text, x >= 56, x < 539, isFoot(text) ? y > 36 : y > 68, y < 800]).toEqual([text, true, true, true, true]);
    }
    const last = lines.at(-1)?.description.slice(0, 20) ?? "none";
    expect(pages.at(-1)?.some(({ text }) => text.startsWith(last))).toBe(true);
    expect(pages.at(-1)?.some(({ text }) => text === "Total")).toBe(true);
  }
});

test("the same invoice gives the same bytes", async () => {
  const invoice = invoiceOf(many(60));
  const first = await renderInvoice(invoice);
  expect((await renderInvoice(structuredClone(invoice))).equals(first)).toBe(true);
  expect((await renderInvoice({ ...invoice, number: "7c9e6679-000043" })).equals(first)).toBe(false);
});

test.each([
  ["Latin", "Łódź Ærø Ẽ ß İstanbul ŐŰ"],
  ["Greek", "Ελληνικά ἄλφα"],
  ["Cyrillic", "Пример ЉЊ Ґ"],
  ["Devanagari", "नमक"],
  ["money and punctuation", "€ £ ₴ ₹ “quoted” – … №"],
])("%s can be read from the PDF as it was written", async (_what, text) => {
  expect(await shown(text)).toBe(text);
});

test.each([
  ["Hebrew", "משה Ltd", "��� Ltd"],
  ["Chinese and Japanese", "日本 株式会社", "�� ����"],
  ["a family of one emoji", "👨‍👩‍👧‍👦 & ❤️", "� & �"],
  ["control characters", "a\u0000b\u001bc\u007f", "a�b�c�"],
  ["half a character", "a\u{D83D}b", "a�b"],
])("%s: each character that the font lacks is shown as �", async (_what, text, expected) => {
  expect(await shown(text)).toBe(expected);
});

test.each(["name", "address_lines", "city"] as const)(
  "the description of the field %s says which letters the PDF can print",
  (member) => {
    expect(JSON.stringify(z.toJSONSchema(ProfileMembers.shape[member]))).toContain(
      "Latin, Greek, Cyrillic or Devanagari letters",
    );
  },
);

test("spaces of all kinds become one space, decomposed letters are composed, and direction marks are removed", async () => {
  expect(await shown(" a\t\r\n b\u00a0\u2003c ")).toBe("a b c");
  expect(await shown("Zu\u0308rich")).toBe("Zürich");
  expect(await shown("\u202egnp.exe\u202c\u200b\u2066")).toBe("gnp.exe");
});

test.each([["W".repeat(255)], ["Ж".repeat(255)], ["ab ".repeat(85).trim()], ["日".repeat(255)], [""]])(
  "a name of up to 255 characters stays whole",
  async (name) => {
    const expected = name.replaceAll("日", "�").replaceAll(" ", "");
    const customer = { name, lines: [], accountId: "id" };
    const [texts = []] = textsOf(await renderInvoice(invoiceOf(many(1), { customer })));
    const written = texts.slice(texts.indexOf("Billed to") + 1, texts.indexOf("Account id")).join("");
    expect(written.replaceAll(" ", "")).toBe(expected);
    expect((await shown(name)).replaceAll(" ", "")).toBe(expected);
  },
);
