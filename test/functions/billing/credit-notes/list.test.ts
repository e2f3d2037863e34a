import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { newSeries } from "../../../../shared/billing/invoices/invoice.ts";
import { textsOf } from "../../../shared/billing/pdf-text.ts";
import { addCreditNote, billing } from "../../../support/billing.ts";
import { eventOf, handlerOf } from "../../../support/request.ts";
import { newAccount, newMember } from "../../../support/world.ts";

test("lists credit notes newest first, each with a PDF that can be downloaded without a credential", async () => {
  const account = await newAccount();
  const [first, second] = [await addCreditNote(account), await addCreditNote(account)];
  const { items } = (await billing(account, "GET", "credit-notes")).body;
  expect(items.map(({ id }: { id: string }) => id)).toEqual([second, first]);
  expect(items[1]).toMatchObject({
    number: `${newSeries(account.id)}-C000001`,
    invoice_number: "T-0",
    amount: "1.00",
    reason: "Test",
  });
  const { body } = await billing(account, "GET", `credit-notes/${first}`);
  expect(body).toMatchObject({ ...items[1], download_url: expect.any(String), vat: [], notes: [] });
  expect(body.lines).toMatchObject([{ description: "Credit for invoice T-0", amount: "1.00" }]);
  const url = new URL(body.download_url);
  const handler = await handlerOf({ file: "functions/billing/invoices/download.ts" });
  const pdf = await handler(eventOf("GET", `${url.pathname}${url.search}`));
  expect(pdf.statusCode).toBe(200);
  const text = textsOf(Buffer.from(pdf.body ?? "", "base64"))
    .flat()
    .join(" ");
  expect(text).toContain("Credit note");
  expect(text).toContain("T-0 of");
  url.pathname = url.pathname.replace(first, second);
  expect((await handler(eventOf("GET", `${url.pathname}${url.search}`))).statusCode).toBe(403);
});

test("another account's credit note and a missing one are 404; a caller without billing.view gets 403", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  for (const id of [await addCreditNote(other), randomUUID()]) {
    expect((await billing(account, "GET", `credit-notes/${id}`)).status).toBe(404);
  }
  const viewer = await newMember(account, { role: "viewer" });
  expect((await billing(account, "GET", "credit-notes", undefined, viewer)).status).toBe(403);
});
