import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { plans } from "../../../shared/wallet/catalogue.ts";
import { billing } from "../../support/billing.ts";
import { readCsv } from "../../support/csv.ts";
import { storedOf } from "../../support/entry-points.ts";
import { addMailbox, at, home, person, send } from "../../support/mailboxes.ts";
import { recorded } from "../../support/recorded.ts";
import { newRoomyAccount } from "../../support/roomy.ts";

const gibibyte = 2 ** 30;
const { mailboxBytes: most } = plans.per_mailbox;

async function scene() {
  const account = await newRoomyAccount();
  const { name: domain } = await home(account);
  const add = (quota_allowed: unknown, local = "ada") =>
    addMailbox(account, { domain, ...person(local), ...(quota_allowed === undefined ? {} : { quota_allowed }) });
  return { account, domain, add };
}

test("a mailbox gets the given quota, up to the limit of the plan, and 10 GiB if no quota is given", async () => {
  const { account, add } = await scene();
  expect((await add(undefined)).body.quota).toEqual({ allowed: 10 * gibibyte, used: 0 });
  expect((await add(2 ** 20, "bob")).body.quota).toEqual({ allowed: 2 ** 20, used: 0 });
  const { status, body } = await add(most, "carl");
  expect([status, body.quota.allowed]).toEqual([201, most]);
  expect((await send(account, "GET", at(body.id))).body.quota).toEqual({ allowed: most, used: 0 });
});

test("an update can change only the quota, and the same update again records nothing", async () => {
  const { account, add } = await scene();
  const made = (await add(undefined)).body;
  const update = (body: object) => send(account, "PATCH", at(made.id), body);
  const { body } = await update({ quota_allowed: 20 * gibibyte });
  expect(body).toEqual({ ...made, quota: { allowed: 20 * gibibyte, used: 0 }, updated_at: body.updated_at });
  expect((await update({ quota_allowed: 20 * gibibyte })).body).toEqual(body);
  expect((await update({ last_name: "King" })).body).toMatchObject({ last_name: "King", quota: body.quota });
  const [, changed] = await recorded(account, "mailbox.updated");
  expect(changed).toMatchObject({ before: { quota: made.quota }, after: { quota: body.quota } });
});

test("a quota above the limit of the plan is refused with the plan and its limit, and an invalid quota is refused too", async () => {
  const { account, add } = await scene();
  const { id } = (await add(undefined)).body;
  const before = await storedOf(account);
  const msg = `The plan Per mailbox allows a mailbox a quota of ${most} bytes (50 GiB) at most`;
  for (const answer of [
    await add(most + 1, "bob"),
    await send(account, "PATCH", at(id), { quota_allowed: most + 1 }),
  ]) {
    expect([answer.status, answer.body.detail]).toEqual([
      422,
      [{ loc: ["body", "quota_allowed"], msg, type: "value_error" }],
    ]);
  }
  for (const wrong of [0, -1, 2 ** 20 - 1, 1.5 * gibibyte + 0.5, "1", null, 2 ** 60]) {
    for (const answer of [await add(wrong, "bob"), await send(account, "PATCH", at(id), { quota_allowed: wrong })]) {
      expect([answer.status, answer.body.detail[0].loc], String(wrong)).toEqual([422, ["body", "quota_allowed"]]);
    }
  }
  expect(await storedOf(account)).toEqual(before);
});

test("the present plan limits a new quota; a mailbox keeps its old quota, and every plan allows the default quota", async () => {
  const { account, add } = await scene();
  const { id } = (await add(most)).body;
  expect((await billing(account, "POST", "change-plan", { plan_id: "per_dedicated_ip" })).status).toBe(200);
  const { mailboxBytes } = plans.per_dedicated_ip;
  expect((await add(mailboxBytes + 1, "bob")).body.detail[0].msg).toContain(`Per dedicated IP`);
  expect((await add(mailboxBytes, "bob")).status).toBe(201);
  const update = (body: object) => send(account, "PATCH", at(id), body);
  expect((await update({ last_name: "King", quota_allowed: most })).body).toMatchObject({ last_name: "King" });
  expect((await update({ quota_allowed: most - 1 })).status).toBe(422);
  expect((await update({ quota_allowed: mailboxBytes })).body.quota.allowed).toBe(mailboxBytes);
  for (const plan of Object.values(plans)) expect(plan.mailboxBytes).toBeGreaterThanOrEqual(10 * gibibyte);
});

test("a bulk request creates each item with its own quota, and a quota that is not allowed fails only its item", async () => {
  const { account, domain } = await scene();
  const items = [
    person("ada", { quota_allowed: 20 * gibibyte }),
    person("bob"),
    person("carl", { quota_allowed: most + 1 }),
    person("dora", { quota_allowed: 1 }),
  ];
  const headers = { "idempotency-key": randomUUID() };
  const { status, body } = await send(account, "POST", "mailboxes/bulk", { domain, items }, { headers });
  expect(status).toBe(200);
  const quotas = body.created.map((one: { mailbox: { quota: { allowed: number } } }) => one.mailbox.quota.allowed);
  expect(quotas).toEqual([20 * gibibyte, 10 * gibibyte]);
  expect(body.failed).toEqual([
    { index: 2, code: "invalid_quota", message: expect.stringContaining(`${most} bytes (50 GiB) at most`) },
    { index: 3, code: "invalid_quota", message: expect.stringContaining("1048576 bytes (1 MiB) at least") },
  ]);
});

test("the export has the quota in the column `quota_allowed`, the name of the member in a request", async () => {
  const { account, add } = await scene();
  await add(20 * gibibyte);
  const { csv } = (await send(account, "POST", "mailboxes/export", {}, { headers: { accept: "application/json" } }))
    .body;
  const [columns = [], row = []] = readCsv(csv);
  expect(row[columns.indexOf("quota_allowed")]).toBe(String(20 * gibibyte));
});
