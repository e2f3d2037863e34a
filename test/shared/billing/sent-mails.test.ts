import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { usageOf } from "../../../shared/billing/period.ts";
import { changePlan } from "../../../shared/billing/plan.ts";
import { idWithOrdinal } from "../../../shared/core/ids.ts";
import { plusDays } from "../../../shared/core/time.ts";
import { checkLedger } from "../../../shared/ledger/check.ts";
import { mailboxKey, type StoredMailbox } from "../../../shared/mail/mailboxes/mailbox.ts";
import { reportUsage, UsageBatch } from "../../../shared/mail/usage/report.ts";
import { walletOf } from "../../../shared/wallet/wallet.ts";
import { testTable } from "../../support/world.ts";
import { newScene } from "./scene.ts";

const table = testTable();
const created = "2026-01-15";

/** An account that was created on 15 January, on the plan that charges sent mail, with a mailbox and money. */
async function sceneThatSends({ hasIp = true } = {}) {
  const scene = await newScene(created);
  const { accountId, context } = scene;
  await changePlan(accountId, "per_dedicated_ip", undefined, context);
  if (hasIp) await scene.use({ dedicated_ips: 1, paid_until: "2026-02-14T12:00:00.000Z" });
  await scene.topUp(100_000);
  const id = idWithOrdinal(0);
  const mailbox: Partial<StoredMailbox> = {
    id,
    domain_id: idWithOrdinal(0),
    place: 0,
    local_part: "ada",
    quota: 1,
    used: 0,
  };
  const rest = {
    first_name: "A",
    last_name: "B",
    aliases: [],
    status: "active",
    created_at: "2020-01-01T00:00:00.000Z",
    updated_at: "",
    version: 1,
  };
  const login = { hash: "", tag: "" };
  await table.attempt({ put: { ...mailboxKey(accountId, id), ...mailbox, ...rest, login } });
  /** Reports mails that were sent on the day `on`. The report arrives at the time of the scene's clock. */
  const send = (recipients: number, { on = created, batch_id = randomUUID() } = {}) => {
    const entry = {
      account_id: accountId,
      mailbox_id: id,
      at: `${on}T08:00:00Z`,
      address: "ada@acme.example",
      recipients,
    };
    const content = UsageBatch.parse({ batch_id, sent: [entry] });
    return reportUsage({ content, fingerprint: JSON.stringify(content) }, { table, now: context.now });
  };
  const expectSoundLedger = async () =>
    expect(await checkLedger(table, walletOf(accountId), { entries: 1_000 })).toEqual({
      problems: [],
      unsettled: false,
    });
  return { ...scene, send, expectSoundLedger };
}

test("sent mail is on the invoice of the month in which it was reported, and the ledger adds up", async () => {
  const { send, run, on, invoices, wallet, expectSoundLedger, accruals } = await sceneThatSends();
  await send(10_000);
  on("2026-01-31");
  await send(2_500, { on: "2026-01-20" });
  on("2026-02-01");
  // These mails are reported after the end of their month.
  await send(5_000, { on: "2026-01-31" });
  await run("2026-01-31");
  expect((await invoices()).map(({ lines, total }) => [lines, total])).toEqual([
    [
      [
        {
          description: "Per dedicated IP: sent mails, by the thousand",
          quantity: "12500 mails",
          unit_price: 40,
          amount: 500,
        },
      ],
      500,
    ],
  ]);
  expect(
    (await accruals()).filter(({ sent_mails }) => sent_mails > 0).map(({ day, sent_mails }) => [day, sent_mails]),
  ).toEqual([
    [created, 10_000],
    ["2026-01-31", 2_500],
  ]);
  on("2026-03-01");
  await run("2026-02-28");
  // From 14 February on, the IP is charged: 15 of 28 days.
  expect((await invoices()).map(({ total, status }) => [total, status])).toEqual([
    [500, "paid"],
    [200 + 5_304, "paid"],
  ]);
  expect((await wallet()).posted).toBe(100_000 - 700 - 5_304);
  await expectSoundLedger();
});

test("sent mail is billed once, even if its batch is reported again, and its days are run again", async () => {
  const { send, run, on, invoices, wallet, expectSoundLedger } = await sceneThatSends();
  const batch_id = randomUUID();
  await Promise.all(Array.from({ length: 4 }, () => send(25_000, { batch_id })));
  for (let day = created; day < "2026-02-01"; day = plusDays(day, 1)) {
    on(plusDays(day, 1));
    await run(day);
    await send(25_000, { batch_id });
    await run(day);
  }
  await Promise.all(Array.from({ length: 8 }, () => run("2026-01-31")));
  expect((await invoices()).map(({ total }) => total)).toEqual([1_000]);
  expect((await wallet()).posted).toBe(99_000);
  await expectSoundLedger();
});

