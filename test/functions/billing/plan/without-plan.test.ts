import { afterEach, expect, test } from "vitest";

import { runAccount } from "../../../../shared/billing/run.ts";
import { readChangePages } from "../../../../shared/changes/history.ts";
import { clock, dayMs, dayOf, plusDays, setClockAhead } from "../../../../shared/core/time.ts";
import { stateKey } from "../../../../shared/wallet/state.ts";
import { billing, fund } from "../../../support/billing.ts";
import { active } from "../../../support/domains.ts";
import { askMailRoute, logsIn, sendsAs, whereTo } from "../../../support/mail-routes.ts";
import { setPassword, stocked } from "../../../support/mailboxes.ts";
import { request } from "../../../support/request.ts";
import { newAccount, testTable, type Account } from "../../../support/world.ts";

const password = "correct horse battery";

afterEach(() => setClockAhead(0));

/** An account with money, and a mailbox with a password. */
async function scene() {
  const account = await newAccount();
  await fund(account, 10_000);
  const { name } = await active(account);
  const [ada = ""] = await stocked(account, name, ["ada"]);
  await setPassword(account, ada, password);
  const address = `ada@${name}`;
  const use = async () => ({
    imap: await logsIn(address, password, "imap"),
    smtp: await logsIn(address, password, "smtp"),
    sends: await sendsAs(address, address),
    receives: (await whereTo(address))["kind"],
    signs: (await askMailRoute("dkim", `domain=${name}`)).status === 200,
  });
  const add = (path: string, body: object) =>
    request("POST", `/v1/public/accounts/${account.id}/${path}`, { token: account.owner.token, body });
  return { account, name, ada, address, use, add };
}

/** Runs the daily billing work for one account, as the worker does. */
const run = ({ id }: Account): Promise<void> =>
  runAccount(id, plusDays(dayOf(clock()), -1), { table: testTable(), now: clock, requestId: "test" });

const cancelNow = (account: Account) => billing(account, "POST", "cancel-plan", { cancel_immediately: true });
const resume = (account: Account) => billing(account, "POST", "change-plan", { plan_id: "per_mailbox" });

async function planEvents({ id }: Account): Promise<string[]> {
  const types: string[] = [];
  for await (const rows of readChangePages(testTable(), id, { sinceMs: 0 })) {
    types.push(...rows.map(({ type }) => String(type)));
  }
  return types.filter((type) => type.startsWith("billing.plan."));
}

const everything = { imap: true, smtp: true, sends: "allowed", receives: "mailbox", signs: true };

test("without a plan, nothing can be added, and the answer names the plans to choose from", async () => {
  const { account, name, ada, add } = await scene();
  const person = { first_name: "Bob", last_name: "B" };
  const calls: [path: string, body: object][] = [
    ["mailboxes", { domain: name, local_part: "bob", ...person }],
    ["mailboxes/bulk", { domain: name, items: [{ local_part: "carl", ...person }] }],
    [`mailboxes/${ada}/aliases`, { alias: "sales" }],
    [`mailboxes/${ada}/app-passwords`, { name: "Phone", protocols: ["imap"] }],
    ["credentials", { name: "Website", domain: name, generate: true }],
  ];
  await cancelNow(account);
  for (const [path, body] of calls) {
    const answer = await add(path, body);
    expect([path, answer.status, answer.body.code, answer.body.plans]).toEqual([
      path,
      409,
      "plan_required",
      ["per_mailbox", "per_dedicated_ip"],
    ]);
  }
  expect((await resume(account)).status).toBe(200);
  setClockAhead(dayMs);
  const statuses = await Promise.all(calls.map(async ([path, body]) => [path, (await add(path, body)).status]));
  expect(statuses.filter(([, status]) => Number(status) >= 300)).toEqual([]);
});

test("after an immediate cancellation, the refusal names the day on which the new plan begins", async () => {
  const { account, name, add } = await scene();
  await cancelNow(account);
  const bob = { domain: name, local_part: "bob", first_name: "Bob", last_name: "B" };
  expect((await add("mailboxes", bob)).body.detail).toContain("Change to a plan with billing.plan.change first.");
  expect((await resume(account)).body.status).toBe("scheduled");
  const { code, detail } = (await add("mailboxes", bob)).body;
  expect(code).toBe("plan_required");
  expect(detail).toContain(`Its plan Per mailbox begins on ${plusDays(dayOf(clock()), 1)} (UTC).`);
  expect(detail).not.toContain("billing.plan.change");
});

test("a plan that ends with the month works until then", async () => {
  const { account, name, use, add } = await scene();
  await billing(account, "POST", "cancel-plan", {});
  expect(await use()).toEqual(everything);
  const bob = { domain: name, local_part: "bob", first_name: "Bob", last_name: "B" };
  expect((await add("mailboxes", bob)).status).toBe(201);
  setClockAhead(32 * dayMs);
  expect(await use()).toEqual({ ...everything, sends: "plan_required" });
});

