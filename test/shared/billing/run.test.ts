import { expect, test } from "vitest";

import { newSeries } from "../../../shared/billing/invoices/invoice.ts";
import { changePlan } from "../../../shared/billing/plan.ts";
import { walletBalance } from "../../../shared/billing/views.ts";
import { plusDays } from "../../../shared/core/time.ts";
import { newScene } from "./scene.ts";

/** An account that was created on 15 January, with three mailboxes and enough money in its wallet. */
async function sceneOfJanuary() {
  const scene = await newScene("2026-01-15");
  await scene.use({ mailboxes: 3 });
  await scene.topUp(100_000);
  return scene;
}

type Scene = Awaited<ReturnType<typeof sceneOfJanuary>>;

/** The results that must not depend on when and how often the days were run. */
async function billOf({ invoices, accruals, wallet, account, state }: Scene) {
  const bills = (await invoices()).map(({ number, total, lines, period_start, period_end, status }) => ({
    number: number.slice(-6),
    total,
    lines,
    period_start,
    period_end,
    status,
  }));
  const { accrue_from, settle_from, open, invoices: count } = (await state()) ?? {};
  const { posted } = await wallet();
  return {
    bills,
    accruals: await accruals(),
    posted,
    status: (await account()).status,
    accrue_from,
    settle_from,
    open,
    count,
  };
}

const last = "2026-03-25";

/** Runs each day up to `last` on the day after it. */
async function daily(): Promise<Scene> {
  const scene = await sceneOfJanuary();
  for (let day = "2026-01-15"; day <= last; day = plusDays(day, 1)) {
    scene.on(plusDays(day, 1));
    await scene.run(day);
  }
  return scene;
}

test(
  "the bill is the same if the days run one by one, twice, 70 days late, backwards, or eight times at once",
  { timeout: 60_000 },
  async () => {
    const expected = await billOf(await daily());
    expect(
      expected.bills.map(({ number, period_start, period_end, total }) => [number, period_start, period_end, total]),
    ).toEqual([
      ["000001", "2026-01-15", "2026-01-31", 494],
      ["000002", "2026-02-01", "2026-02-28", 900],
    ]);
    expect(expected).toMatchObject({ posted: 100_000 - 494 - 900, status: "active", accrue_from: "2026-03-26" });
    expect(expected.accruals).toHaveLength(70);
    const twice = await sceneOfJanuary();
    const late = await sceneOfJanuary();
    const together = await sceneOfJanuary();
    for (const scene of [twice, late, together]) scene.on(plusDays(last, 1));
    for (const day of [last, last, "2026-02-01", "2026-01-20"]) await twice.run(day);
    await late.run(last);
    await Promise.all(Array.from({ length: 8 }, () => together.run(last)));
    for (const scene of [twice, late, together]) expect(await billOf(scene)).toEqual(expected);
  },
);

test("a repeated run changes nothing, and makes no event", async () => {
  const scene = await sceneOfJanuary();
  scene.on("2026-02-03");
  await scene.run("2026-02-02");
  const before = [await billOf(scene), await scene.events(), await scene.state()];
  await scene.run("2026-02-02");
  expect([await billOf(scene), await scene.events(), await scene.state()]).toEqual(before);
});

test("usage without an invoice is accrued, and subtracted from the net balance", async () => {
  const scene = await sceneOfJanuary();
  scene.on("2026-01-26");
  await scene.run("2026-01-25");
  expect(await walletBalance(scene.accountId, scene.context)).toEqual({
    balance: "1000.00",
    held: "0.00",
    available: "1000.00",
    // 3 mailboxes × 11 days × 3.00 ÷ 31
    accrued_charges: "3.19",
    net_balance: "996.81",
    currency: "USD",
  });
});

test("a month that costs nothing has no invoice, and leaves no gap in the numbers", async () => {
  const scene = await newScene("2026-01-15");
  await scene.topUp(100_000);
  await changePlan(scene.accountId, "per_dedicated_ip", undefined, scene.context);
  await scene.use({ dedicated_ips: 1, paid_until: "2026-02-10T00:00:00.000Z" });
  scene.on("2026-02-10");
  await scene.run("2026-02-09");
  expect(await scene.invoices()).toEqual([]);
  scene.on("2026-03-10");
  await scene.run("2026-03-09");
  expect((await scene.invoices()).map(({ number }) => number)).toEqual([`${newSeries(scene.accountId)}-000001`]);
});

test("days on the plan per dedicated IP without such an IP are charged by the default plan", async () => {
  const scene = await newScene("2026-01-01");
  await scene.topUp(100_000);
  await changePlan(scene.accountId, "per_dedicated_ip", undefined, scene.context);
  await scene.use({ mailboxes: 10 });
  scene.on("2026-01-11");
  await scene.run("2026-01-10");
  await scene.use({ dedicated_ips: 1, paid_until: "2026-02-10T00:00:00.000Z" });
  scene.on("2026-02-01");
  await scene.run("2026-01-31");
  const [invoice] = await scene.invoices();
  expect(invoice?.lines.map(({ description, quantity, amount }) => [description, quantity, amount])).toEqual([
    ["Per mailbox: mailboxes", "100 mailbox-days / 31", 968],
  ]);
});
