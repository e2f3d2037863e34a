import { randomUUID } from "node:crypto";

import { beforeAll, describe, expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { newWorkspace } from "../../support/auth.ts";
import { request, statusesOf } from "../../support/request.ts";
import { newAccount, newMember, testTable, type Account } from "../../support/world.ts";

const add = ({ id, owner }: Account, body: unknown, { token } = owner, headers = {}) =>
  request("POST", `/v1/public/accounts/${id}/tags`, { token, body, headers });

const total = async ({ id, owner }: Account): Promise<number> =>
  (await request("GET", `/v1/public/accounts/${id}/tags`, { token: owner.token })).body.total;

test("creates a tag with the given members, and null for the others", async () => {
  const account = await newAccount();
  const whole = await add(account, { name: "  Sales ", color_hex: "#1A7f37", description: " Who sells " });
  expect(whole.status).toBe(201);
  expect(whole.body).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    name: "Sales",
    color_hex: "#1A7f37",
    description: "Who sells",
    created_at: expect.stringMatching(/\.\d{3}Z$/),
  });
  const bare = await add(account, { name: "Bare", color_hex: null });
  expect(bare.body).toMatchObject({ name: "Bare", color_hex: null, description: null });
});

test("refuses a taken name, whatever its letter case and Unicode form, and returns the id of the tag that has it", async () => {
  const account = await newAccount();
  const { body } = await add(account, { name: "Café" });
  for (const name of ["café", "CAFÉ", "Cafe\u0301", " Café ", "Ｃafé"]) {
    const again = await add(account, { name });
    expect(again.body).toMatchObject({ status: 409, code: "tag_name_taken", conflicts_with: body.id });
  }
  expect(await total(account)).toBe(1);
  expect((await add(await newAccount(), { name: "Café" })).status).toBe(201);
});

test("lets one of many concurrent requests for a name win, and counts it once", async () => {
  const account = await newAccount();
  const answers = await Promise.all(Array.from({ length: 12 }, () => add(account, { name: "Only one" })));
  expect(statusesOf(answers)).toEqual([201, ...Array(11).fill(409)]);
  expect(await total(account)).toBe(1);
});

test("an account can have 1,000 tags, and no more until a tag is deleted", async () => {
  const account = await newAccount();
  const { body } = await add(account, { name: "First" });
  const head = { PK: `ACCOUNT#${account.id}`, SK: "LIST#tags#HEAD" };
  await testTable().attempt({ update: head, set: { live: 1_000 }, if: "present" });
  expect((await add(account, { name: "Too many" })).body).toMatchObject({ status: 409, code: "limit_reached" });
  await request("DELETE", `/v1/public/accounts/${account.id}/tags/${body.id}`, { token: account.owner.token });
  expect((await add(account, { name: "Again" })).status).toBe(201);
});

describe("refuses", () => {
  let account: Account;
  beforeAll(async () => void (account = await newAccount()));

  test.each<[body: unknown, loc: string[], type: string]>([
    [{}, ["body", "name"], "missing"],
    [{ name: "" }, ["body", "name"], "string_too_short"],
    [{ name: "  " }, ["body", "name"], "string_too_short"],
    [{ name: "x".repeat(51) }, ["body", "name"], "string_too_long"],
    [{ name: "a\nb" }, ["body", "name"], "value_error"],
    [{ name: "\u200b" }, ["body", "name"], "value_error"],
    [{ name: null }, ["body", "name"], "string_type"],
    [{ name: "A", color_hex: "red" }, ["body", "color_hex"], "string_pattern_mismatch"],
    [{ name: "A", color_hex: "#fff" }, ["body", "color_hex"], "string_pattern_mismatch"],
    [{ name: "A", color_hex: "#1a7f37;" }, ["body", "color_hex"], "string_pattern_mismatch"],
    [{ name: "A", description: "x".repeat(501) }, ["body", "description"], "string_too_long"],
    [{ name: "A", description: "a\u0000b" }, ["body", "description"], "value_error"],
    [{ name: "A", id: randomUUID() }, ["body", "id"], "extra_forbidden"],
    [["A"], ["body"], "object_type"],
  ])("%j at its place", async (body, loc, type) => {
    const answer = await add(account, body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([{ loc, type, msg: expect.any(String) }]);
    expect(await total(account)).toBe(0);
  });
});

test("needs tag.manage on the whole account, and an account that is not suspended", async () => {
  const account = await newAccount();
  const workspaceId = await newWorkspace(account, "Theirs");
  const narrow = await newMember(account, { role: "editor", scope: { type: "workspace", id: workspaceId } });
  const viewer = await newMember(account, { role: "viewer" });
  const editor = await newMember(account, { role: "editor" });
  for (const { token } of [narrow, viewer]) {
    const { body } = await add(account, { name: "Mine" }, { ...account.owner, token });
    expect(body).toMatchObject({ status: 403, required_capability: "tag.manage" });
  }
  expect((await add(account, { name: "Mine" }, editor)).status).toBe(201);
  await setAccountStatus(testTable(), account.id, "suspended", new Date());
  expect((await add(account, { name: "More" })).body).toMatchObject({ code: "account_suspended" });
});

test("a request that is sent again with the same idempotency key adds no second tag", async () => {
  const account = await newAccount();
  const send = () => add(account, { name: "Once" }, account.owner, { "idempotency-key": "tag-1" });
  const [first, second] = [await send(), await send()];
  expect([second.status, second.text]).toEqual([201, first.text]);
  expect(await total(account)).toBe(1);
});
