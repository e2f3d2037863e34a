import * as z from "zod";

import { AccountParams } from "../../accounts/account.ts";
import { change, defineKind } from "../../changes/kind.ts";
import type { ChangePlan } from "../../changes/recorder.ts";
import { Id, idWithOrdinal, ordinalOf } from "../../core/ids.ts";
import { divideHalfUp, money, MoneyText, Currency } from "../../core/money.ts";
import { Day, dayOf, plusDays, Timestamp } from "../../core/time.ts";
import { appendRows, rangeOfRows, readList, rowKey, type List } from "../../table/ranked-list.ts";
import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import { noVat, vatOn } from "../../wallet/vat.ts";
import { planBilling, type AccountBilling } from "../book.ts";
import { Line, LineView, totalAmount } from "../charges.ts";
import { payOpen } from "../settle.ts";
import { nationalVat, VatRow, VatView } from "./amounts.ts";
import {
  customerOf,
  documentLine,
  documentVat,
  invoiceKey,
  newDownloadKey,
  notesOf,
  sellerOf,
  seriesOf,
  StoredInvoice,
  type CreditedBy,
} from "./invoice.ts";
import { Party, PartyView } from "./parties.ts";
import type { InvoiceDocument } from "./pdf.ts";

/*
 * Access patterns
 *   credit notes of an account, newest first, and one by the ordinal in its id   ACCOUNT#<id> / LIST#credit_notes
 *   the credit note by the id that the operator chose                            ACCOUNT#<id> / CREDIT_NOTE#<id>
 */
export const creditNotesOf = (accountId: string): List => ({ partition: `ACCOUNT#${accountId}`, name: "credit_notes" });

/**
 * The key of the credit note with this id. An id without an ordinal gets the ordinal 2 ** 40, which no credit note has.
 */
export const creditNoteKey = (accountId: string, id: string): Key =>
  rowKey(creditNotesOf(accountId), ordinalOf(id) ?? 2 ** 40);

const operatorKey = (accountId: string, id: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: `CREDIT_NOTE#${id}` });

const Base = z.object({
  id: Id.meta({ description: "The credit note's id." }),
  number: z.string().meta({ description: "The credit note's number. The numbers of an account have no gaps." }),
  date: Timestamp.meta({ description: "When the credit note was made." }),
  invoice_id: Id.meta({ description: "The id of the invoice that the credit note corrects." }),
  invoice_number: z.string().meta({ description: "The number of the invoice that the credit note corrects." }),
  reason: z.string().meta({ description: "Why the credit note was made." }),
  amount: MoneyText.meta({ description: "The amount that the wallet got back, with VAT." }),
  currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
});

export const CreditNote = Base.extend({
  download_url: z.string().meta({
    description: "The address of the credit note's PDF, which works for an hour without a credential.",
  }),
}).meta({ id: "CreditNote", description: "A correction of an invoice, which gave money back to the wallet." });

export const CreditNoteDetail = CreditNote.extend({
  lines: z.array(LineView).meta({ description: "The credited lines." }),
  vat: z.array(VatView).meta({ description: "The VAT by rate. Empty if no VAT was configured." }),
  seller: PartyView.meta({ description: "The issuer of the credit note." }),
  buyer: PartyView.meta({ description: "The addressee of the credit note." }),
  notes: z.array(z.string()).meta({ description: "The sentences that tax law requires on the credit note." }),
}).meta({ id: "CreditNoteDetail", description: "A credit note with its lines." });

export const CreditNoteParams = AccountParams.extend({
  credit_note_id: Id.meta({ description: "The credit note's id." }),
});

export const StoredCreditNote = Base.extend({
  account_id: z.string(),
  customer_name: z.string(),
  lines: z.array(Line),
  vat: z.array(VatRow).optional(),
  /** `amount` in minor units. */
  total: z.int(),
  invoice_date: Day,
  seller: Party,
  buyer: Party.optional(),
  national_vat: StoredInvoice.shape.national_vat,
  download_key: z.string(),
  version: z.int(),
});
export type StoredCreditNote = z.output<typeof StoredCreditNote>;

