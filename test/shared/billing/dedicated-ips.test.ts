import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Accrual, accrualKey } from "../../../shared/billing/charges.ts";
import { readUsage } from "../../../shared/billing/usage.ts";
import { dayOf, plusDays, type Day } from "../../../shared/core/time.ts";
import { ipKey } from "../../../shared/dedicated-ips/dedicated-ip.ts";
import { firstState, stateKey } from "../../../shared/wallet/state.ts";
import { billing, closeDays, use } from "../../support/billing.ts";
import { activeHost, activeIp, claimed, newOption, send, storedIp } from "../../support/dedicated-ips.ts";
import { write } from "../../support/domain-work.ts";
import { funded } from "../../support/domains.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

// The clock stands still, so that the day does not end while the tests run.
const now = new Date();
const today = dayOf(now);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now }));
afterEach(() => void vi.useRealTimers());

const chargedIps = async (account: Account, from: Day, to: Day): Promise<number[]> =>
  (await accruals(account, from, to)).map(({ dedicated_ips }) => dedicated_ips);

const accruals = async (account: Account, from: Day, to: Day): Promise<Accrual[]> => {
  const rows = await testTable().between(
    `ACCOUNT#${account.id}`,
    accrualKey(account.id, from).SK,
    accrualKey(account.id, to).SK,
  );
  return rows.map((row) => Accrual.parse(row));
};

const usedOn = async (account: Account, day: Day): Promise<number> =>
  (await readUsage(testTable(), account.id, { from: day, today })).dedicatedIpsOn(day);

test("a managed IP is charged for each day after its first thirty days, which were paid in advance", async () => {
  const account = await funded(await newAccount());
  const { id } = await activeIp(account);
  const first = dayOf(new Date((await storedIp(account, id))?.paid_until ?? ""));
  expect(first).toBe(plusDays(today, 30));
  await closeDays(account, plusDays(today, 34));
  expect(await chargedIps(account, today, plusDays(today, 29))).toEqual(Array.from({ length: 30 }, () => 0));
  expect(await chargedIps(account, first, plusDays(today, 34))).toEqual([1, 1, 1, 1, 1]);
});

test("an active, degraded or suspended managed IP counts as usage, and a stored number of IPs does not", async () => {
  const account = await funded(await newAccount());
  const { id } = await activeIp(account);
  const day = plusDays(today, 31);
  for (const status of ["active", "degraded", "suspended"]) {
    await write({ update: ipKey(account.id, id), set: { status } });
    expect(await usedOn(account, day), status).toBe(1);
  }
  expect(await usedOn(account, today)).toBe(0);
  // An operator of the first edition stored these numbers. The product counts itself now.
  await write({ put: { PK: `ACCOUNT#${account.id}`, SK: "USAGE", mailboxes: 2, dedicated_ips: 3 } });
  expect(await usedOn(account, day)).toBe(1);
  expect((await readUsage(testTable(), account.id, { from: day, today })).mailboxesOn(day)).toBe(0);
});

test("on days without a plan only managed IPs count as usage, and the default plan applies", async () => {
  const account = await funded(await newAccount());
  await activeIp(account);
  await use(account, 5);
  const plans = [{ plan_id: null, from: today }];
  await write({ put: { ...stateKey(account.id), ...firstState(new Date().toISOString()), plans, version: 1 } });
  const [first, last] = [plusDays(today, 30), plusDays(today, 32)];
  await closeDays(account, last);
  expect(await accruals(account, today, last)).toEqual(
    [first, plusDays(first, 1), last].map((day) => ({
      day,
      plan_id: "per_mailbox",
      mailboxes: 0,
      dedicated_ips: 1,
      sent_mails: 0,
    })),
  );
});

test("a forecast expects that a provisioning IP becomes active tomorrow, and is charged after its thirty paid days", async () => {
  const account = await funded(await newAccount());
  await claimed(account);
  const charged = plusDays(today, 31);
  expect([await usedOn(account, plusDays(charged, -1)), await usedOn(account, charged)]).toEqual([0, 1]);
  await closeDays(account, charged);
  expect(await chargedIps(account, today, charged)).toEqual(Array.from({ length: 32 }, () => 0));
});

test("a deleted IP and a customer's own host cost nothing", async () => {
  const account = await funded(await newAccount());
  await activeHost(account);
  const { id } = await activeIp(account);
  await send(account, "DELETE", `/${id}`);
  expect(await usedOn(account, plusDays(today, 60))).toBe(0);
});

test("on the day of its deletion, a managed IP keeps the account's plan, and is charged if the day is not prepaid", async () => {
  const account = await funded(await newAccount());
  const [paid, unpaid] = [await activeIp(account), await activeIp(account)];
  await use(account, 5);
  const plans = [{ plan_id: "per_dedicated_ip", from: today }];
  await write({ put: { ...stateKey(account.id), ...firstState(new Date().toISOString()), plans, version: 1 } });
  await write({ update: ipKey(account.id, unpaid.id), set: { paid_until: `${today}T00:00:00.000Z` } });
  for (const { id } of [paid, unpaid]) expect((await send(account, "DELETE", `/${id}`)).status).toBe(200);
  const tomorrow = plusDays(today, 1);
  await closeDays(account, tomorrow);
  expect(await accruals(account, today, tomorrow)).toEqual([
    { day: today, plan_id: "per_dedicated_ip", mailboxes: 5, dedicated_ips: 1, sent_mails: 0 },
    { day: tomorrow, plan_id: "per_mailbox", mailboxes: 5, dedicated_ips: 0, sent_mails: 0 },
  ]);
});

