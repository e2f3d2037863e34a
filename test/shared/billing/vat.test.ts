import fc from "fast-check";
import { expect, test } from "vitest";

import {
  planCreditNote,
  StoredCreditNote,
  creditNotesOf,
  type Credit,
} from "../../../shared/billing/invoices/credit-note.ts";
import { newSeries, oldSeries, vatTotal } from "../../../shared/billing/invoices/invoice.ts";
import { usageOf } from "../../../shared/billing/period.ts";
import { changePlan } from "../../../shared/billing/plan.ts";
import { refreshVatId, updateProfile } from "../../../shared/billing/profile.ts";
import { transactionsFile, transactionsForFile } from "../../../shared/billing/transactions.ts";
import { walletBalance } from "../../../shared/billing/views.ts";
import { postedOf } from "../../../shared/ledger/balance.ts";
import { checkLedger } from "../../../shared/ledger/check.ts";
import { readBalance } from "../../../shared/ledger/ledger.ts";
import { readRows } from "../../../shared/table/ranked-list.ts";
import { profileKey, readProfile } from "../../../shared/wallet/profile.ts";
import { purchaseHold } from "../../../shared/wallet/purchase.ts";
import { stateKey } from "../../../shared/wallet/state.ts";
import { readVatRule } from "../../../shared/wallet/vat.ts";
import { walletOf } from "../../../shared/wallet/wallet.ts";
import { withStep } from "../../support/between-calls.ts";
import { write } from "../../support/domain-work.ts";
import { useVat } from "../../support/vat.ts";
import { testTable } from "../../support/world.ts";
import { newScene } from "./scene.ts";

const table = testTable();
type Scene = Awaited<ReturnType<typeof newScene>>;

const german = { name: "Beispiel GmbH", city: "Berlin", country: "DE", vat_id: "DE136695976" };
/** Registers of VAT ids (VIES), by their answer to every question. */
const valid = { ask: async () => "valid" as const };
const unavailable = { ask: async () => "unavailable" as const };
const invalid = { ask: async () => "invalid" as const };

const profileOf = (
  { accountId, context }: Scene,
  update: object,
  register = valid as Parameters<typeof updateProfile>[3],
) => updateProfile(accountId, update, context, register);

/** Buys something at a price without VAT, and captures the money. */
async function buy({ accountId, context, post }: Scene, id: string, price: number): Promise<void> {
  const bought = { id, price, currency: "USD", code: "domain", description: `Registration of ${id}` };
  await post(purchaseHold(bought, await readVatRule(table, accountId, context.now())));
  await post({ kind: "capture", id });
}

const posted = async ({ accountId }: Scene, account: string): Promise<number> =>
  postedOf(await readBalance(table, walletOf(accountId), account));

const credit = ({ accountId, context }: Scene, id: string, invoiceId: string, given: Credit = {}) =>
  context.commit(() =>
    planCreditNote(table, accountId, { id, invoiceId, reason: "A mistake", ...given }, context.now()),
  );

const notesIn = async ({ accountId }: Scene): Promise<StoredCreditNote[]> =>
  (await readRows(table, creditNotesOf(accountId), { skip: 0, take: 100 })).rows.map((row) =>
    StoredCreditNote.parse(row),
  );

test("usage and purchases of a month are on one invoice, with the VAT of each; the purchases are paid already", async () => {
  useVat();
  const scene = await newScene("2026-01-15");
  await scene.use({ mailboxes: 3 });
  await scene.topUp(100_000);
  await buy(scene, "example.ie", 1_000);
  await profileOf(scene, { name: "Beispiel GmbH", city: "Berlin", country: "DE" });
  scene.on("2026-01-20");
  await buy(scene, "example.de", 999);
  scene.on("2026-02-01");
  await scene.run("2026-01-31");
  const [invoice, ...others] = await scene.invoices();
  expect(others).toEqual([]);
  expect(invoice).toMatchObject({
    number: `${newSeries(scene.accountId)}-000001`,
    status: "paid",
    vat: [
      { treatment: "oss", country: "DE", rate: 1_900, net: 494 + 999, amount: 94 + 190 },
      { treatment: "domestic", country: "IE", rate: 2_300, net: 1_000, amount: 230 },
    ],
    prepaid: 1_230 + 1_189,
    total: 494 + 94 + 1_230 + 1_189,
    buyer: { name: "Beispiel GmbH", lines: ["Berlin", "Germany"] },
    seller: { vat_id: "IE6433435F" },
    national_vat: { currency: "EUR", rate: "0.86", amount: Math.round(514 * 0.86) },
  });
  expect(invoice?.lines.map(({ supplied_on }) => supplied_on)).toEqual([undefined, "2026-01-15", "2026-01-20"]);
  expect(await posted(scene, "vat")).toBe(514);
  expect((await scene.wallet()).posted).toBe(100_000 - 494 - 94 - 1_230 - 1_189);
});

