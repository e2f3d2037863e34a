import { createHash } from "node:crypto";

import { afterEach, describe, expect, test, vi } from "vitest";

import { asOwner, statusOf } from "../../../support/auth.ts";
import { entryPoints, storedOf, through } from "../../../support/entry-points.ts";
import { newProgram, useOf } from "../../../support/programs.ts";
import { request } from "../../../support/request.ts";
import { newAccount, newMember, newServiceAccount, testTable } from "../../../support/world.ts";

const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*\.\d{3}Z$/);

afterEach(() => {
  vi.useRealTimers();
});

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);

  test("returns every field, and the token only in this answer", async () => {
    const account = await newAccount();
    const args = { account_id: account.id, name: "  Backup ", expires_at: "2999-01-01T01:00:00+01:00" };
    const { status, body } = await attempt("auth.service_accounts.create", args, account.owner);
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      account_id: account.id,
      name: "Backup",
      token: expect.stringMatching(/^sat_[0-9A-Za-z]{16}_[0-9A-Za-z]{46}$/),
      token_prefix: body.token.slice(0, 8),
      token_last4: body.token.slice(-4),
      token_public_id: body.token.split("_")[1],
      created_at: at,
      created_by_user_id: account.owner.id,
      expires_at: "2999-01-01T00:00:00.000Z",
      last_used_at: null,
      revoked_at: null,
    });
    const listed = await attempt("auth.service_accounts.list", { account_id: account.id }, account.owner);
    const { token, ...rest } = body;
    expect(listed.body).toEqual([rest]);
    expect(JSON.stringify(listed.body)).not.toContain(token.slice(21, 61));
  });

  test("a new service account is a principal of its own, without permissions until it gets a grant", async () => {
    const account = await newAccount();
    const program = await newProgram(attempt, account);
    const me = await through(entryPoint)("me.get", {}, program);
    expect(me.body).toEqual({
      id: program.id,
      email: `${program.token_public_id}@service-accounts.invalid`,
      is_super_admin: false,
    });
    expect(await statusOf(account, program)).toBe(404);
    const grant = { grant_kind: "capability", subject_type: "service_account", capability_key: "workspace.view" };
    await asOwner(account, "POST", "authorizations", { ...grant, subject_id: program.id });
    expect(await statusOf(account, program)).toBe(200);
    expect(await statusOf(await newAccount(), program)).toBe(404);
  });

  test("only the SHA-256 hash of the secret is stored, and not the secret", async () => {
    const account = await newAccount();
    const { token, token_public_id: publicId } = await newProgram(attempt, account);
    await useOf(token);
    const secret = token.slice(21, 61);
    const items = [...(await storedOf(account)), ...(await testTable().between(`TOKEN#${publicId}`, "!", "~"))];
    const text = JSON.stringify(items);
    expect(text).toContain(createHash("sha256").update(secret).digest("hex"));
    expect(text).not.toContain(secret);
    expect(text).not.toContain(token.slice(21));
  });

  test("a new service account has no permissions of an existing one with the same name", async () => {
    const account = await newAccount();
    const strong = await newServiceAccount(account, { owner: true });
    const manager = await newMember(account, { capability: "auth.manage" });
    const args = { account_id: account.id, name: "Test program" };
    const { body } = await attempt("auth.service_accounts.create", args, manager);
    expect(body).toMatchObject({ created_by_user_id: manager.id });
    expect(body.id).not.toBe(strong.id);
    expect(await statusOf(account, { token: body.token })).toBe(404);
  });

  test("a service account with auth.manage can create service accounts", async () => {
    const account = await newAccount();
    const program = await newServiceAccount(account, { capability: "auth.manage" });
    const made = await attempt("auth.service_accounts.create", { account_id: account.id, name: "Child" }, program);
    expect(made.body).toMatchObject({ created_by_user_id: program.id });
  });

  test("a token with an end works until its end, over REST and in code mode", async () => {
    const account = await newAccount();
    const start = Date.now();
    const program = await newProgram(attempt, account, { expires_at: new Date(start + 3_600_000).toISOString() });
    vi.useFakeTimers({ toFake: ["Date"], now: start + 3_599_000 });
    expect(await useOf(program.token)).toEqual([200, 200]);
    vi.setSystemTime(start + 3_600_000);
    expect(await useOf(program.token)).toEqual(["token_expired", "token_expired"]);
  });

  test.each([
    [{}, "name", "missing"],
    [{ name: "" }, "name", "string_too_short"],
    [{ name: "A", expires_at: "9999-12-31T23:59:59-12:00" }, "expires_at", "value_error"],
    [{ name: "x".repeat(121) }, "name", "string_too_long"],
    [{ name: "a\u0000" }, "name", "value_error"],
    [{ name: "A", expires_at: "2001-01-01T00:00:00Z" }, "expires_at", "value_error"],
    [{ name: "A", expires_at: "tomorrow" }, "expires_at", "datetime_parsing"],
    [{ name: "A", expires_at: "2999-01-01" }, "expires_at", "datetime_parsing"],
    [{ name: "A", expires_at: 1 }, "expires_at", "string_type"],
  ])("refuses %j at its place and makes nothing", async (args, name, type) => {
    const account = await newAccount();
    const before = await storedOf(account);
    const answer = await attempt("auth.service_accounts.create", { account_id: account.id, ...args }, account.owner);
    expect(answer.status).toBe(422);
    // One value can break two rules of its member.
    const [first, ...others] = answer.body.detail;
    expect(first).toMatchObject({ loc: ["body", name], type });
    for (const { loc } of others) expect(loc).toEqual(["body", name]);
    expect(await storedOf(account)).toEqual(before);
  });
});

test("the answer has `Cache-Control: no-store`, and an unknown member is refused", async () => {
  const account = await newAccount();
  const path = `/v1/public/accounts/${account.id}/auth/service-accounts`;
  const send = (body: object) => request("POST", path, { token: account.owner.token, body });
  expect((await send({ name: "A" })).headers["cache-control"]).toBe("no-store");
  expect((await send({ name: "A", role_key: "viewer" })).body).toMatchObject({
    detail: [{ loc: ["body", "role_key"], type: "extra_forbidden" }],
  });
});