test("a managed IP counts for the plan from the day on which it is ready, not from the day of its claim", async () => {
  const account = await funded(await newAccount());
  await use(account, 5);
  const plans = [{ plan_id: "per_dedicated_ip", from: today }];
  await write({ put: { ...stateKey(account.id), ...firstState(new Date().toISOString()), plans, version: 1 } });
  const { id } = await claimed(account);
  const tomorrow = plusDays(today, 1);
  await write({ update: ipKey(account.id, id), set: { paid_until: `${plusDays(tomorrow, 30)}T00:05:00.000Z` } });
  const other = await claimed(account);
  await closeDays(account, tomorrow);
  expect((await accruals(account, today, tomorrow)).map(({ plan_id }) => plan_id)).toEqual([
    "per_mailbox",
    "per_dedicated_ip",
  ]);
  const usage = await readUsage(testTable(), account.id, { from: today, today });
  expect([today, tomorrow].map(usage.hasDedicatedIpOn)).toEqual([false, true]);
  expect((await storedIp(account, other.id))?.paid_until).toBeUndefined();
});

/** The plans by which the days of this month up to now are charged. */
const chargedPlans = async (account: Account): Promise<string[]> =>
  (await billing(account, "GET", "usage")).body.days.map(({ plan_id }: { plan_id: string }) => plan_id);

const descriptionsOf = ({ lines }: { lines: { description: string }[] }): string[] =>
  lines.map(({ description }) => description);

const toDedicated = (account: Account, more: object = {}) =>
  billing(account, "POST", "change-plan", { plan_id: "per_dedicated_ip", ...more });

test("an IP that was claimed for the price of a cheaper plan makes no mailbox free in its first days", async () => {
  const account = await funded(await newAccount());
  await use(account, 10);
  const { id } = await activeIp(account);
  const { this_period } = (await toDedicated(account, { dry_run: true })).body.preview;
  expect(descriptionsOf(this_period)).toContain("Per mailbox: mailboxes");
  expect((await toDedicated(account)).status).toBe(200);
  expect(await chargedPlans(account)).toEqual(["per_mailbox"]);
  const [last, next] = [plusDays(today, 29), plusDays(today, 30)];
  await closeDays(account, next);
  const days = await accruals(account, today, next);
  expect(new Set(days.slice(0, -1).map(({ plan_id }) => plan_id))).toEqual(new Set(["per_mailbox"]));
  expect(days.at(-2)).toMatchObject({ day: last, mailboxes: 10, dedicated_ips: 0 });
  // From here on, the IP is charged by the plan of the day.
  expect(days.at(-1)).toMatchObject({ day: next, plan_id: "per_dedicated_ip", dedicated_ips: 1 });
  expect(await storedIp(account, id)).toMatchObject({ first_days_price: 2_500 });
});

test("the day on which a cheap IP is deleted is charged by the default plan too", async () => {
  const account = await funded(await newAccount());
  await use(account, 10);
  const { id } = await activeIp(account);
  await toDedicated(account);
  expect((await send(account, "DELETE", `/${id}`)).status).toBe(200);
  expect(await chargedPlans(account)).toEqual(["per_mailbox"]);
});

test("an IP that was claimed for the price of the plan counts at once, and so does an IP of an earlier version", async () => {
  const account = await funded(await newAccount());
  await use(account, 10);
  await toDedicated(account);
  const { option_id } = await newOption();
  const dry = (await send(account, "POST", "/claim", { option_id, dry_run: true })).body;
  for (const period of [dry.preview.this_period, dry.preview.next_period])
    expect(descriptionsOf(period)).not.toContain("Per mailbox: mailboxes");
  await activeIp(account);
  expect(await chargedPlans(account)).toEqual(["per_dedicated_ip"]);
  const earlier = await funded(await newAccount());
  const { id } = await activeIp(earlier);
  await write({ update: ipKey(earlier.id, id), set: {}, remove: ["first_days_price"] });
  await toDedicated(earlier);
  expect(await chargedPlans(earlier)).toEqual(["per_dedicated_ip"]);
});

test("a managed IP that is deleted before it is active does not keep the account's plan for that day", async () => {
  const account = await funded(await newAccount());
  const { id } = await claimed(account);
  await use(account, 5);
  const plans = [{ plan_id: "per_dedicated_ip", from: today }];
  await write({ put: { ...stateKey(account.id), ...firstState(new Date().toISOString()), plans, version: 1 } });
  expect((await send(account, "DELETE", `/${id}`)).status).toBe(200);
  await closeDays(account, today);
  expect(await accruals(account, today, today)).toEqual([
    { day: today, plan_id: "per_mailbox", mailboxes: 5, dedicated_ips: 0, sent_mails: 0 },
  ]);
});
