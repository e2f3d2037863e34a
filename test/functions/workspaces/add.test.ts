import { expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { request, statusesOf } from "../../support/request.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

const add = ({ id, owner }: Account, body: unknown) =>
  request("POST", `/v1/public/accounts/${id}/workspaces`, { token: owner.token, body });

const total = async ({ id, owner }: Account): Promise<number> =>
  (await request("GET", `/v1/public/accounts/${id}/workspaces`, { token: owner.token })).body.total;

test("creates a workspace that can be read at its Location at once", async () => {
  const account = await newAccount();
  const created = await add(account, { name: "  Sales " });
  expect(created.status).toBe(201);
  expect(created.body).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    account_id: account.id,
    name: "Sales",
    status: "active",
    created_at: expect.stringMatching(/\.\d{3}Z$/),
    updated_at: created.body.created_at,
  });
  const read = await request("GET", created.headers["location"] ?? "", { token: account.owner.token });
  expect(read.body).toEqual(created.body);
});

test("refuses a taken name in any case, and names the workspace with this name", async () => {
  const account = await newAccount();
  const { body } = await add(account, { name: "Café" });
  for (const name of ["café", "CAFÉ", "Cafe\u0301", " Café "]) {
    const again = await add(account, { name });
    expect(again.body).toMatchObject({ status: 409, code: "workspace_name_taken", conflicts_with: body.id });
  }
  expect(await total(account)).toBe(1);
  expect((await add(await newAccount(), { name: "Café" })).status).toBe(201);
});

test("one of many concurrent requests for a name succeeds, and the workspace is counted once", async () => {
  const account = await newAccount();
  const answers = await Promise.all(Array.from({ length: 12 }, () => add(account, { name: "Only one" })));
  expect(statusesOf(answers)).toEqual([201, ...Array(11).fill(409)]);
  expect(await total(account)).toBe(1);
});

test("concurrent requests for different names all succeed, and all are counted", async () => {
  const account = await newAccount();
  const answers = await Promise.all(Array.from({ length: 25 }, (_, index) => add(account, { name: `W${index}` })));
  expect(answers.every(({ status }) => status === 201)).toBe(true);
  expect(await total(account)).toBe(25);
});

test.each([
  [{}, ["body", "name"], "missing"],
  [{ name: "" }, ["body", "name"], "string_too_short"],
  [{ name: "   " }, ["body", "name"], "string_too_short"],
  [{ name: "x".repeat(256) }, ["body", "name"], "string_too_long"],
  [{ name: "a\u0000b" }, ["body", "name"], "value_error"],
  [{ name: "a\ud800" }, ["body", "name"], "value_error"],
  [{ name: "\u200b" }, ["body", "name"], "value_error"],
  [{ name: 7 }, ["body", "name"], "string_type"],
  [{ name: null }, ["body", "name"], "string_type"],
  [{ name: "Sales", status: "closed" }, ["body", "status"], "extra_forbidden"],
  [["Sales"], ["body"], "object_type"],
])("refuses %j, and changes nothing", async (body, loc, type) => {
  const account = await newAccount();
  const answer = await add(account, body);
  expect(answer.status).toBe(422);
  expect(answer.body.detail).toEqual([{ loc, type, msg: expect.any(String) }]);
  expect(await total(account)).toBe(0);
});

test("takes 255 characters of any script", async () => {
  const account = await newAccount();
  const name = "日".repeat(255);
  expect((await add(account, { name })).body).toMatchObject({ name });
});

test("is refused while the account is suspended, and works again afterwards", async () => {
  const account = await newAccount();
  await setAccountStatus(testTable(), account.id, "suspended", new Date());
  expect((await add(account, { name: "Sales" })).body).toMatchObject({ status: 403, code: "account_suspended" });
  expect(await total(account)).toBe(0);
  await setAccountStatus(testTable(), account.id, "active", new Date());
  expect((await add(account, { name: "Sales" })).status).toBe(201);
});
