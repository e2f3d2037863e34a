import { expect, test } from "vitest";

import { listTransactions } from "../../../shared/billing/transactions.ts";
import { newScene, purchase } from "../billing/scene.ts";

/** An account with `amount` minor units in its wallet. */
async function sceneWith(amount: number) {
  const scene = await newScene("2026-03-02");
  await scene.topUp(amount);
  return scene;
}

test("of two concurrent spends of the last dollar one is done, and the other gets a 409 with the available amount", async () => {
  const { post, wallet, transactions } = await sceneWith(100);
  const spends = ["a", "b"].map((id) => post({ kind: "transfer", ...purchase(id, 100) }));
  const outcomes = await Promise.allSettled(spends);
  const refused = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
  expect(refused).toEqual([expect.objectContaining({ code: "insufficient_funds", status: 409 })]);
  expect(refused[0]).toMatchObject({ extras: { available: "0.00", currency: "USD" } });
  expect(await wallet()).toMatchObject({ posted: 0, available: 0 });
  expect((await transactions()).map(({ type, balance_after }) => [type, balance_after])).toEqual([
    ["topup", "1.00"],
    ["purchase", "0.00"],
  ]);
});

test("a hold is pending and takes no money, and a partial capture takes its part and frees the rest", async () => {
  const { post, wallet, transactions } = await sceneWith(1_000);
  await post({ kind: "hold", ...purchase("h", 700) });
  expect(await wallet()).toMatchObject({ posted: 1_000, available: 300 });
  expect((await transactions())[1]).toMatchObject({ status: "pending", amount: "7.00", balance_after: "10.00" });
  await post({ kind: "capture", id: "h", amount: 250 });
  expect(await wallet()).toMatchObject({ posted: 750, available: 750 });
  expect((await transactions())[1]).toMatchObject({ status: "settled", amount: "2.50", balance_after: "7.50" });
});

test("a voided hold takes no money, and cannot be captured any more", async () => {
  const { post, wallet, transactions } = await sceneWith(1_000);
  await post({ kind: "hold", ...purchase("h", 700) });
  await post({ kind: "void", id: "h" });
  await post({ kind: "void", id: "h" });
  await expect(post({ kind: "capture", id: "h" })).rejects.toThrow("is voided");
  expect(await wallet()).toMatchObject({ posted: 1_000, available: 1_000 });
  expect((await transactions()).map(({ status, amount }) => [status, amount])).toEqual([
    ["settled", "10.00"],
    ["void", "7.00"],
  ]);
});

test("several postings are done together or not at all, and each has its own transaction", async () => {
  const { post, wallet, transactions } = await sceneWith(1_000);
  const both = [300, 800].map((amount) => ({ kind: "transfer" as const, ...purchase(`p${amount}`, amount) }));
  await expect(post(...both)).rejects.toMatchObject({ code: "insufficient_funds" });
  expect(await transactions()).toHaveLength(1);
  await post({ kind: "transfer", ...purchase("x", 300) }, { kind: "hold", ...purchase("y", 400) });
  await post({ kind: "capture", id: "y" });
  expect(
    (await transactions()).map(({ type, amount, status, balance_after }) => [type, amount, status, balance_after]),
  ).toEqual([
    ["topup", "10.00", "settled", "10.00"],
    ["purchase", "3.00", "settled", "7.00"],
    ["purchase", "4.00", "settled", "3.00"],
  ]);
  expect(await wallet()).toMatchObject({ posted: 300 });
});

test("a repeated posting is not posted, listed or recorded again", async () => {
  const { post, events, transactions } = await sceneWith(1_000);
  for (let repeat = 0; repeat < 3; repeat++) await post({ kind: "transfer", ...purchase("same", 300) });
  expect(await transactions()).toHaveLength(2);
  expect((await events()).filter((type) => type === "billing.transaction.created")).toHaveLength(2);
});

test("the list has the newest transaction first, and an exact total", async () => {
  const { accountId, context, post } = await sceneWith(1_000);
  for (const id of ["a", "b", "c"]) await post({ kind: "transfer", ...purchase(id, 100) });
  const { items, total } = await listTransactions(accountId, { page: 1, page_size: 2, order: "desc" }, context);
  expect([items.map(({ movement_id }) => movement_id), total]).toEqual([["c", "b"], 4]);
});
