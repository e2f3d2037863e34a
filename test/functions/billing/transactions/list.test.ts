import { expect, test } from "vitest";

import { rowKey } from "../../../../shared/table/ranked-list.ts";
import { transactionsOf } from "../../../../shared/wallet/transaction.ts";
import { planWallet, type Posting } from "../../../../shared/wallet/wallet.ts";
import { billing, fund } from "../../../support/billing.ts";
import { newAccount, testTable, type Account } from "../../../support/world.ts";

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

const purchase = (id: string, amount: number) =>
  ({ id, debit: "wallet", credit: "revenue", amount, code: "purchase", type: "purchase", description: "It" }) as const;

const post = (account: Account, posting: Posting, at: Date): Promise<void> =>
  testTable().commit(async () => {
    const { writes } = await planWallet(testTable(), account.id, [posting], at);
    return { value: undefined, writes };
  });

const listed = async (account: Account): Promise<{ transaction_id: string; status: string; effective_at: string }[]> =>
  (await billing(account, "GET", "transactions")).body.items;

const later = (minutes: number): Date => new Date(Date.now() + minutes * 60_000);

test("what becomes of a hold changes its status, and not its place: the newest by `effective_at` comes first", async () => {
  const account = await newAccount();
  await fund(account, 10_000);
  for (const [index, id] of ["freed", "taken", "left"].entries()) {
    await post(account, { kind: "hold", ...purchase(id, 100) }, later(index + 1));
  }
  await post(account, { kind: "transfer", ...purchase("after", 1) }, later(10));
  const before = await listed(account);
  await post(account, { kind: "void", id: "freed" }, later(20));
  await post(account, { kind: "capture", id: "taken", amount: 60 }, later(30));
  const after = await listed(account);
  expect(after.map(({ status }) => status)).toEqual(["settled", "pending", "settled", "void", "settled"]);
  const placesOf = (items: typeof before) =>
    items.map(({ transaction_id, effective_at }) => [transaction_id, effective_at]);
  expect(placesOf(after)).toEqual(placesOf(before));
  const instants = after.map(({ effective_at }) => effective_at);
  expect(instants).toEqual(instants.toSorted().toReversed());
});

test("transactions made at once, by clocks that differ, are in the order of their instants", async () => {
  const account = await newAccount();
  await fund(account, 10_000);
  const skews = [5, -5, 3, 0, -1, 5];
  await Promise.all(
    skews.map((skew, index) => post(account, { kind: "transfer", ...purchase(String(index), 1) }, later(skew))),
  );
  const instants = (await listed(account)).map(({ effective_at }) => effective_at);
  expect(instants).toEqual(instants.toSorted().toReversed());
});

test("a hold that the first edition resolved, and moved in time by that, is told of as of when it was held", async () => {
  const account = await newAccount();
  await fund(account, 10_000);
  await post(account, { kind: "hold", ...purchase("held", 100) }, later(1));
  const [{ effective_at: heldAt } = { effective_at: "" }] = await listed(account);
  await post(account, { kind: "void", id: "held" }, later(2));
  const key = rowKey(transactionsOf(account.id), 1);
  const moved = { effective_at: later(2).toISOString() };
  await testTable().attempt({ update: key, set: moved, remove: ["resolved_at"] });
  expect((await listed(account))[0]).toMatchObject({ status: "void", effective_at: heldAt });
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