test("recorded days keep their VAT if the customer moves later, and the forecast agrees with the invoice", async () => {
  useVat();
  const scene = await newScene("2026-01-01");
  await scene.use({ mailboxes: 31 });
  await scene.topUp(100_000);
  scene.on("2026-01-11");
  await scene.run("2026-01-10");
  await profileOf(scene, { name: "Example Ltd", city: "London", country: "GB" });
  const { accountId, context } = scene;
  const { forecast } = await usageOf(accountId, undefined, context);
  // 31 mailboxes for 10 and for 21 days at 3.00 a month; VAT of Ireland on the first ten days only.
  expect(forecast).toMatchObject({ vat: "6.90", total: "99.90" });
  expect(await walletBalance(accountId, context)).toMatchObject({ accrued_charges: "36.90" });
  scene.on("2026-02-01");
  await scene.run("2026-01-31");
  const [invoice] = await scene.invoices();
  expect(invoice).toMatchObject({
    total: 9_990,
    vat: [
      { treatment: "domestic", country: "IE", net: 3_000, amount: 690 },
      { treatment: "outside_eu", country: "GB", net: 6_300, amount: 0 },
    ],
  });
  expect(invoice?.lines.map(({ amount, vat_row }) => [amount, vat_row])).toEqual([
    [3_000, 0],
    [6_300, 1],
  ]);
  expect(await posted(scene, "vat")).toBe(690);
});

test("days before a change of the profile keep their VAT even if they are recorded after the change, and a forecast agrees", async () => {
  useVat();
  const scene = await newScene("2026-01-29");
  const { accountId, context } = scene;
  await scene.use({ mailboxes: 31 });
  const { vat_id: _, ...person } = german;
  await profileOf(scene, person);
  scene.on("2026-01-31", "00:10");
  await profileOf(scene, german);
  const before = await usageOf(accountId, undefined, context);
  // 31 mailboxes at 3.00 a month: two days with the VAT of Germany, and one day with a reverse charge.
  expect(before).toMatchObject({ forecast: { vat: "1.14", total: "10.14" } });
  scene.on("2026-02-01", "00:05");
  await profileOf(scene, { country: "IE", vat_id: null });
  await profileOf(scene, { country: "FI" });
  await scene.run("2026-01-31");
  expect((await scene.accruals()).map(({ vat }) => [vat?.treatment, vat?.rate])).toEqual([
    ["oss", 1_900],
    ["oss", 1_900],
    ["reverse_charge", 0],
  ]);
  expect(await scene.invoices()).toMatchObject([{ amount: "10.14" }]);
  scene.on("2026-02-02");
  await scene.run("2026-02-01");
  expect((await scene.accruals()).at(-1)?.vat).toMatchObject({ country: "FI", rate: 2_550 });
});

test("a changed rate counts for purchases and usage from its day on, also if the days are recorded late", async () => {
  useVat({ rate_changes: [{ country: "IE", from: "2026-02-01", rate: 24 }] });
  const scene = await newScene("2026-01-31");
  const { accountId, context } = scene;
  await scene.use({ mailboxes: 1 });
  const rateNow = async () => (await readVatRule(table, accountId, context.now())).rate;
  expect(await rateNow()).toBe(2_300);
  scene.on("2026-02-03", "00:05");
  expect(await rateNow()).toBe(2_400);
  await scene.run("2026-02-02");
  expect((await scene.accruals()).map(({ vat }) => vat?.rate)).toEqual([2_300, 2_400, 2_400]);
});

