import { expect, test } from "vitest";

import { billing, fund } from "../../../support/billing.ts";
import { newAccount } from "../../../support/world.ts";

test("the newest comes first, page by page, each with the balance right after it", async () => {
  const account = await newAccount();
  for (const amount of [100, 200, 300]) await fund(account, amount);
  const page = async (query: string) => (await billing(account, "GET", `transactions?${query}`)).body;
  expect(await page("page_size=2")).toMatchObject({
    total: 3,
    items: [
      { amount: "3.00", balance_after: "6.00" },
      { amount: "2.00", balance_after: "3.00" },
    ],
  });
  expect(await page("page_size=2&page=2")).toMatchObject({ items: [{ amount: "1.00", balance_after: "1.00" }] });
  expect(await page("page=9")).toMatchObject({ total: 3, items: [] });
});

test("shows no ids of ours but the transaction's own", async () => {
  const account = await newAccount();
  await fund(account, 100);
  const [item] = (await billing(account, "GET", "transactions")).body.items;
  expect(Object.keys(item)).toEqual([
    "transaction_id",
    "type",
    "direction",
    "status",
    "amount",
    "currency",
    "balance_after",
    "description",
    "effective_at",
  ]);
});