export const creditNoteKind = defineKind({
  name: "billing.credit_note",
  verbs: ["created"],
  view: Base,
  seenWith: "billing.view",
});

/** The part of an invoice to credit: an amount with VAT, some lines by their numbers from 1 on, or all that is left. */
export type Credit = { amount?: number; lines?: readonly number[] };

/** The rows of an invoice's VAT. An invoice without VAT counts as one row of its whole total. */
const vatRowsOf = ({ vat, total }: StoredInvoice): VatRow[] => vat ?? [{ ...noVat, net: total, amount: 0 }];

/** The amounts that no credit note has credited yet, by rate. */
const leftOf = (invoice: StoredInvoice): VatRow[] =>
  vatRowsOf(invoice).map((row, index) => {
    const credited = invoice.credited?.vat[index] ?? { net: 0, amount: 0 };
    return { ...row, net: row.net - credited.net, amount: row.amount - credited.amount };
  });

const grossOf = (rows: readonly VatRow[]): number => rows.reduce((sum, { net, amount }) => sum + net + amount, 0);

/**
 * Divides an amount with VAT over the rows, in proportion to the amount that is left of each row. If a row is credited
 * in full, the rest of its VAT is credited too. Throws unless the amount is above zero and at most the amount that is
 * left to credit.
 */
function creditedRows(left: readonly VatRow[], gross: number): VatRow[] {
  const all = grossOf(left);
  if (gross <= 0 || gross > all) throw new Error(`At most ${money(all)} of the invoice is left to credit.`);
  let before = 0;
  return left.map((row) => {
    const own = row.net + row.amount;
    const share = divideHalfUp(gross * (before + own), all) - divideHalfUp(gross * before, all);
    before += own;
    const vat = own === 0 ? 0 : divideHalfUp(share * row.amount, own);
    return { ...row, net: share - vat, amount: vat };
  });
}

/** The VAT on some lines of a row. As on the invoice, each purchase is rounded by itself, and all usage together. */
function vatOfLines(lines: readonly Line[], row: VatRow): number {
  const usage = lines.filter(({ supplied_on }) => supplied_on === undefined);
  const purchases = lines.filter(({ supplied_on }) => supplied_on !== undefined);
  return purchases.reduce((vat, { amount }) => vat + vatOn(amount, row), vatOn(totalAmount(usage), row));
}

/**
 * The amounts to credit for some lines of an invoice, one for each row of the invoice's VAT. Throws for a line that
 * does not exist or is credited already, and if the lines exceed the amount that is left to credit.
 */
function rowsOfLines(invoice: StoredInvoice, numbers: readonly number[]): VatRow[] {
  const left = leftOf(invoice);
  const chosen = numbers.map((number) => {
    const line = invoice.lines[number - 1];
    if (!line) throw new Error(`Invoice ${invoice.number} has no line ${number}.`);
    if (invoice.credited?.lines.includes(number)) throw new Error(`Line ${number} is credited already.`);
    return line;
  });
  return left.map((row, index) => {
    const own = chosen.filter(({ vat_row = 0 }) => vat_row === index);
    const net = totalAmount(own);
    if (net > row.net)
      throw new Error(`These lines exceed the amount that is left to credit: ${money(row.net)} without VAT.`);
    const vat = net === row.net ? row.amount : Math.min(row.amount, vatOfLines(own, row));
    return { ...row, net, amount: vat };
  });
}

/** The amounts that a credit takes from an invoice, one for each row of the invoice's VAT. */
const rowsToCredit = (invoice: StoredInvoice, { amount, lines }: Credit): VatRow[] =>
  lines ? rowsOfLines(invoice, lines) : creditedRows(leftOf(invoice), amount ?? grossOf(leftOf(invoice)));