test("the stored former VAT of a profile decides the VAT of past days; without it, the present profile decides", async () => {
  useVat();
  const scene = await newScene("2026-01-29");
  await scene.use({ mailboxes: 1 });
  await profileOf(scene, { country: "FI" });
  const former_vat = [
    { country: null, vat_id: null, vat_id_status: null, until: "2026-01-29" },
    { country: "DE", vat_id: "DE136695976", vat_id_status: "valid", until: "2026-01-30" },
  ];
  const key = profileKey(scene.accountId);
  await table.attempt({ update: key, set: { former_vat } });
  scene.on("2026-02-01");
  await scene.run("2026-01-31");
  expect((await scene.accruals()).map(({ vat }) => vat?.treatment)).toEqual(["domestic", "reverse_charge", "oss"]);
  await table.attempt({ update: key, remove: ["former_vat"] });
  scene.on("2026-02-02");
  await scene.run("2026-02-01");
  expect((await scene.accruals()).at(-1)?.vat).toMatchObject({ country: "FI" });
});

test("the CSV file of transactions has the VAT of a purchase, and none for a top-up", async () => {
  useVat();
  const scene = await newScene("2026-01-15");
  await scene.topUp(100_000);
  await buy(scene, "example.ie", 1_000);
  const query = { page: 1, page_size: 20, order: "asc" } as const;
  const { items } = await transactionsForFile(scene.accountId, query, scene.context);
  const lines = transactionsFile(items).text.trimEnd().split("\r\n").slice(1);
  expect(lines.map((line) => line.split(",").at(-1))).toEqual(["", "2.30"]);
});

test.each([german, { name: "A shop", country: "US" }])(
  "the VAT of a purchase on which no VAT is due is 0.00, not empty: %j",
  async (profile) => {
    useVat();
    const scene = await newScene("2026-01-15");
    await scene.topUp(100_000);
    await profileOf(scene, profile);
    await buy(scene, "example.com", 1_000);
    const query = { page: 1, page_size: 20, order: "asc" } as const;
    const { items } = await transactionsForFile(scene.accountId, query, scene.context);
    expect(items.map(({ vat }) => vat)).toEqual([null, "0.00"]);
    expect(transactionsFile(items).text.trimEnd()).toMatch(/,0\.00$/);
  },
);

test("a business elsewhere in the EU pays no VAT, and the invoice says why", async () => {
  useVat();
  const scene = await newScene("2026-01-15");
  await scene.use({ mailboxes: 3 });
  await scene.topUp(100_000);
  await profileOf(scene, german);
  scene.on("2026-02-01");
  await scene.run("2026-01-31");
  const [invoice] = await scene.invoices();
  expect(invoice).toMatchObject({ total: 494, vat: [{ treatment: "reverse_charge", amount: 0 }] });
  expect(invoice?.buyer).toMatchObject({ vat_id: "DE136695976" });
  expect(await posted(scene, "vat")).toBe(0);
});

test("an account without charged usage gets a paid invoice for what it bought", async () => {
  useVat();
  const scene = await newScene("2026-01-15");
  await scene.topUp(100_000);
  await changePlan(scene.accountId, "per_dedicated_ip", undefined, scene.context);
  await scene.use({ dedicated_ips: 1, paid_until: "2026-02-14T00:00:00.000Z" });
  await buy(scene, "example.com", 1_000);
  scene.on("2026-02-01");
  await scene.run("2026-01-31");
  const [invoice] = await scene.invoices();
  expect(invoice).toMatchObject({ status: "paid", total: 1_230, prepaid: 1_230 });
  expect(await scene.transactions()).toHaveLength(2);
});

test("without VAT settings nothing has VAT, and purchases are still on the invoice", async () => {
  const scene = await newScene("2026-01-15");
  await scene.use({ mailboxes: 3 });
  await scene.topUp(100_000);
  await buy(scene, "example.com", 1_000);
  scene.on("2026-02-01");
  await scene.run("2026-01-31");
  const [invoice] = await scene.invoices();
  expect(invoice).toMatchObject({ total: 1_494, prepaid: 1_000, status: "paid" });
  expect(invoice).not.toHaveProperty("vat");
  expect(await posted(scene, "vat")).toBe(0);
});

