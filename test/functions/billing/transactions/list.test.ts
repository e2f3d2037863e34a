import { expect, test } from "vitest";

import { rowKey } from "../../../../shared/table/ranked-list.ts";
import { transactionsOf } from "../../../../shared/wallet/transaction.ts";
import { planWallet, type Posting } from "../../../../shared/wallet/wallet.ts";
import { billing, fund } from "../../../support/billing.ts";
import { request, type Answer } from "../../../support/request.ts";
import { newAccount, testTable, type Account } from "../../../support/world.ts";

test("lists the newest transaction first, page by page, each with the balance right after it", async () => {
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
  expect(await page("order=asc&page_size=2")).toMatchObject({
    total: 3,
    items: [{ amount: "1.00" }, { amount: "2.00" }],
  });
  expect(await page("order=asc&page_size=2&page=2")).toMatchObject({ items: [{ amount: "3.00" }] });
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

const inMinutes = (minutes: number): Date => new Date(Date.now() + minutes * 60_000);

test("the end of a hold changes its status, but not its place in the list, which is sorted by `effective_at`", async () => {
  const account = await newAccount();
  await fund(account, 10_000);
  for (const [index, id] of ["freed", "taken", "left"].entries()) {
    await post(account, { kind: "hold", ...purchase(id, 100) }, inMinutes(index + 1));
  }
  await post(account, { kind: "transfer", ...purchase("after", 1) }, inMinutes(10));
  const before = await listed(account);
  await post(account, { kind: "void", id: "freed" }, inMinutes(20));
  await post(account, { kind: "capture", id: "taken", amount: 60 }, inMinutes(30));
  const after = await listed(account);
  expect(after.map(({ status }) => status)).toEqual(["settled", "pending", "settled", "void", "settled"]);
  const placesOf = (items: typeof before) =>
    items.map(({ transaction_id, effective_at }) => [transaction_id, effective_at]);
  expect(placesOf(after)).toEqual(placesOf(before));
  const instants = after.map(({ effective_at }) => effective_at);
  expect(instants).toEqual(instants.toSorted().toReversed());
});

test("the end of a hold changes its balance to the balance at this time, also if the hold is voided or expires", async () => {
  const account = await newAccount();
  await fund(account, 10_000);
  for (const id of ["freed", "expired", "taken"])
    await post(account, { kind: "hold", ...purchase(id, 100), expiresAt: inMinutes(5).toISOString() }, inMinutes(1));
  await post(account, { kind: "transfer", ...purchase("after", 1_000) }, inMinutes(2));
  await post(account, { kind: "void", id: "freed" }, inMinutes(3));
  await post(account, { kind: "capture", id: "taken" }, inMinutes(4));
  await post(account, { kind: "expire", id: "expired" }, inMinutes(6));
  const { items } = (await billing(account, "GET", "transactions?order=asc")).body;
  expect(items.map((item: Record<string, string>) => [item["status"], item["balance_after"]])).toEqual([
    ["settled", "100.00"],
    ["void", "90.00"],
    ["void", "89.00"],
    ["settled", "89.00"],
    ["settled", "90.00"],
  ]);
});

test("transactions that were made at the same moment by different clocks are sorted by `effective_at`", async () => {
  const account = await newAccount();
  await fund(account, 10_000);
  const skews = [5, -5, 3, 0, -1, 5];
  await Promise.all(
    skews.map((skew, index) => post(account, { kind: "transfer", ...purchase(String(index), 1) }, inMinutes(skew))),
  );
  const instants = (await listed(account)).map(({ effective_at }) => effective_at);
  expect(instants).toHaveLength(7);
  expect(instants).toEqual(instants.toSorted().toReversed());
});

test("a hold whose `effective_at` the product's first version changed is shown with the time at which it was held", async () => {
  const account = await newAccount();
  await fund(account, 10_000);
  await post(account, { kind: "hold", ...purchase("held", 100) }, inMinutes(1));
  const [{ effective_at: heldAt } = { effective_at: "" }] = await listed(account);
  await post(account, { kind: "void", id: "held" }, inMinutes(2));
  const key = rowKey(transactionsOf(account.id), 1);
  const moved = { effective_at: inMinutes(2).toISOString() };
  await testTable().attempt({ update: key, set: moved, remove: ["resolved_at"] });
  expect((await listed(account))[0]).toMatchObject({ status: "void", effective_at: heldAt });
});

test("shows no internal ids, only the id of the transaction", async () => {
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
    "vat",
    "effective_at",
  ]);
});

/** An account with a top-up now, holds 1 to 5 minutes from now, and charges 6 to 8 minutes from now. */
async function manyMovements(): Promise<Account> {
  const account = await newAccount();
  await fund(account, 10_000);
  for (const minute of [1, 2, 3, 4, 5])
    await post(account, { kind: "hold", ...purchase(`p${minute}`, minute) }, inMinutes(minute));
  for (const minute of [6, 7, 8]) {
    await post(account, { kind: "transfer", ...purchase(`c${minute}`, minute), type: "charge" }, inMinutes(minute));
  }
  return account;
}

