import { randomUUID } from "node:crypto";

import { afterEach, describe, expect, test, vi } from "vitest";

import { asOwner, giveGroup, join, newGroup, newWorkspace, statusOf } from "../../../support/auth.ts";
import { entryPoints, masked, storedOf, through } from "../../../support/entry-points.ts";
import { newProgram, useOf } from "../../../support/programs.ts";
import {
  newAccount,
  newMember,
  newServiceAccount,
  newSuperAdmin,
  type Account,
  type User,
} from "../../../support/world.ts";

afterEach(() => {
  vi.useRealTimers();
});

const good = [200, 200];
const revoked = ["token_revoked", "token_revoked"];
const expired = ["token_expired", "token_expired"];

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);
  const rotate = ({ id }: Account, programId: string, caller: Pick<User, "token">, overlap_seconds?: unknown) => {
    const overlap = overlap_seconds === undefined ? {} : { overlap_seconds };
    return attempt(
      "auth.service_accounts.rotate",
      { account_id: id, service_account_id: programId, ...overlap },
      caller,
    );
  };

  test("returns a new token, only in this answer, and the service account keeps its permissions", async () => {
    const account = await newAccount();
    const program = await newServiceAccount(account, { role: "viewer" });
    const { status, body } = await rotate(account, program.id, account.owner);
    expect(status).toBe(200);
    expect(body).toMatchObject({ id: program.id, revoked_at: null, token_public_id: body.token.split("_")[1] });
    expect(body.token_prefix).toBe(body.token.slice(0, 8));
    expect(body.token_last4).toBe(body.token.slice(-4));
    expect(body.token).not.toBe(program.token);
    expect(await statusOf(account, { token: body.token })).toBe(200);
    const { token, ...rest } = body;
    const listed = await attempt("auth.service_accounts.list", { account_id: account.id }, account.owner);
    expect(listed.body).toEqual([{ ...rest, last_used_at: expect.any(String) }]);
    expect(JSON.stringify(await storedOf(account))).not.toContain(token.slice(21, 61));
  });

  test("without overlap the old tokens are refused from the next request on, over REST and in code mode", async () => {
    const account = await newAccount();
    const program = await newProgram(attempt, account);
    const kept = (await rotate(account, program.id, account.owner, 600)).body.token;
    expect([await useOf(program.token), await useOf(kept)]).toEqual([good, good]);
    const fresh = (await rotate(account, program.id, account.owner, 0)).body.token;
    expect([await useOf(program.token), await useOf(kept), await useOf(fresh)]).toEqual([revoked, revoked, good]);
  });

  test.each([
    [600, 600],
    [undefined, 86_400],
    [604_800, 604_800],
  ])("with an overlap of %s the old token works for %i s and not longer", async (overlap, seconds) => {
    const account = await newAccount();
    const program = await newProgram(attempt, account);
    const start = Date.now();
    vi.useFakeTimers({ toFake: ["Date"], now: start });
    const fresh = (await rotate(account, program.id, account.owner, overlap)).body.token;
    vi.setSystemTime(start + seconds * 1000 - 1);
    expect(await useOf(program.token)).toEqual(good);
    vi.setSystemTime(start + seconds * 1000);
    expect(await useOf(program.token)).toEqual(expired);
    expect(await useOf(fresh)).toEqual(good);
  });

  test("a later rotation with a longer overlap does not extend an old token, nor any token beyond its own end", async () => {
    const account = await newAccount();
    const start = Date.now();
    const expires_at = new Date(start + 7_200_000).toISOString();
    const program = await newProgram(attempt, account, { expires_at });
    vi.useFakeTimers({ toFake: ["Date"], now: start });
    const second = (await rotate(account, program.id, account.owner, 60)).body;
    const third = (await rotate(account, program.id, account.owner, 86_400)).body;
    expect(third.expires_at).toBe(expires_at);
    vi.setSystemTime(start + 61_000);
    expect([await useOf(program.token), await useOf(second.token)]).toEqual([expired, good]);
    vi.setSystemTime(start + 7_200_000);
    expect([await useOf(second.token), await useOf(third.token)]).toEqual([expired, expired]);
  });

  test("the last use of a service account is the latest use of any of its tokens", async () => {
    const account = await newAccount();
    const start = Date.now();
    const program = await newProgram(attempt, account);
    const second = (await rotate(account, program.id, account.owner, 86_400)).body;
    vi.useFakeTimers({ toFake: ["Date"], now: start + 3_600_000 });
    await useOf(program.token);
    vi.setSystemTime(start + 7_200_000);
    await useOf(second.token);
    const { body } = await attempt("auth.service_accounts.list", { account_id: account.id }, account.owner);
    expect(body).toMatchObject([{ last_used_at: new Date(start + 7_200_000).toISOString() }]);
  });

  test("from its end on, a service account gets no new token", async () => {
    const account = await newAccount();
    const end = Date.now() + 3_600_000;
    const program = await newProgram(attempt, account, { expires_at: new Date(end).toISOString() });
    vi.useFakeTimers({ toFake: ["Date"], now: end });
    const { body } = await rotate(account, program.id, account.owner);
    expect(body).toMatchObject({ status: 409, code: "service_account_expired" });
  });

  test("from its end on, a service account gets no new grant and no new role, as if it did not exist", async () => {
    const account = await newAccount();
    const end = Date.now() + 3_600_000;
    const program = await newProgram(attempt, account, { expires_at: new Date(end).toISOString() });
    const subject = { account_id: account.id, subject_id: program.id, subject_type: "service_account" };
    const role = { ...subject, role_key: "viewer" };
    const grant = { ...subject, grant_kind: "capability", capability_key: "dns.view" };
    vi.useFakeTimers({ toFake: ["Date"], now: end - 1 });
    const before = await attempt("auth.role_assignments.assign", role, account.owner);
    expect(before).toMatchObject({ status: 201, body: { expires_at: null } });
    vi.setSystemTime(end);
    for (const [name, args] of [
      ["auth.authorizations.grant", grant],
      ["auth.role_assignments.assign", { ...role, role_key: "editor" }],
    ] as const) {
      expect(await attempt(name, args, account.owner)).toMatchObject({
        status: 422,
        body: {
          detail: [{ loc: ["body", "subject_id"], msg: "This service account has expired", type: "not_found" }],
        },
      });
    }
    const again = await attempt("auth.role_assignments.assign", role, account.owner);
    expect(again.body).toMatchObject({ id: before.body.id });
  });

  test("nobody gets a token with more permissions than they hold: by grant, role, scope, group or ownership", async () => {
    const account = await newAccount();
    const scope = { type: "workspace" as const, id: await newWorkspace(account, "One") };
    const outer = await newGroup(account, "Outer");
    const inner = await newGroup(account, "Inner", outer);
    await giveGroup(account, outer, "billing.manage");
    const inGroup = await newServiceAccount(account);
    await join(account, inner, inGroup.id, "service_account");
    const manager = await newMember(account, { capability: "auth.manage" }, { capability: "dns.manage", scope });
    const cases = [
      [await newServiceAccount(account, { capability: "dns.manage" }), ["dns.manage"]],
      [await newServiceAccount(account, { role: "dns_manager", scope }), ["dns.view"]],
      [await newServiceAccount(account, { owner: true }), ["account_owner"]],
      [inGroup, ["billing.manage"]],
    ] as const;
    const before = await storedOf(account);
    for (const [program, missing] of cases) {
      const refused = await rotate(account, program.id, manager, 0);
      expect(refused.body).toMatchObject({ status: 403, code: "would_escalate", missing });
      expect(await useOf(program.token)).toEqual(good);
    }
    expect(await storedOf(account)).toEqual(before);
    expect((await rotate(account, cases[2][0].id, await newSuperAdmin(), 0)).status).toBe(200);
    const weaker = await newServiceAccount(account, { capability: "dns.manage", scope });
    expect((await rotate(account, weaker.id, manager, 0)).status).toBe(200);
  });

  test("a service account with auth.manage can rotate itself", async () => {
    const account = await newAccount();
    const program = await newServiceAccount(account, { capability: "auth.manage" });
    const { body } = await rotate(account, program.id, program, 0);
    expect([await useOf(program.token), await useOf(body.token)]).toEqual([revoked, good]);
  });

  test("after concurrent rotations without overlap, one token works", async () => {
    const account = await newAccount();
    const program = await newProgram(attempt, account);
    const answers = await Promise.all(Array.from({ length: 4 }, () => rotate(account, program.id, account.owner, 0)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const uses = await Promise.all(answers.map(({ body }) => useOf(body.token)));
    expect(uses.filter(([use]) => use === 200)).toHaveLength(1);
    const listed = await attempt("auth.service_accounts.list", { account_id: account.id }, account.owner);
    const left = answers.find((_, index) => uses[index]?.[0] === 200);
    expect(listed.body).toMatchObject([{ token_public_id: left?.body.token_public_id }]);
  });

  test("a service account that was rotated 110 times can be revoked, with all its tokens", async () => {
    const account = await newAccount();
    const program = await newProgram(attempt, account);
    const start = Date.now();
    vi.useFakeTimers({ toFake: ["Date"], now: start });
    const tokens = [program.token];
    for (let round = 0; round < 110; round++) {
      vi.setSystemTime(start + round * 600_000);
      const { body } = await rotate(account, program.id, account.owner, 3_600);
      tokens.push(body.token);
    }
    const works = async () => (await Promise.all(tokens.map(useOf))).filter(([use]) => use === 200).length;
    // The newest token works, and six tokens before it were replaced less than an hour ago.
    expect(await works()).toBe(7);
    const args = { account_id: account.id, service_account_id: program.id };
    expect(await attempt("auth.service_accounts.revoke", args, account.owner)).toEqual({ status: 200, body: {} });
    expect(await works()).toBe(0);
  });

  test("at most twenty tokens work at the same time; a rotation without overlap succeeds even then", async () => {
    const account = await newAccount();
    const program = await newProgram(attempt, account);
    for (let count = 0; count < 19; count++) {
      expect((await rotate(account, program.id, account.owner, 600)).status).toBe(200);
    }
    const refused = await rotate(account, program.id, account.owner, 600);
    expect(refused.body).toMatchObject({ status: 409, code: "limit_reached" });
    expect(await useOf(program.token)).toEqual(good);
    expect((await rotate(account, program.id, account.owner, 0)).status).toBe(200);
    expect(await useOf(program.token)).toEqual(revoked);
  });

  test("a revoked service account and another account's get the same 404 as a missing one", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    const [own, foreign] = [await newProgram(attempt, account), await newProgram(attempt, other)];
    await asOwner(account, "DELETE", `service-accounts/${own.id}`);
    const missing = masked((await rotate(account, randomUUID(), account.owner)).body);
    for (const { id } of [own, foreign]) {
      const hidden = await rotate(account, id, account.owner, 0);
      expect(hidden.status).toBe(404);
      expect(masked(hidden.body)).toBe(missing);
    }
    expect(await useOf(foreign.token)).toEqual(good);
  });

  test.each([
    [-1, "greater_than_equal"],
    [604_801, "less_than_equal"],
    [1.5, "int_type"],
    ["60", "number_type"],
    [null, "number_type"],
  ])("refuses an overlap of %j at its place, and the old token still works", async (overlap, type) => {
    const account = await newAccount();
    const program = await newProgram(attempt, account);
    const answer = await rotate(account, program.id, account.owner, overlap);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([{ loc: ["body", "overlap_seconds"], type }]);
    expect(await useOf(program.token)).toEqual(good);
  });
});