test("accrued charges include VAT, and the amount due of an open invoice leaves out the prepaid purchases", async () => {
  useVat();
  const scene = await newScene("2026-01-15");
  await scene.use({ mailboxes: 3 });
  await scene.topUp(1_230);
  await buy(scene, "example.com", 1_000);
  scene.on("2026-02-01");
  await scene.run("2026-01-30");
  const before = await walletBalance(scene.accountId, scene.context);
  expect(before).toMatchObject({ balance: "0.00" });
  await scene.run("2026-01-31");
  expect(await walletBalance(scene.accountId, scene.context)).toMatchObject({ accrued_charges: "6.08" });
  expect(await scene.invoices()).toMatchObject([{ status: "open", total: 494 + 114 + 1_230 }]);
  await scene.topUp(608);
  expect(await scene.invoices()).toMatchObject([{ status: "paid" }]);
  expect((await scene.wallet()).posted).toBe(0);
});

const Step = fc.oneof(
  fc.record({ kind: fc.constant("buy" as const), price: fc.integer({ min: 1, max: 99_999 }) }),
  fc.record({ kind: fc.constant("move" as const), country: fc.constantFrom("DE", "FI", "HU", "IE", "US", null) }),
  fc.record({ kind: fc.constant("days" as const), days: fc.integer({ min: 1, max: 45 }) }),
  fc.record({ kind: fc.constant("use" as const), mailboxes: fc.integer({ min: 1, max: 40 }) }),
  fc.record({
    kind: fc.constant("credit" as const),
    invoice: fc.nat({ max: 20 }),
    share: fc.double({ min: 0.01, max: 1, noNaN: true }),
  }),
);

/**
 * Credits a share of what is left of an invoice. `which` chooses the invoice. Does nothing without an invoice, or if
 * nothing is left.
 */
async function creditShare(scene: Scene, id: string, which: number, share: number): Promise<void> {
  const invoices = await scene.invoices();
  const invoice = invoices[which % invoices.length];
  if (!invoice) return;
  const credited = (invoice.credited?.vat ?? []).reduce((sum, row) => sum + row.net + row.amount, 0);
  const left = invoice.total - credited;
  if (left === 0) return;
  await credit(scene, id, invoice.id, { amount: Math.max(1, Math.floor(left * share)) });
}

test(
  "every charged cent is invoiced, each invoice adds up, and the ledger owes the VAT that credit notes did not return",
  { timeout: 120_000 },
  async () => {
    useVat();
    const live = async (steps: readonly (typeof Step extends fc.Arbitrary<infer S> ? S : never)[]): Promise<void> => {
      const scene = await newScene("2026-01-15");
      await scene.topUp(1_000_000_000);
      let at = Date.parse("2026-01-15T12:00:00Z");
      const day = () => new Date(at).toISOString().slice(0, 10);
      for (const [index, step] of steps.entries()) {
        if (step.kind === "buy") await buy(scene, `name-${index}`, step.price);
        if (step.kind === "move") await profileOf(scene, { country: step.country });
        if (step.kind === "use") await scene.use({ mailboxes: step.mailboxes });
        if (step.kind === "days") {
          at += step.days * 86_400_000;
          scene.on(day());
          await scene.run(new Date(at - 86_400_000).toISOString().slice(0, 10));
        }
        if (step.kind === "credit") await creditShare(scene, `id-${index}`, step.invoice, step.share);
      }
      at += 40 * 86_400_000;
      scene.on(day());
      await scene.run(new Date(at - 86_400_000).toISOString().slice(0, 10));
      const [invoices, notes, rows] = [await scene.invoices(), await notesIn(scene), await scene.transactions()];
      for (const { lines, vat = [], total, prepaid = 0 } of invoices) {
        expect([...lines, ...vat].reduce((sum, { amount }) => sum + amount, 0)).toBe(total);
        expect(vat.reduce((sum, { net }) => sum + net, 0)).toBe(lines.reduce((sum, { amount }) => sum + amount, 0));
        expect(prepaid).toBeLessThanOrEqual(total);
      }
      for (const { lines, vat = [], total } of notes)
        expect([...lines, ...vat].reduce((sum, { amount }) => sum + amount, 0)).toBe(total);
      const cents = (amount: string): number => Math.round(Number(amount) * 100);
      const spent = rows.filter(({ direction, status }) => direction === "debit" && status === "settled");
      const purchases = invoices.flatMap(({ lines }) =>
        lines.flatMap(({ supplied_on, description }) => (supplied_on ? [description] : [])),
      );
      const bought = spent.filter(
        ({ type, effective_at }) => type === "purchase" && effective_at < `${day().slice(0, 7)}-01`,
      );
      expect(purchases.toSorted()).toEqual(bought.map(({ description }) => description).toSorted());
      const charged = [...bought, ...spent.filter(({ type }) => type === "charge")];
      const invoiced = invoices.reduce((sum, { total }) => sum + total, 0);
      expect(charged.reduce((sum, { amount }) => sum + cents(amount), 0)).toBe(invoiced);
      const owed = invoices.reduce((sum, invoice) => sum + vatTotal(invoice), 0);
      const returned = notes.reduce((sum, { vat = [] }) => sum + vat.reduce((all, { amount }) => all + amount, 0), 0);
      expect(await posted(scene, "vat")).toBe(owed - returned);
      expect((await checkLedger(table, walletOf(scene.accountId), { entries: 1_000 })).problems).toEqual([]);
    };
    await fc.assert(fc.asyncProperty(fc.array(Step, { minLength: 4, maxLength: 14 }), live), { numRuns: 12 });
  },
);

