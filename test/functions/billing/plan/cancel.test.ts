import { expect, test } from "vitest";

import { dayOf, nextMonth } from "../../../../shared/core/time.ts";
import { ipsOf } from "../../../../shared/dedicated-ips/dedicated-ip.ts";
import { stateKey } from "../../../../shared/wallet/state.ts";
import { afterReading } from "../../../support/between.ts";
import { billing } from "../../../support/billing.ts";
import { activeHost, activeIp, claimed, newOption, send } from "../../../support/dedicated-ips.ts";
import { funded } from "../../../support/domains.ts";
import { storedOf } from "../../../support/entry-points.ts";
import { wallet } from "../../../support/purchases.ts";
import { request } from "../../../support/request.ts";
import { newAccount, type Account } from "../../../support/world.ts";

const cancel = (account: Account, body: object = {}) => billing(account, "POST", "cancel-plan", body);

test("by default, the plan ends with the month", async () => {
  const { body } = await cancel(await newAccount());
  expect(body).toMatchObject({
    status: "scheduled",
    effective_at: `${nextMonth(dayOf(new Date()))}T00:00:00.000Z`,
    previous_plan_id: "per_mailbox",
    target_plan_id: null,
  });
});

test("an immediate cancellation ends the plan at once, also if the plan was to end with the month", async () => {
  const account = await newAccount();
  await cancel(account);
  const { status, body } = await cancel(account, { cancel_immediately: true });
  expect([status, body.status]).toEqual([200, "cancelled"]);
});

test("a cancelled plan cannot be cancelled again", async () => {
  const account = await newAccount();
  await cancel(account);
  expect((await cancel(account)).body).toMatchObject({ status: 409, code: "plan_cancelled" });
  await cancel(account, { cancel_immediately: true });
  expect((await cancel(account, { cancel_immediately: true })).body).toMatchObject({ code: "plan_cancelled" });
});

const whens = [{}, { cancel_immediately: true }];

test("a plan cannot be cancelled until the managed dedicated IPs of the account are deleted", async () => {
  const account = await funded(await newAccount());
  const current = async () => (await billing(account, "GET", "current-plan")).body.can_cancel_plan;
  const ids = [(await activeIp(account)).id, (await claimed(account)).id];
  await activeHost(account);
  const before = await storedOf(account);
  for (const when of whens) {
    const { status, body } = await cancel(account, when);
    expect([status, body.code, body.dedicated_ip_count]).toEqual([409, "plan_in_use", 2]);
  }
  expect(await storedOf(account)).toEqual(before);
  expect(await current()).toBe(false);
  for (const id of ids) await send(account, "DELETE", `/${id}`);
  expect(await current()).toBe(true);
  for (const when of whens) expect((await cancel(account, when)).status).toBe(200);
});

test.each(whens)(
  "a cancellation %o and a claim of a dedicated IP at the same time: one succeeds, and the other is refused",
  async (when) => {
    const { option_id } = await newOption(8);
    for (let time = 0; time < 6; time++) {
      const account = await funded(await newAccount());
      const [cancelled, claim] = await Promise.all([
        cancel(account, when),
        send(account, "POST", "/claim", { option_id }),
      ]);
      const codes = [cancelled.body.code, claim.body.code];
      expect([
        ["plan_in_use", undefined],
        [undefined, "plan_cancelled"],
      ]).toContainEqual(codes);
      expect((await send(account, "GET")).body.total).toBe(codes[1] === undefined ? 1 : 0);
    }
  },
);

test("`cancel_at_period_end: false` without an immediate cancellation is refused", async () => {
  const { status, body } = await cancel(await newAccount(), { cancel_at_period_end: false });
  expect([status, body.detail[0].loc]).toEqual([422, ["body", "cancel_at_period_end"]]);
});

test("a cancellation both at once and with the month is refused at both members, and cancels nothing", async () => {
  const account = await newAccount();
  const before = await storedOf(account);
  const { status, body } = await cancel(account, { cancel_at_period_end: true, cancel_immediately: true });
  expect(status).toBe(422);
  expect(body.detail.map(({ loc }: { loc: unknown }) => loc)).toEqual([
    ["body", "cancel_at_period_end"],
    ["body", "cancel_immediately"],
  ]);
  expect(await storedOf(account)).toEqual(before);
});

test("code mode also refuses a cancellation both at once and with the month", async () => {
  const { id, owner } = await newAccount();
  const code = `billing.plan.cancel(account_id="${id}", cancel_at_period_end=true, cancel_immediately=true)`;
  const body = { request_id: "r", session_id: "s", code };
  const answer = await request("POST", "/v1/public/a2a", { token: owner.token, body });
  expect(answer.body).toMatchObject({ status: "failed", error: { code: "invalid_argument" } });
  expect(answer.text).toContain("cancel_immediately");
});

test.each([
  [{ cancel_at_period_end: true }, "scheduled"],
  [{ cancel_at_period_end: true, cancel_immediately: false }, "scheduled"],
  [{ cancel_at_period_end: false, cancel_immediately: true }, "cancelled"],
  [{ cancel_immediately: true }, "cancelled"],
  [{ cancel_immediately: false }, "scheduled"],
])("the cancellation %j is accepted, and its status is %s", async (body, expected) => {
  const answer = await cancel(await newAccount(), body);
  expect([answer.status, answer.body.status]).toEqual([200, expected]);
});

test.each(whens)(
  "a cancellation %o is refused if a dedicated IP is claimed after the cancellation has read the IPs",
  async (when) => {
    const account = await funded(await newAccount());
    const { partition, name } = ipsOf(account.id);
    const { body } = await afterReading(
      ({ PK, SK }) => PK === partition && SK === `LIST#${name}#HEAD`,
      () => claimed(account),
      () => cancel(account, when),
    );
    expect(body).toMatchObject({ status: 409, code: "plan_in_use", dedicated_ip_count: 1 });
    expect((await billing(account, "GET", "current-plan")).body.status).toBe("active");
  },
);

test.each(whens)("a claim is refused if a cancellation %o happens after the claim has read the plan", async (when) => {
  const account = await funded(await newAccount());
  const { option_id } = await newOption();
  const { body } = await afterReading(
    ({ PK, SK }) => PK === stateKey(account.id).PK && SK === stateKey(account.id).SK,
    () => cancel(account, when),
    () => send(account, "POST", "/claim", { option_id }),
  );
  expect(body).toMatchObject({ status: 409, code: "plan_cancelled" });
  expect((await send(account, "GET")).body.total).toBe(0);
  expect(await wallet(account)).toMatchObject({ available: (await wallet(account)).posted });
});