test("without a plan, no mail can be sent, and after 30 days no login works, but mail is still received", async () => {
  const { account, use } = await scene();
  expect(await use()).toEqual(everything);
  await cancelNow(account);
  const ended = { ...everything, sends: "plan_required" };
  expect(await use()).toEqual(ended);
  setClockAhead(dayMs);
  await run(account);
  setClockAhead(30 * dayMs);
  await run(account);
  await run(account);
  expect(await use()).toEqual(ended);
  setClockAhead(31 * dayMs);
  await run(account);
  expect(await use()).toEqual({
    imap: false,
    smtp: false,
    sends: "account_suspended",
    receives: "mailbox",
    signs: false,
  });
  expect(await planEvents(account)).toEqual(["billing.plan.cancelled", "billing.plan.ended", "billing.plan.lapsed"]);
});

test("the 30 days begin with the worker run that records the end of the plan", async () => {
  const { account, use } = await scene();
  await cancelNow(account);
  setClockAhead(90 * dayMs);
  await run(account);
  expect(await use()).toMatchObject({ imap: true, sends: "plan_required" });
  setClockAhead(119 * dayMs);
  await run(account);
  expect(await use()).toMatchObject({ imap: true });
  setClockAhead(120 * dayMs);
  await run(account);
  expect(await use()).toMatchObject({ imap: false });
});

test("a plan that is resumed on the day of its immediate cancellation begins on the next day", async () => {
  const { account, name, use, add } = await scene();
  await cancelNow(account);
  const tomorrow = plusDays(dayOf(clock()), 1);
  const { body } = await resume(account);
  expect(body).toMatchObject({ status: "scheduled", effective_at: `${tomorrow}T00:00:00.000Z` });
  expect((await billing(account, "GET", "current-plan")).body).toMatchObject({ plan_id: null, status: "cancelled" });
  expect((await billing(account, "GET", "plans")).body.plans[0]).toMatchObject({
    is_current: false,
    begins_on: tomorrow,
  });
  expect(await use()).toEqual({ ...everything, sends: "plan_required" });
  const bob = { domain: name, local_part: "bob", first_name: "Bob", last_name: "B" };
  expect((await add("mailboxes", bob)).body.code).toBe("plan_required");
  setClockAhead(dayMs);
  expect(await use()).toEqual(everything);
  expect((await billing(account, "GET", "current-plan")).body).toMatchObject({ plan_id: "per_mailbox" });
  expect((await add("mailboxes", bob)).status).toBe(201);
});

test("a resumed plan restores logins and sending at once, also after the 30 days", async () => {
  const { account, use } = await scene();
  await cancelNow(account);
  for (const days of [1, 31]) {
    setClockAhead(days * dayMs);
    await run(account);
  }
  expect(await use()).toMatchObject({ imap: false });
  expect((await resume(account)).body).toMatchObject({ status: "active", target_plan_id: "per_mailbox" });
  expect(await use()).toEqual(everything);
  // After a whole day with a plan, the next end of the plan begins new 30 days.
  setClockAhead(32 * dayMs);
  await run(account);
  await cancelNow(account);
  expect(await use()).toEqual({ ...everything, sends: "plan_required" });
});

test.each(["at once", "first at the end of the month"])(
  "a plan that is cancelled on its first day, %s, does not begin the 30 days again",
  async (when) => {
    const { account, use } = await scene();
    await cancelNow(account);
    for (const days of [1, 30]) {
      setClockAhead(days * dayMs);
      await run(account);
    }
    await resume(account);
    if (when !== "at once") expect((await billing(account, "POST", "cancel-plan", {})).status).toBe(200);
    expect(await use()).toEqual(everything);
    expect((await cancelNow(account)).status).toBe(200);
    expect(await use()).toMatchObject({ imap: true, sends: "plan_required" });
    setClockAhead(31 * dayMs);
    await run(account);
    expect(await use()).toMatchObject({ imap: false });
  },
);

test("a future plan that is cancelled before its first day does not begin the 30 days again", async () => {
  const { account, use } = await scene();
  await cancelNow(account);
  for (const days of [1, 31]) {
    setClockAhead(days * dayMs);
    await run(account);
  }
  const effective_date = plusDays(dayOf(clock()), 60);
  expect((await billing(account, "POST", "change-plan", { plan_id: "per_mailbox", effective_date })).status).toBe(200);
  expect((await billing(account, "POST", "cancel-plan", {})).status).toBe(200);
  expect(await use()).toMatchObject({ imap: false });
});

test("a request that succeeded with a plan has the same answer when it is repeated without a plan", async () => {
  const { account, name } = await scene();
  const bob = { domain: name, local_part: "bob", first_name: "Bob", last_name: "B" };
  const call = () =>
    request("POST", `/v1/public/accounts/${account.id}/mailboxes`, {
      token: account.owner.token,
      body: bob,
      headers: { "idempotency-key": "0190a0a0-0000-7000-8000-000000000001" },
    });
  const first = await call();
  await cancelNow(account);
  expect([first.status, (await call()).body]).toEqual([201, first.body]);
});

test("mail works as with a plan if the billing state cannot be read", async () => {
  const { account, use } = await scene();
  await cancelNow(account);
  await testTable().attempt({ update: stateKey(account.id), set: { plans: "broken" } });
  expect(await use()).toEqual(everything);
});