/** An account whose invoice for January has usage and a purchase. `id` is the id of the invoice. */
async function sceneWithInvoice(): Promise<{ scene: Scene; id: string }> {
  const scene = await newScene("2026-01-15");
  await scene.use({ mailboxes: 3 });
  await scene.topUp(100_000);
  await buy(scene, "example.com", 1_000);
  scene.on("2026-02-01");
  await scene.run("2026-01-31");
  const [invoice] = await scene.invoices();
  return { scene, id: invoice?.id ?? "" };
}

test("a credit note returns an amount with its VAT, once for each id, and never more than is left of the invoice", async () => {
  useVat();
  const { scene, id } = await sceneWithInvoice();
  const { posted: before } = await scene.wallet();
  const note = await credit(scene, "one", id, { amount: 123 });
  expect(note).toMatchObject({
    amount: "1.23",
    vat: [{ net: 100, amount: 23 }],
    number: `${newSeries(scene.accountId)}-C000001`,
  });
  expect(await credit(scene, "one", id, { amount: 123 })).toEqual(note);
  expect((await scene.wallet()).posted).toBe(before + 123);
  expect(await posted(scene, "vat")).toBe(114 + 230 - 23);
  await expect(credit(scene, "two", id, { amount: 1_838 })).rejects.toThrow("17.15");
  await credit(scene, "two", id);
  await expect(credit(scene, "three", id, { amount: 1 })).rejects.toThrow("0.00");
  expect(await posted(scene, "vat")).toBe(0);
  expect((await notesIn(scene)).map(({ number }) => number.slice(-7))).toEqual(["C000001", "C000002"]);
  expect((await scene.wallet()).posted).toBe(100_000);
});

test("the credit notes of an account of version 0.1.0 are in the series of its invoices, without a gap", async () => {
  useVat();
  const { scene, id } = await sceneWithInvoice();
  // Version 0.1.0 stored no series.
  await write({ update: stateKey(scene.accountId), remove: ["series"] });
  await credit(scene, "before the next invoice", id, { amount: 100 });
  scene.on("2026-03-01");
  await scene.run("2026-02-28");
  await credit(scene, "after the next invoice", id, { amount: 100 });
  const series = oldSeries(scene.accountId);
  expect((await notesIn(scene)).map(({ number }) => number)).toEqual([`${series}-C000001`, `${series}-C000002`]);
  expect((await scene.invoices()).at(-1)).toMatchObject({ number: `${series}-000002` });
});

test("a credit note can be for lines of an invoice, each once, and a credit note for an open invoice pays the invoice", async () => {
  useVat();
  const { scene, id } = await sceneWithInvoice();
  expect(await credit(scene, "line", id, { lines: [2] })).toMatchObject({
    total: 1_230,
    lines: [{ description: "Registration of example.com" }],
  });
  await expect(credit(scene, "again", id, { lines: [2] })).rejects.toThrow("credited already");
  await expect(credit(scene, "none", id, { lines: [9] })).rejects.toThrow("no line 9");
  const poor = await newScene("2026-01-15");
  await poor.use({ mailboxes: 3 });
  poor.on("2026-02-01");
  await poor.run("2026-01-31");
  const [open] = await poor.invoices();
  expect(open?.status).toBe("open");
  await credit(poor, "all", open?.id ?? "");
  expect(await poor.invoices()).toMatchObject([{ status: "paid", credited: { vat: [{ net: 494, amount: 114 }] } }]);
  expect((await poor.wallet()).posted).toBe(0);
});