/** The invoice after a credit. `lines` are the numbers of the lines that the operator chose. */
function withCredit(
  invoice: StoredInvoice,
  rows: readonly VatRow[],
  lines: readonly number[] = [],
  { id, number, date, amount: sum }: StoredCreditNote,
): StoredInvoice {
  const before = invoice.credited ?? { lines: [], vat: [] };
  const vat = rows.map(({ net, amount }, index) => {
    const earlier = before.vat[index] ?? { net: 0, amount: 0 };
    return { net: earlier.net + net, amount: earlier.amount + amount };
  });
  const earlierNotes = invoice.credited === undefined ? [] : invoice.credited.notes;
  // `credited` has no `notes` if an earlier release of the product made the first credit note. Such an invoice gets no
  // list later either, because the list would not be complete.
  const notes = earlierNotes && { notes: [...earlierNotes, { id, number, date, amount: sum }] };
  return { ...invoice, credited: { lines: [...before.lines, ...lines], vat, ...notes } };
}

/**
 * The lines of a credit note: the chosen lines of the invoice, or one line for each credited row of VAT. `rows` are the
 * amounts to credit, one for each row of the invoice's VAT. `kept` are the rows of VAT of the credit note: the elements
 * of `rows` that are not zero.
 */
function linesOfNote(
  invoice: StoredInvoice,
  lines: readonly number[] | undefined,
  rows: readonly VatRow[],
  kept: readonly VatRow[],
): Line[] {
  if (lines === undefined) {
    return kept.map((row, vat_row) => ({
      description: `Credit for invoice ${invoice.number}`,
      quantity: "1",
      unit_price: row.net,
      amount: row.net,
      vat_row,
    }));
  }
  const chosen = lines.flatMap((number) => invoice.lines[number - 1] ?? []);
  // A row has another index in the credit note than in the invoice, because rows without an amount are left out.
  const keptIndexes = rows.map((row) => kept.indexOf(row));
  return chosen.map((line) => ({ ...line, vat_row: keptIndexes[line.vat_row ?? 0] ?? 0 }));
}

/** A new credit note of the amounts `rows`, one for each row of the invoice's VAT. */
function newCreditNote(
  { accountId, state, now }: AccountBilling,
  invoice: StoredInvoice,
  { lines }: Credit,
  rows: readonly VatRow[],
  reason: string,
): StoredCreditNote {
  const kept = rows.filter(({ net, amount }) => net + amount > 0);
  const total = grossOf(kept);
  const position = state.credit_notes ?? 0;
  const hasVat = invoice.vat !== undefined;
  const noteLines = linesOfNote(invoice, lines, rows, kept);
  return {
    id: idWithOrdinal(position),
    account_id: accountId,
    customer_name: invoice.customer_name,
    number: `${seriesOf(accountId, state)}-C${String(position + 1).padStart(6, "0")}`,
    date: now.toISOString(),
    invoice_id: invoice.id,
    invoice_number: invoice.number,
    invoice_date: dayOf(new Date(invoice.date)),
    reason,
    amount: money(total),
    currency: invoice.currency,
    lines: hasVat ? noteLines : noteLines.map(({ vat_row: _, ...line }) => line),
    ...(hasVat ? { vat: kept, ...nationalVat(kept, invoice.currency, invoice.national_vat) } : {}),
    total,
    seller: sellerOf(invoice),
    ...(invoice.buyer ? { buyer: invoice.buyer } : {}),
    download_key: newDownloadKey(),
    version: 1,
  };
}

const NotePointer = z.object({ id: z.string(), invoice_id: z.string() });

/**
 * Plans a credit note on an invoice: the wallet gets the amount with its VAT, and pays open invoices from it. The
 * operator chooses `id`: a repeat with the same `id` makes no second credit note. Throws:
 * - if a credit note for another invoice has the `id`;
 * - if the account does not have the invoice;
 * - if a line does not exist or is credited already;
 * - if the credit is not above zero, or is larger than the amount that is left to credit.
 */
