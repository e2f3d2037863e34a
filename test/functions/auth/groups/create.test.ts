import { describe, expect, test } from "vitest";

import { groupLimit } from "../../../../shared/access/groups/group.ts";
import { claiming, giveGroup, newGroup, statusOf } from "../../../support/auth.ts";
import { entryPoints, storedOf, through } from "../../../support/entry-points.ts";
import { request, statusesOf } from "../../../support/request.ts";
import { newAccount, newUser, testTable } from "../../../support/world.ts";

const id = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);

  test("returns every specified field of a new group, which has no permissions yet", async () => {
    const account = await newAccount();
    const attributes = { floor: 3, nested: { list: [1, "two", null, true], deep: {} } };
    const args = { account_id: account.id, name: "  Support ", attributes, description: "Help" };
    const { status, body } = await attempt("auth.groups.create", args, account.owner);
    expect(status).toBe(201);
    expect(body).toEqual({
      id,
      account_id: account.id,
      name: "Support",
      idp_name: `${account.id}/${body.id}`,
      attributes,
      description: "Help",
      idp_account_id: account.id,
      linked_scopes: [],
      parent_id: null,
      path: "/Support",
      subgroup_ids: [],
      permission_context: {
        assigned_bundle_keys: [],
        direct_capability_keys: [],
        owner_assignments: [],
        resolved_capability_keys: [],
        status: "active",
        subject_id: body.id,
        subject_type: "group",
      },
    });
    const read = await attempt("auth.groups.get", { account_id: account.id, group_id: body.id }, account.owner);
    expect(read.body).toEqual(body);
  });

  test("accepts null for optional members, and a body without them", async () => {
    const account = await newAccount();
    for (const [name, more] of [
      ["A", {}],
      ["B", { attributes: null, description: null }],
    ] as const) {
      const { body } = await attempt("auth.groups.create", { account_id: account.id, name, ...more }, account.owner);
      expect(body).toMatchObject({ name, attributes: {}, description: null });
    }
  });

  test("refuses a taken name, whatever its letter case, and returns the id of the group that has it", async () => {
    const account = await newAccount();
    const { body } = await attempt("auth.groups.create", { account_id: account.id, name: "Café" }, account.owner);
    const before = await storedOf(account);
    for (const name of ["café", "CAFÉ", "Cafe\u0301", " Café "]) {
      const again = await attempt("auth.groups.create", { account_id: account.id, name }, account.owner);
      expect(again.body).toMatchObject({ status: 409, code: "group_name_taken", conflicts_with: body.id });
    }
    expect(await storedOf(account)).toEqual(before);
    const other = await newAccount();
    expect((await attempt("auth.groups.create", { account_id: other.id, name: "Café" }, other.owner)).status).toBe(201);
  });

  test("lets one of many concurrent requests for a name win", async () => {
    const account = await newAccount();
    const create = () => attempt("auth.groups.create", { account_id: account.id, name: "Only" }, account.owner);
    const answers = await Promise.all(Array.from({ length: 8 }, create));
    expect(statusesOf(answers)).toEqual([201, ...Array(7).fill(409)]);
    const listed = await attempt("auth.groups.list", { account_id: account.id }, account.owner);
    expect(listed.body.total).toBe(1);
  });

  test("refuses a new group in an account with 2,000 or more groups, until the account has fewer", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "First");
    const head = { PK: `ACCOUNT#${account.id}`, SK: "LIST#groups#HEAD" };
    const create = (name: string) => attempt("auth.groups.create", { account_id: account.id, name }, account.owner);
    for (const live of [groupLimit + 1, groupLimit]) {
      await testTable().attempt({ update: head, set: { live }, if: "present" });
      const { body } = await create("Too many");
      expect(body).toMatchObject({
        status: 409,
        code: "limit_reached",
        detail: expect.stringContaining("2000 groups"),
      });
    }
    const args = { account_id: account.id, group_id: group.id };
    expect((await attempt("auth.groups.delete", args, account.owner)).status).toBe(200);
    expect((await create("Second")).status).toBe(201);
  });

  test("a new group with the name of a deleted group is another group: a token that claims the deleted group gives nothing", async () => {
    const account = await newAccount();
    const old = await newGroup(account, "Support");
    await giveGroup(account, old, "workspace.view");
    const member = claiming(old);
    expect(await statusOf(account, member)).toBe(200);
    const args = { account_id: account.id, group_id: old.id };
    expect(await attempt("auth.groups.delete", args, account.owner)).toEqual({ status: 200, body: {} });
    expect(await statusOf(account, member)).toBe(404);
    const made = await attempt("auth.groups.create", { account_id: account.id, name: "Support" }, account.owner);
    expect(made.body.idp_name).not.toBe(old.idp_name);
    expect(made.body).toMatchObject({ permission_context: { resolved_capability_keys: [] }, linked_scopes: [] });
    await giveGroup(account, made.body, "workspace.view");
    expect(await statusOf(account, member)).toBe(404);
    expect(await statusOf(account, claiming(made.body))).toBe(200);
  });

  test("a token gives nothing if it names a group in a wrong form or with another account's id", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    const group = await newGroup(account, "Support");
    await giveGroup(account, group, "workspace.view");
    const wrong = ["Support", group.id, `/${group.id}`, `${other.id}/${group.id}`, `${account.id}/`, "__proto__"];
    expect(await statusOf(account, newUser({ groups: wrong }))).toBe(404);
    expect(await statusOf(other, claiming(group))).toBe(404);
  });

  test.each([
    [{}, "name", "missing"],
    [{ name: "" }, "name", "string_too_short"],
    [{ name: " " }, "name", "string_too_short"],
    [{ name: "x".repeat(256) }, "name", "string_too_long"],
    [{ name: "a/b" }, "name", "string_pattern_mismatch"],
    [{ name: "a\u0007" }, "name", "value_error"],
    [{ name: 7 }, "name", "string_type"],
    [{ name: "A", attributes: [1] }, "attributes", "record_type"],
    [{ name: "A", attributes: { big: "x".repeat(8_192) } }, "attributes", "value_error"],
    [{ name: "A", attributes: { deep: JSON.parse("[".repeat(20) + "]".repeat(20)) } }, "attributes", "value_error"],
    [{ name: "A", description: "x".repeat(2_001) }, "description", "string_too_long"],
  ])("refuses %j at its place and makes nothing", async (body, name, type) => {
    const account = await newAccount();
    const before = await storedOf(account);
    const answer = await attempt("auth.groups.create", { account_id: account.id, ...body }, account.owner);
    expect(answer.status).toBe(422);
    const place = entryPoint === "REST" ? ["body", name] : ["body", "payload", name];
    // One value can break two rules of its member.
    const [first, ...others] = answer.body.detail;
    expect(first).toEqual({ loc: place, type, msg: expect.any(String) });
    for (const { loc } of others) expect(loc).toEqual(place);
    expect(await storedOf(account)).toEqual(before);
  });
});

