import { expect, test } from "vitest";

import { handler as makeInvoiceFile } from "../../../../functions/workers/make-invoice-file.ts";
import { filePaths } from "../../../../infra/local/files-page.ts";
import { dayOf, monthOf, nextMonth, plusDays } from "../../../../shared/billing/days.ts";
import { billing, closeDays, fund, use } from "../../../support/billing.ts";
import { newAccount, type Account } from "../../../support/world.ts";

const endOfMonth = (): string => plusDays(nextMonth(dayOf(new Date())), -1);
const list = async (account: Account, query = "") => (await billing(account, "GET", `invoices${query}`)).body;

test("there are none before a month has ended", async () => {
  expect(await list(await newAccount())).toMatchObject({ items: [], total: 0 });
});

test("a month that ended is one invoice, paid from the wallet, newest first", async () => {
  const account = await newAccount();
  await fund(account, 1_000_000);
  await use(account, 1_000);
  await closeDays(account, endOfMonth());
  await closeDays(account, plusDays(nextMonth(nextMonth(dayOf(new Date()))), -1));
  const { items, total } = await list(account);
  expect(total).toBe(2);
  expect(items.map(({ number }: { number: string }) => number)).toEqual([
    `${account.id.slice(0, 8)}-000002`,
    `${account.id.slice(0, 8)}-000001`,
  ]);
  expect(items[0]).toMatchObject({ amount: "3000.00", currency: "USD", status: "paid", download_url: null });
  expect(items[0].period_start).toBe(monthOf(items[0].period_end));
});

test("its PDF can be downloaded once it is made, by a link that is signed and ends", async () => {
  const account = await newAccount();
  await fund(account, 1_000_000);
  await use(account, 10);
  await closeDays(account, endOfMonth());
  const [invoice] = (await list(account)).items;
  await makeInvoiceFile({ detail: { account_id: account.id, resource: { id: invoice.id } } });
  const url = new URL((await list(account)).items[0].download_url);
  const folder = process.env["FILES_DIR"] ?? "";
  const key = Buffer.from(process.env["FILES_KEY"] ?? "", "base64");
  const [served] = filePaths({ folder, key });
  const file = url.pathname.replace("/_local/files/", "");
  const download = (query: URLSearchParams) =>
    served?.handle({
      headers: new Map(),
      body: Buffer.alloc(0),
      query,
      params: { key: file },
      port: 80,
    });
  const answer = await download(url.searchParams);
  expect(answer).toMatchObject({ status: 200, headers: { "content-type": "application/pdf" } });
  expect(answer?.body.subarray(0, 5).toString()).toBe("%PDF-");
  const forged = new URLSearchParams(url.searchParams);
  forged.set("expires", "9999999999");
  expect(await download(forged)).toMatchObject({ status: 403 });
});

test("an invoice the wallet cannot pay stays open, and is paid by the next top-up", async () => {
  const account = await newAccount();
  await use(account, 10);
  await closeDays(account, endOfMonth());
  expect((await list(account)).items).toMatchObject([{ status: "open" }]);
  expect((await billing(account, "GET", "current-plan")).body).toMatchObject({
    status: "past_due",
    can_change_plan: false,
  });
});
