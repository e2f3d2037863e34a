import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { accessKey } from "../../../../shared/accounts/standing.ts";
import { capabilities } from "../../../../shared/auth/capabilities.ts";
import { asOwner, giveGroup, join, makeOwner, newGroup, newWorkspace, statusOf } from "../../../support/auth.ts";
import { afterReading } from "../../../support/between.ts";
import { entryPoints, masked, storedOf, through } from "../../../support/entry-points.ts";
import { newProgram, useOf } from "../../../support/programs.ts";
import { request } from "../../../support/request.ts";
import {
  newAccount,
  newMember,
  newServiceAccount,
  testTable,
  type Account,
  type User,
} from "../../../support/world.ts";

const revokedToken = ["token_revoked", "token_revoked"];

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);
  const revoke = ({ id }: Account, programId: string, caller: Pick<User, "token">) =>
    attempt("auth.service_accounts.revoke", { account_id: id, service_account_id: programId }, caller);
  const give = ({ id, owner }: Account, programId: string, capability_key: string, more: object = {}) =>
    attempt(
      "auth.authorizations.grant",
      {
        account_id: id,
        grant_kind: "capability",
        subject_type: "service_account",
        subject_id: programId,
        capability_key,
        ...more,
      },
      owner,
    );

  test("all tokens of a revoked service account are refused from the next request on, also an old token of a rotation", async () => {
    const account = await newAccount();
    const program = await newProgram(attempt, account);
    const args = { account_id: account.id, service_account_id: program.id, overlap_seconds: 600 };
    const { body } = await attempt("auth.service_accounts.rotate", args, account.owner);
    expect([await useOf(program.token), await useOf(body.token)]).toEqual([
      [200, 200],
      [200, 200],
    ]);
    expect(await revoke(account, program.id, account.owner)).toEqual({ status: 200, body: {} });
    expect([await useOf(program.token), await useOf(body.token)]).toEqual([revokedToken, revokedToken]);
    expect((await revoke(account, program.id, account.owner)).status).toBe(404);
  });

  test("a revoked service account is kept for 400 days", async () => {
    const account = await newAccount();
    const program = await newProgram(attempt, account);
    const stored = async () => (await storedOf(account)).find(({ SK }) => SK === `SERVICE_ACCOUNT#${program.id}`);
    expect(await stored()).not.toHaveProperty("ttl");
    await revoke(account, program.id, account.owner);
    const row = await stored();
    expect(row?.["ttl"]).toBe(Math.ceil(Date.parse(String(row?.["revoked_at"])) / 1_000 + 400 * 86_400));
  });

  test("revokes all 31 grants of the service account, and ends its group membership", async () => {
    const account = await newAccount();
    const program = await newProgram(attempt, account);
    const scope = { resource_type: "workspace", resource_id: await newWorkspace(account, "One") };
    for (const key of capabilities.slice(1, 16)) {
      await give(account, program.id, key);
      await give(account, program.id, key, scope);
    }
    await makeOwner(account, program.id, "service_account");
    const group = await newGroup(account, "Support");
    await join(account, group, program.id, "service_account");
    expect((await revoke(account, program.id, account.owner)).status).toBe(200);
    const list = async (more: object) => {
      const args = { account_id: account.id, subject_id: program.id, ...more };
      return (await attempt("auth.authorizations.list", args, account.owner)).body;
    };
    expect(await list({})).toEqual([]);
    expect(await list({ include_revoked: true })).toHaveLength(31);
    const members = { account_id: account.id, group_id: group.id };
    expect((await attempt("auth.groups.members.list", members, account.owner)).body.total).toBe(0);
  });

  test("a revoked service account cannot get a grant", async () => {
    const account = await newAccount();
    const program = await newProgram(attempt, account);
    const missing = masked((await give(account, randomUUID(), "dns.view")).body);
    await revoke(account, program.id, account.owner);
    const refused = await give(account, program.id, "dns.view");
    expect(refused.body.detail).toMatchObject([{ loc: ["body", "subject_id"], type: "not_found" }]);
    expect(masked(refused.body)).toBe(missing);
  });

  test("a new service account with the same name inherits nothing", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    await giveGroup(account, group, "workspace.view");
    const old = await newProgram(attempt, account, { name: "Backup" });
    await give(account, old.id, "workspace.view");
    await join(account, group, old.id, "service_account");
    expect(await statusOf(account, old)).toBe(200);
    await revoke(account, old.id, account.owner);
    const made = await newProgram(attempt, account, { name: "Backup" });
    expect(await statusOf(account, made)).toBe(404);
    expect((await attempt("accounts.list", {}, made)).body).toMatchObject({ items: [], total: 0 });
    expect(await useOf(old.token)).toEqual(revokedToken);
  });

  test.each(["directly", "through a group"])(
    "only owners can revoke a service account that owns the account %s",
    async (how) => {
      const account = await newAccount();
      const program = await newServiceAccount(account, ...(how === "directly" ? [{ owner: true } as const] : []));
      if (how === "through a group") {
        const group = await newGroup(account, "Owners");
        await makeOwner(account, group.id, "group");
        await join(account, group, program.id, "service_account");
      }
      const manager = await newMember(account, { capability: "auth.manage" }, { role: "manager" });
      const before = await storedOf(account);
      const refused = await revoke(account, program.id, manager);
      expect(refused.body).toMatchObject({ status: 403, code: "would_escalate", missing: ["account_owner"] });
      expect(await storedOf(account)).toEqual(before);
      expect(await useOf(program.token)).toEqual([200, 200]);
      expect((await revoke(account, program.id, account.owner)).status).toBe(200);
    },
  );

  test("a caller can revoke a service account with more permissions than the caller has", async () => {
    const account = await newAccount();
    const program = await newServiceAccount(account, { role: "manager" });
    const manager = await newMember(account, { capability: "auth.manage" });
    expect((await revoke(account, program.id, manager)).status).toBe(200);
    expect(await useOf(program.token)).toEqual(revokedToken);
  });

  test("a grant that is revoked at the same moment does not stop the revocation, and a grant given then does not stay", async () => {
    const account = await newAccount();
    for (let round = 0; round < 5; round++) {
      const program = await newProgram(attempt, account);
      const { body } = await give(account, program.id, "dns.view");
      const [gone, ...others] = await Promise.all([
        revoke(account, program.id, account.owner),
        attempt("auth.authorizations.revoke", { account_id: account.id, grant_id: body.id }, account.owner),
        give(account, program.id, "ip.view"),
        give(account, program.id, "domain.view"),
      ]);
      expect(gone.status).toBe(200);
      for (const { status } of others) expect([200, 201, 404, 422]).toContain(status);
      const left = await asOwner(account, "GET", `authorizations?subject_id=${program.id}`);
      expect(left).toEqual([]);
    }
  });

  test("a grant that is made while the revocation reads the grants is revoked too", async () => {
    const account = await newAccount();
    const program = await newProgram(attempt, account);
    await give(account, program.id, "dns.view");
    const { SK } = accessKey(account.id, { type: "service_account", id: program.id });
    const { status } = await afterReading(
      (key) => key.SK === SK,
      async () => expect((await give(account, program.id, "ip.view")).status).toBe(201),
      () => revoke(account, program.id, account.owner),
    );
    expect(status).toBe(200);
    expect(await asOwner(account, "GET", `authorizations?subject_id=${program.id}`)).toEqual([]);
    expect((await give(account, program.id, "ip.view")).status).toBe(422);
  });

  test("concurrent revocations end like a single one, and a later revocation returns 404", async () => {
    const account = await newAccount();
    const program = await newProgram(attempt, account);
    await give(account, program.id, "dns.view");
    const answers = await Promise.all(Array.from({ length: 4 }, () => revoke(account, program.id, account.owner)));
    const statuses = new Set(answers.map(({ status }) => status));
    expect(statuses).toContain(200);
    expect([...statuses].filter((status) => status !== 200 && status !== 404)).toEqual([]);
    expect((await revoke(account, program.id, account.owner)).status).toBe(404);
    expect(await useOf(program.token)).toEqual(revokedToken);
  });

  test("completes a revocation that died half-way", async () => {
    const account = await newAccount();
    const program = await newProgram(attempt, account);
    await give(account, program.id, "dns.view");
    const key = { PK: `ACCOUNT#${account.id}`, SK: `SERVICE_ACCOUNT#${program.id}` };
    const died = { update: key, set: { revoked_at: new Date().toISOString() } };
    await testTable().commit(async () => ({ value: undefined, writes: [died] }));
    expect((await revoke(account, program.id, account.owner)).status).toBe(200);
    const grants = await request(
      "GET",
      `/v1/public/accounts/${account.id}/auth/authorizations?subject_id=${program.id}`,
      {
        token: account.owner.token,
      },
    );
    expect(grants.body).toEqual([]);
    expect((await revoke(account, program.id, account.owner)).status).toBe(404);
  });

  test("another account's service account gets the same 404 as a missing one, and still works", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    const foreign = await newProgram(attempt, other);
    const hidden = await revoke(account, foreign.id, account.owner);
    expect(hidden.status).toBe(404);
    expect(masked(hidden.body)).toBe(masked((await revoke(account, randomUUID(), account.owner)).body));
    expect(await useOf(foreign.token)).toEqual([200, 200]);
  });
});