test("filters by type and time together, and pages through the matching transactions with their total", async () => {
  const account = await manyMovements();
  const all = (await billing(account, "GET", "transactions?page_size=100&order=asc")).body.items as {
    type: string;
    amount: string;
    effective_at: string;
  }[];
  expect(all).toHaveLength(9);
  const times = all.map(({ effective_at }) => effective_at);
  const conditions: { [Name in "type" | "since" | "until"]?: string | undefined }[] = [
    {},
    { type: "charge" },
    { type: "refund" },
    { since: times[3] },
    { until: times[3] },
    { since: times[2], until: times[7] },
    { type: "purchase", since: times[2], until: times[4] },
    { since: "2001-01-01T00:00:00+02:00", until: "2002-01-01T00:00:00Z" },
    { since: "9000-01-01T00:00:00Z" },
    // In UTC, these times are in the years 10000 and −1.
    { until: "9999-12-31T23:59:59-14:00" },
    { since: "0000-01-01T00:00:00+14:00" },
  ];
  for (const { type, since, until } of conditions) {
    const matching = all.filter(
      (one) =>
        (type === undefined || one.type === type) &&
        (since === undefined || Date.parse(one.effective_at) >= Date.parse(since)) &&
        (until === undefined || Date.parse(one.effective_at) < Date.parse(until)),
    );
    for (const [order, sorted] of [["asc", matching] as const, ["desc", matching.toReversed()] as const]) {
      for (const page of [1, 2, 3, 9]) {
        const query = new URLSearchParams({ order, page: String(page), page_size: "2" });
        for (const [name, value] of Object.entries({ type, since, until })) if (value) query.set(name, value);
        const { body } = await billing(account, "GET", `transactions?${query.toString()}`);
        expect(body).toEqual({
          items: sorted.slice(page * 2 - 2, page * 2),
          page,
          page_size: 2,
          total: matching.length,
        });
      }
    }
  }
});

test("refuses a time range that ends before it begins, an unknown type, and an invalid time, each at its place", async () => {
  const account = await newAccount();
  const locOf = async (query: string) => (await billing(account, "GET", `transactions?${query}`)).body.detail[0].loc;
  expect(await locOf("since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z")).toEqual(["query", "until"]);
  expect(await locOf("type=gift")).toEqual(["query", "type"]);
  expect(await locOf("since=yesterday")).toEqual(["query", "since"]);
});

const asCsv = ({ id, owner }: Account, query = "", accept = "text/csv"): Promise<Answer> =>
  request("GET", `/v1/public/accounts/${id}/billing/transactions${query}`, { token: owner.token, headers: { accept } });

test("a CSV file has all matching transactions, not only a page, and no formula", async () => {
  const account = await manyMovements();
  const formula = { ...purchase("formula", 9), description: '=HYPERLINK("https://evil.example")' };
  await post(account, { kind: "transfer", ...formula }, inMinutes(9));
  const answer = await asCsv(account, "?page_size=2&type=purchase&order=asc");
  expect([answer.status, answer.headers]).toMatchObject([
    200,
    {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": 'attachment; filename="transactions.csv"',
      vary: "accept",
    },
  ]);
  const [head = "", ...lines] = answer.text.trimEnd().split("\r\n");
  expect(head).toBe("transaction_id,effective_at,type,direction,status,amount,currency,balance_after,description,vat");
  expect(lines).toHaveLength(6);
  expect(lines[0]).toMatch(/^[0-9a-f-]{36},[^,]+Z,purchase,debit,pending,0.01,USD,100.00,It,$/);
  expect(lines[5]).toContain(`"'=HYPERLINK(""https://evil.example"")"`);
  expect(answer.text).not.toContain("movement_id");
});

test("the answer is JSON unless CSV is preferred", async () => {
  const account = await newAccount();
  const typeFor = async (accept: string) => (await asCsv(account, "", accept)).headers["content-type"];
  for (const accept of ["*/*", "application/json", "text/csv, application/json", "text/csv;q=0.5, */*"]) {
    expect([accept, await typeFor(accept)]).toEqual([accept, expect.stringContaining("application/json")]);
  }
  expect(await typeFor("application/json;q=0.5, text/csv")).toContain("text/csv");
});

test("a file of more than 10,000 transactions is a 422 that says how many there are", async () => {
  const account = await newAccount();
  await fund(account, 100);
  const { partition: PK, name } = transactionsOf(account.id);
  await testTable().attempt({
    update: { PK, SK: `LIST#${name}#HEAD` },
    add: { next: 10_000, live: 10_000, version: 1 },
  });
  const { status, body } = await asCsv(account);
  expect([status, body.detail[0]]).toEqual([
    422,
    { loc: ["query", "since"], msg: expect.stringContaining("10001 transactions match"), type: "too_many" },
  ]);
});
