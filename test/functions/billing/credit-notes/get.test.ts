import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { addCreditNote, billing } from "../../../support/billing.ts";
import { newAccount } from "../../../support/world.ts";

test("shows what the list shows, and the lines that add up to the amount", async () => {
  const account = await newAccount();
  const id = await addCreditNote(account);
  const [{ download_url: _, ...listed }] = (await billing(account, "GET", "credit-notes")).body.items;
  const { body } = await billing(account, "GET", `credit-notes/${id}`);
  expect(body).toMatchObject({ ...listed, vat: [], notes: [], buyer: { vat_id: null } });
  expect(body.lines).toMatchObject([{ description: "Credit for invoice T-0", amount: "1.00" }]);
});

test("another account's credit note and a missing credit note are 404", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  for (const id of [await addCreditNote(other), randomUUID()]) {
    expect((await billing(account, "GET", `credit-notes/${id}`)).status).toBe(404);
  }
});