test("a credit note for purchases gives back the VAT that was charged for each of them", async () => {
  useVat();
  const scene = await newScene("2026-01-15");
  await scene.use({ mailboxes: 3 });
  await scene.topUp(100_000);
  await profileOf(scene, { name: "Beispiel GmbH", city: "Berlin", country: "DE" });
  for (const [name, price] of Object.entries({ a: 1_003, b: 1_003, c: 1_002, d: 1_002 })) await buy(scene, name, price);
  scene.on("2026-02-01");
  await scene.run("2026-01-31");
  const [id = ""] = (await scene.invoices()).map((one) => one.id);
  // The VAT of 19 % is 190.57 cents for each of the first two purchases, and 190.38 cents for each of the others.
  expect(await credit(scene, "dearer", id, { lines: [2, 3] })).toMatchObject({ total: 2 * (1_003 + 191) });
  expect(await credit(scene, "cheaper", id, { lines: [4, 5] })).toMatchObject({ total: 2 * (1_002 + 190) });
  expect(await credit(scene, "usage", id, { lines: [1] })).toMatchObject({ total: 494 + 94 });
  expect((await scene.wallet()).posted).toBe(100_000);
});

test("concurrent credit notes do not credit more than the total of the invoice", async () => {
  useVat();
  const { scene, id } = await sceneWithInvoice();
  const all = await Promise.allSettled(["a", "b", "c"].map((one) => credit(scene, one, id, { amount: 1_000 })));
  expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
});

test("a credit note fails if a concurrent credit note of the same open invoice leaves too little to credit", async () => {
  useVat();
  for (let at = 0, isOver = false; !isOver; at++) {
    const scene = await newScene("2026-01-15");
    await scene.use({ mailboxes: 3 });
    scene.on("2026-02-01");
    await scene.run("2026-01-31");
    const [id = ""] = (await scene.invoices()).map((one) => one.id);
    // The invoice has a total of 6.08, so the two credits together are more than this total.
    const creditAs = (by: string) => credit(scene, by, id, { amount: 400 });
    // `first` runs right before call number `at` of the table. If there is no such call, the loop ends.
    isOver = true;
    const first = async () => {
      isOver = false;
      await creditAs("first");
    };
    await withStep(at, first, () => creditAs("second").catch(() => undefined));
    const notes = await notesIn(scene);
    const [invoice] = await scene.invoices();
    expect(
      notes.reduce((sum, { total }) => sum + total, 0),
      `at ${at}`,
    ).toBe(400);
    expect(invoice?.credited?.notes).toHaveLength(1);
  }
});

test("a change of other members is accepted even if VIES does not know the stored VAT id", async () => {
  useVat();
  const scene = await newScene("2026-01-15");
  await profileOf(scene, german, unavailable);
  for (const email of ["a@example.de", "b@example.de"])
    expect(await profileOf(scene, { email }, invalid)).toMatchObject({ email, vat_id_status: "invalid" });
  await expect(profileOf(scene, { vat_id: german.vat_id }, invalid)).rejects.toThrow("VIES does not know");
  await expect(profileOf(scene, { country: "DE" }, invalid)).rejects.toThrow("VIES does not know");
  expect(await profileOf(scene, { email: null }, valid)).toMatchObject({ vat_id_status: "valid" });
});

test("if VIES does not answer about a VAT id, the id is unverified, VAT applies, and VIES is asked again later", async () => {
  useVat();
  const scene = await newScene("2026-01-15");
  const { accountId, context } = scene;
  expect(await profileOf(scene, german, unavailable)).toMatchObject({
    vat_id_status: "unverified",
    vat_id_checked_at: null,
  });
  expect(await readVatRule(table, accountId, context.now())).toMatchObject({ treatment: "oss" });
  await refreshVatId(accountId, context, unavailable);
  expect(await readProfile(table, accountId)).toMatchObject({ vat_id_status: "unverified", version: 1 });
  await refreshVatId(accountId, context, valid);
  expect(await readProfile(table, accountId)).toMatchObject({ vat_id_status: "valid", version: 2 });
  await refreshVatId(accountId, context, invalid);
  expect(await readProfile(table, accountId)).toMatchObject({ vat_id_status: "valid" });
  scene.on("2026-02-20");
  await refreshVatId(accountId, context, invalid);
  expect(await readProfile(table, accountId)).toMatchObject({ vat_id_status: "invalid" });
});