test("over REST `Location` is the path of the new group, and an unknown member of the body is refused", async () => {
  const { id: accountId, owner } = await newAccount();
  const path = `/v1/public/accounts/${accountId}/auth/groups`;
  const created = await request("POST", path, { token: owner.token, body: { name: "Support" } });
  expect(created.headers["location"]).toBe(`${path}/${created.body.id}`);
  for (const more of [{ account_id: accountId }, { parent_id: null }, { idp_name: "x" }]) {
    const answer = await request("POST", path, { token: owner.token, body: { name: "Other", ...more } });
    const [name] = Object.keys(more);
    expect(answer.body).toMatchObject({ detail: [{ loc: ["body", name], type: "extra_forbidden" }] });
  }
});

describe("in code mode the body is one argument, `payload`:", () => {
  const account = newAccount();
  const run = async (code: (accountId: string) => string) => {
    const { id: accountId, owner } = await account;
    const body = { request_id: "r", session_id: "s", code: code(accountId) };
    return (await request("POST", "/v1/public/a2a", { token: owner.token, body })).body;
  };
  const call = (rest: string) => (accountId: string) =>
    `auth.groups.create(\n  account_id="${accountId}",\n  ${rest.replaceAll("ACCOUNT", accountId)})`;

  test("a complete payload makes the group", async () => {
    const answer = await run(call('payload={"account_id": "ACCOUNT", "name": "A", "attributes": None}'));
    expect(answer).toMatchObject({ status: "completed", result: { last_value: { name: "A", attributes: {} } } });
  });

  test.each([
    ["is missing", "", ["body", "payload"], "missing", 1, 1],
    ["is no dict", 'payload="x"', ["body", "payload"], "dict_type", 3, 11],
    ["is a list", "payload=[1]", ["body", "payload"], "dict_type", 3, 11],
    ["is null", "payload=None", ["body", "payload"], "dict_type", 3, 11],
    ["names no account", 'payload={"name": "B"}', ["body", "payload", "account_id"], "missing", 3, 11],
    [
      "names another account",
      'payload={"name": "B",\n  "account_id": "99999999-9999-4999-8999-999999999999"}',
      ["body", "payload", "account_id"],
      "value_error",
      4,
      3,
    ],
    ["has no name", 'payload={"account_id": "ACCOUNT"}', ["body", "payload", "name"], "missing", 3, 11],
    [
      "has a wrong name",
      'payload={"account_id": "ACCOUNT",\n "name": 7}',
      ["body", "payload", "name"],
      "string_type",
      4,
      2,
    ],
  ])(
    "if the payload %s, the call is refused at its place, and changes nothing",
    async (_, rest, loc, type, line, column) => {
      const before = await storedOf(await account);
      const answer = await run(call(rest));
      expect(answer).toMatchObject({ status: "failed", responses: [], result: { last_value: null } });
      expect(answer.error).toMatchObject({ line, column, detail: [{ loc, type }] });
      expect(answer.error.message).toContain(loc.at(-1));
      expect(answer.error.parameters.map(({ name }: { name: string }) => name)).toEqual(["account_id", "payload"]);
      expect(await storedOf(await account)).toEqual(before);
    },
  );

  test("an unknown member of the payload is refused at its place", async () => {
    const answer = await run(call('payload={"account_id": "ACCOUNT", "name": "B",\n "colour": "red"}'));
    expect(answer.error.detail).toMatchObject([{ loc: ["body", "payload", "colour"], type: "extra_forbidden" }]);
    expect(answer.error).toMatchObject({ line: 4, code: "invalid_argument" });
    expect(answer.error.message).toContain("payload.colour");
  });

  test("a member of the payload is refused as an argument of the call", async () => {
    const answer = await run(call('name="B"'));
    expect(answer.error).toMatchObject({ code: "unknown_argument", line: 3, column: 3 });
  });
});
