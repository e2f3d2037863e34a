import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { invoiceKey, StoredInvoice } from "../../../../shared/billing/invoices/invoice.ts";
import { dayOf, nextMonth, plusDays } from "../../../../shared/core/time.ts";
import { addInvoice, billing, closeDays, credit, fund, use } from "../../../support/billing.ts";
import { newAccount, newMember, testTable } from "../../../support/world.ts";

const endOfMonth = (): string => plusDays(nextMonth(dayOf(new Date())), -1);

test("shows what the list shows, the lines that add up to the amount, and the time of the payment", async () => {
  const account = await newAccount();
  await use(account, 1_000);
  await closeDays(account, endOfMonth());
  const [listed] = (await billing(account, "GET", "invoices")).body.items;
  const get = async () => (await billing(account, "GET", `invoices/${String(listed.id)}`)).body;
  const open = await get();
  const { download_url, ...rest } = listed;
  expect(open).toMatchObject({ ...rest, status: "open", paid_at: null });
  expect(open.download_url).toContain(new URL(download_url).pathname);
  expect(open.lines).toEqual([
    {
      description: "Per mailbox: mailboxes",
      quantity: expect.stringMatching(/^\d+ mailbox-days \/ \d+$/),
      unit_price: "3.00",
      amount: listed.amount,
      supplied_on: null,
    },
  ]);
  await fund(account, 1_000_000);
  await closeDays(account, plusDays(endOfMonth(), 1));
  expect(await get()).toMatchObject({ status: "paid", paid_at: expect.stringMatching(/Z$/) });
});

test("shows the credit notes of the invoice and the remaining amount, also if an earlier version credited the invoice", async () => {
  const account = await newAccount();
  const id = await addInvoice(account);
  const get = async () => (await billing(account, "GET", `invoices/${id}`)).body;
  expect(await get()).toMatchObject({ credit_notes: [], credited_amount: "0.00", remaining_amount: "1.00" });
  for (const amount of [30, 20]) await credit(account, { invoiceId: id, amount });
  const { items } = (await billing(account, "GET", "credit-notes?order=asc")).body;
  const expected = {
    credit_notes: items.map(({ id, number, date, amount }: Record<string, string>) => ({ id, number, date, amount })),
    credited_amount: "0.50",
    remaining_amount: "0.50",
  };
  expect(expected.credit_notes).toMatchObject([{ amount: "0.30" }, { amount: "0.20" }]);
  expect(await get()).toMatchObject(expected);
  // Earlier versions stored no list of credit notes in the invoice.
  const key = invoiceKey(account.id, id);
  const { credited } = (await testTable().get(key, StoredInvoice)) ?? {};
  await testTable().attempt({ update: key, set: { credited: { lines: credited?.lines, vat: credited?.vat } } });
  expect(await get()).toMatchObject(expected);
  await credit(account, { invoiceId: id });
  expect(await get()).toMatchObject({ credited_amount: "1.00", remaining_amount: "0.00" });
  expect((await get()).credit_notes).toHaveLength(3);
});

test("another account's invoice and a missing invoice are 404", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  for (const id of [await addInvoice(other), randomUUID()]) {
    expect((await billing(account, "GET", `invoices/${id}`)).status).toBe(404);
  }
  expect((await billing(account, "GET", "invoices/first")).status).toBe(422);
});

test("needs billing.view", async () => {
  const account = await newAccount();
  const viewer = await newMember(account, { role: "viewer" });
  const { body } = await billing(account, "GET", `invoices/${await addInvoice(account)}`, undefined, viewer);
  expect(body).toMatchObject({ status: 403, required_capability: "billing.view" });
});
