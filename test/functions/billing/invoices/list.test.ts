import { randomUUID } from "node:crypto";

import { afterEach, expect, test } from "vitest";

import { invoiceKey, newSeries } from "../../../../shared/billing/invoices/invoice.ts";
import { invoiceOfLink } from "../../../../shared/billing/invoices/links.ts";
import {
  dayMs,
  dayOf,
  daysBetween,
  monthOf,
  nextMonth,
  plusDays,
  setClockAhead,
} from "../../../../shared/core/time.ts";
import type { Response } from "../../../../shared/http/response.ts";
import { textsOf } from "../../../shared/billing/pdf-text.ts";
import { billing, closeDays, fund, use } from "../../../support/billing.ts";
import { pay } from "../../../support/purchases.ts";
import { eventOf, handlerOf } from "../../../support/request.ts";
import { newAccount, testTable, type Account } from "../../../support/world.ts";

afterEach(() => setClockAhead(0));

const endOfMonth = (): string => plusDays(nextMonth(dayOf(new Date())), -1);
const list = async (account: Account, query = "") => (await billing(account, "GET", `invoices${query}`)).body;

test("lists no invoices before a month has ended", async () => {
  expect(await list(await newAccount())).toMatchObject({ items: [], total: 0 });
});

test("each ended month has one invoice, paid from the wallet, and the newest invoice comes first", async () => {
  const account = await newAccount();
  await fund(account, 1_000_000);
  await use(account, 1_000);
  await closeDays(account, endOfMonth());
  await closeDays(account, plusDays(nextMonth(nextMonth(dayOf(new Date()))), -1));
  const { items, total } = await list(account);
  expect(total).toBe(2);
  expect(items.map(({ number }: { number: string }) => number)).toEqual([
    `${newSeries(account.id)}-000002`,
    `${newSeries(account.id)}-000001`,
  ]);
  expect(items[0]).toMatchObject({ amount: "3000.00", currency: "USD", status: "paid" });
  expect(items[0].period_start).toBe(monthOf(items[0].period_end));
  const oldest = (await billing(account, "GET", "invoices?order=asc")).body;
  expect(oldest.items.map(({ id }: { id: string }) => id)).toEqual([items[1].id, items[0].id]);
});

const textOf = (pdf: Buffer): string => textsOf(pdf).flat().join(" ");

const download = async (url: URL): Promise<Response> =>
  (await handlerOf({ file: "functions/billing/invoices/download.ts" }))(eventOf("GET", `${url.pathname}${url.search}`));

test("the PDF of a listed invoice can be downloaded without a credential, and shows the present state of the invoice", async () => {
  const account = await newAccount();
  await use(account, 10);
  await closeDays(account, endOfMonth());
  const [open] = (await list(account)).items;
  const address = new URL(open.download_url);
  const { statusCode, headers, body = "", isBase64Encoded } = await download(address);
  expect([statusCode, isBase64Encoded]).toEqual([200, true]);
  expect(headers).toMatchObject({
    "content-type": "application/pdf",
    "content-disposition": expect.stringContaining(`filename="invoice-${open.number}.pdf"`),
    "cache-control": "no-store",
  });
  const before = textOf(Buffer.from(body, "base64"));
  expect(before).toContain(open.number);
  await fund(account, 1_000_000);
  await closeDays(account, plusDays(endOfMonth(), 1));
  const [paid] = (await list(account)).items;
  expect([paid.id, paid.status]).toEqual([open.id, "paid"]);
  for (const url of [address, new URL(paid.download_url)]) {
    const again = await download(url);
    expect(again.statusCode).toBe(200);
    expect(textOf(Buffer.from(again.body ?? "", "base64"))).not.toBe(before);
  }
});

test("a download URL that was changed, has the id of another invoice or has expired gets 403", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  for (const { id } of [account, other]) {
    await use({ id }, 10);
    await closeDays({ id }, endOfMonth());
  }
  const [invoice] = (await list(account)).items;
  const [others] = (await list(other)).items;
  const address = new URL(invoice.download_url);
  const changed = (name: string, value: string): URL => {
    const url = new URL(address);
    url.searchParams.set(name, value);
    return url;
  };
  const addressOf = (accountId: string, id: string): URL =>
    new URL(address.href.replace(account.id, accountId).replace(invoice.id, id));
  const signature = address.searchParams.get("signature") ?? "";
  const forged = [
    changed("expires", "99999999999"),
    changed("expires", "soon"),
    changed("signature", "A".repeat(signature.length)),
    changed("signature", ""),
    changed("signature", `${signature}AA`),
    addressOf(other.id, others.id),
    addressOf(other.id, invoice.id),
    addressOf(account.id, others.id),
    addressOf(account.id, randomUUID()),
    addressOf("x", invoice.id),
    new URL(address.pathname, address),
  ];
  for (const url of forged) {
    const { statusCode, body } = await download(url);
    expect([url.href, statusCode, JSON.parse(body ?? "").code]).toEqual([url.href, 403, "forbidden"]);
  }
  const invoiceOf = (at: number) =>
    invoiceOfLink(
      testTable(),
      {
        accountId: account.id,
        documentId: invoice.id,
        signature,
        expires: Number(address.searchParams.get("expires")),
      },
      new Date(at),
    );
  expect(await invoiceOf(Date.now() + 3_590_000)).toMatchObject({ id: invoice.id });
  await expect(invoiceOf(Date.now() + 3_601_000)).rejects.toMatchObject({ code: "forbidden" });
});

test("an invoice that the product's first version made gets a download URL when it is listed, also by several callers at once", async () => {
  const account = await newAccount();
  await use(account, 10);
  await closeDays(account, endOfMonth());
  const [{ id }] = (await list(account)).items;
  const addedLater = ["download_key", "seller"];
  await testTable().attempt({
    update: invoiceKey(account.id, id),
    set: { file_key: "invoices/x.pdf" },
    remove: addedLater,
  });
  const pages = await Promise.all([list(account), list(account), list(account)]);
  for (const { items } of pages) expect((await download(new URL(items[0].download_url))).statusCode).toBe(200);
});

test("an invoice that the wallet cannot pay stays open, and is paid by the next top-up", async () => {
  const account = await newAccount();
  await use(account, 10);
  await closeDays(account, endOfMonth());
  setClockAhead(daysBetween(dayOf(new Date()), endOfMonth()).length * dayMs);
  expect((await list(account)).items).toMatchObject([{ status: "open" }]);
  expect((await billing(account, "GET", "current-plan")).body).toMatchObject({
    status: "past_due",
    can_change_plan: false,
  });
  setClockAhead(0);
  const { hosted_page } = (await billing(account, "POST", "topup-session", { amount: 100 })).body;
  await pay(account, hosted_page.id);
  expect((await list(account)).items).toMatchObject([{ status: "paid" }]);
});