test("a forecast expects the mean of the past days for today and each later day, and past days keep their own mails", async () => {
  const { send, on, accountId, context } = await sceneThatSends();
  await send(8_000);
  // 15 and 16 January are not recorded yet. Their mean is 4,000 mails a day, for 15 days from 17 to 31 January.
  on("2026-01-17");
  const { forecast } = await usageOf(accountId, undefined, context);
  expect(forecast).toMatchObject({ lines: [{ quantity: `${8_000 + 15 * 4_000} mails` }], total: "27.20" });
  // Today has more mails than the estimate. These mails count today, and are in the mean only tomorrow.
  await send(5_000, { on: "2026-01-17" });
  expect((await usageOf(accountId, undefined, context)).forecast).toMatchObject({
    lines: [{ quantity: `${8_000 + 5_000 + 14 * 4_000} mails` }],
    total: "27.60",
  });
});

test("sent mail costs nothing on a plan without a price for sent mail", async () => {
  const { send, run, on, invoices, accountId, context, accruals } = await sceneThatSends();
  await changePlan(accountId, "per_mailbox", undefined, context);
  await send(100_000);
  on("2026-02-01");
  await run("2026-01-31");
  expect((await accruals())[0]).toMatchObject({ plan_id: "per_mailbox", sent_mails: 100_000 });
  // Only the minimum of 17 days.
  expect((await invoices()).map(({ total }) => total)).toEqual([274]);
});

test("if mail was sent today, a change of the plan takes effect tomorrow, and today's mails keep their plan", async () => {
  const { accountId, context, send, run, on, accruals } = await sceneThatSends();
  on("2026-01-20");
  await send(10_000, { on: "2026-01-20" });
  await expect(changePlan(accountId, "per_mailbox", "2026-01-20", context)).rejects.toMatchObject({
    errors: [{ loc: ["body", "effective_date"], msg: expect.stringContaining("Mail was sent today") }],
  });
  expect(await changePlan(accountId, "per_mailbox", undefined, context)).toMatchObject({
    status: "scheduled",
    effective_at: "2026-01-21T00:00:00.000Z",
    previous_plan_id: "per_dedicated_ip",
    target_plan_id: "per_mailbox",
  });
  // A change back to the plan of today takes effect at once.
  expect(await changePlan(accountId, "per_dedicated_ip", "2026-01-20", context)).toMatchObject({ status: "active" });
  await changePlan(accountId, "per_mailbox", undefined, context);
  on("2026-01-22");
  await run("2026-01-21");
  expect((await accruals()).slice(-2)).toMatchObject([
    { day: "2026-01-20", plan_id: "per_dedicated_ip", sent_mails: 10_000 },
    { day: "2026-01-21", plan_id: "per_mailbox", sent_mails: 0 },
  ]);
});

test("if the account was suspended at the end of a day, only the mails of the day are charged, also if the day is recorded late", async () => {
  const { accountId, context, send, run, on, accruals } = await sceneThatSends();
  on("2026-01-19");
  await run("2026-01-18");
  await send(10_000, { on: "2026-01-19" });
  await setAccountStatus(table, accountId, "suspended", context.now());
  on("2026-01-21");
  await setAccountStatus(table, accountId, "active", context.now());
  on("2026-01-22");
  await run("2026-01-21");
  expect((await accruals()).filter(({ day }) => day > "2026-01-18")).toMatchObject([
    { day: "2026-01-19", plan_id: "per_dedicated_ip", mailboxes: 0, dedicated_ips: 0, sent_mails: 10_000 },
    { day: "2026-01-21", sent_mails: 0 },
  ]);
});

test("the mails of the day of a suspension are charged by the default plan if the account lacks the IP of its plan", async () => {
  const { accountId, context, send, run, on, accruals, invoices } = await sceneThatSends({ hasIp: false });
  await send(5_000);
  await setAccountStatus(table, accountId, "suspended", context.now());
  on("2026-02-01");
  await run("2026-01-31");
  expect(await accruals()).toEqual([
    { day: created, plan_id: "per_mailbox", mailboxes: 0, dedicated_ips: 0, sent_mails: 5_000 },
  ]);
  // The minimum of one day: 5.00 / 31.
  expect((await invoices()).map(({ total }) => total)).toEqual([16]);
});