export async function planCreditNote(
  table: Reader,
  accountId: string,
  { id, invoiceId, reason, ...credit }: Credit & { id: string; invoiceId: string; reason: string },
  now: Date,
): Promise<ChangePlan<StoredCreditNote>> {
  const pointer = await table.get(operatorKey(accountId, id), NotePointer);
  if (pointer) {
    const known = await table.get(creditNoteKey(accountId, pointer.id), StoredCreditNote);
    if (!known || pointer.invoice_id !== invoiceId) throw new Error(`The id ${id} belongs to another credit note.`);
    return { value: known, writes: [], changes: [] };
  }
  const key = invoiceKey(accountId, invoiceId);
  let made: { note: StoredCreditNote; invoice: StoredInvoice } | undefined;
  const { book, writes, changes } = await planBilling(table, accountId, now, async (opened) => {
    // The invoice is read after the billing state, which each credit note changes. So the transaction fails if another
    // credit note changes the invoice meanwhile.
    const stored = await table.get(key, StoredInvoice);
    if (stored?.id !== invoiceId) throw new Error("The account does not have this invoice.");
    const rows = rowsToCredit(stored, credit);
    const note = newCreditNote(opened, stored, credit, rows, reason);
    const invoice = withCredit(stored, rows, credit.lines, note);
    made = { note, invoice };
    addCredit(opened, note);
    opened.open = opened.open.map((open) => (open.id === invoice.id ? { ...invoice, version: open.version } : open));
    payOpen(opened);
  });
  if (!made) throw new Error("nothing was planned");
  const { note, invoice } = made;
  // If the credit pays the invoice itself, the writes of `planBilling` store the invoice.
  const isWritten = book.paid.some((paid) => paid.id === invoice.id);
  const { version } = invoice;
  const invoiceWrite: Write = { put: { ...key, ...invoice, version: version + 1 }, if: { version } };
  const { state } = await readList(table, creditNotesOf(accountId));
  return {
    value: note,
    writes: [
      ...writes,
      ...(isWritten ? [] : [invoiceWrite]),
      ...appendRows(state, [note]),
      { put: { ...operatorKey(accountId, id), id: note.id, invoice_id: invoiceId }, if: "absent" },
    ],
    changes: [...changes, change(creditNoteKind, "created", note.id, { after: note })],
  };
}

function addCredit(book: AccountBilling, { number, invoice_number, total, vat = [] }: StoredCreditNote): void {
  const tax = vat.reduce((sum, { amount }) => sum + amount, 0);
  book.state = { ...book.state, credit_notes: (book.state.credit_notes ?? 0) + 1 };
  book.available += total;
  book.postings.push({
    kind: "transfer",
    id: `credit-note/${number}`,
    debit: "revenue",
    credit: "wallet",
    amount: total,
    code: "credit_note",
    type: "refund",
    description: `Credit note ${number} for invoice ${invoice_number}`,
  });
  if (tax === 0) return;
  const sides = { debit: "vat", credit: "revenue", code: "vat" };
  book.postings.push({ kind: "transfer", id: `vat/${number}`, amount: tax, ...sides });
}

/**
 * The credit notes of an invoice, oldest first. Reads the list of the account's credit notes if an earlier release of
 * the product made the first credit note of the invoice.
 */
export async function creditNotesOfInvoice(table: Reader, invoice: StoredInvoice): Promise<CreditedBy[]> {
  if (invoice.credited === undefined) return [];
  if (invoice.credited.notes) return invoice.credited.notes;
  const { partition, from, to } = rangeOfRows(creditNotesOf(invoice.account_id));
  const all = (await table.between(partition, from, to)).map((row) => StoredCreditNote.parse(row));
  return all.filter(({ invoice_id }) => invoice_id === invoice.id);
}

/** The amount of an invoice that credit notes have credited, with VAT, in minor units. */
export const creditedOf = ({ credited }: StoredInvoice): number =>
  (credited?.vat ?? []).reduce((sum, { net, amount }) => sum + net + amount, 0);

/** The document of a credit note. */
export const creditNoteDocument = (note: StoredCreditNote): InvoiceDocument => ({
  title: "Credit note",
  number: note.number,
  refersTo: `${note.invoice_number} of ${note.invoice_date}`,
  issuedAt: note.date,
  periodStart: dayOf(new Date(note.date)),
  periodEnd: plusDays(dayOf(new Date(note.date)), 1),
  seller: note.seller,
  customer: customerOf(note),
  lines: note.lines.map((line) => documentLine(line, note.vat)),
  vat: documentVat(note.vat),
  total: note.total,
  prepaid: 0,
  notes: [`Reason: ${note.reason}`, ...notesOf(note)],
  currency: note.currency,
});
