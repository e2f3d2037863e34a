import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import {
  claiming,
  giveGroup,
  isSuperAdmin,
  makeOwner,
  newGroup,
  newWorkspace,
  statusOf,
} from "../../../support/auth.ts";
import { entryPoints, masked, storedOf, through } from "../../../support/entry-points.ts";
import { statusesOf } from "../../../support/request.ts";
import {
  newAccount,
  newMember,
  newServiceAccount,
  newSuperAdmin,
  newUser,
  type Account,
} from "../../../support/world.ts";

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);
  const revoke = ({ id }: Account, grantId: unknown, caller: { token: string }) =>
    attempt("auth.authorizations.revoke", { account_id: id, grant_id: grantId }, caller);
  const give = ({ id, owner }: Account, subject_type: string, subject_id: string, more: object) =>
    attempt("auth.authorizations.grant", { account_id: id, subject_type, subject_id, ...more }, owner);
  const view = { grant_kind: "capability", capability_key: "workspace.view" };
  const list = async ({ id, owner }: Account, filter: object = {}) =>
    (await attempt("auth.authorizations.list", { account_id: id, ...filter }, owner)).body;

  test.each(["user", "group", "service_account"] as const)(
    "a %s has lost the permission by the next request, over REST and in code mode",
    async (type) => {
      const account = await newAccount();
      const group = await newGroup(account, "Support");
      const program = await newServiceAccount(account);
      const user = newUser();
      const caller = { user, group: claiming(group), service_account: program }[type];
      const subject = { user: user.id, group: group.id, service_account: program.id }[type];
      const { body } = await give(account, type, subject, view);
      const uses = () =>
        Promise.all(entryPoints.map((one) => through(one)("workspaces.list", { account_id: account.id }, caller)));
      expect((await uses()).map(({ status }) => status)).toEqual([200, 200]);
      expect(await revoke(account, body.id, account.owner)).toEqual({ status: 200, body: {} });
      const gone = type === "group" ? 403 : 404;
      expect((await uses()).map(({ status }) => status)).toEqual([gone, gone]);
    },
  );

  test("takes away only this grant: a grant of the same capability on a workspace still holds", async () => {
    const account = await newAccount();
    const workspace = await newWorkspace(account, "One");
    const user = newUser();
    const narrow = { ...view, resource_type: "workspace", resource_id: workspace };
    const wide = await give(account, "user", user.id, view);
    await give(account, "user", user.id, narrow);
    await revoke(account, wide.body.id, account.owner);
    expect(await statusOf(account, user, `workspaces/${workspace}`)).toBe(200);
    expect((await through(entryPoint)("workspaces.list", { account_id: account.id }, user)).body.total).toBe(1);
  });

  test("the second revocation of a grant returns 404, and granting the permission again makes a new grant", async () => {
    const account = await newAccount();
    const user = newUser();
    const { body } = await give(account, "user", user.id, view);
    expect((await revoke(account, body.id, account.owner)).status).toBe(200);
    expect((await revoke(account, body.id, account.owner)).status).toBe(404);
    const again = await give(account, "user", user.id, view);
    expect(again.body.id).not.toBe(body.id);
    expect(await statusOf(account, user)).toBe(200);
  });

  test("another account's grant gets the same 404 as a missing one, and still holds", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    const { body } = await give(other, "user", randomUUID(), view);
    const before = await storedOf(other);
    const hidden = await revoke(account, body.id, account.owner);
    const missing = await revoke(account, randomUUID(), account.owner);
    expect(hidden.status).toBe(404);
    expect(masked(hidden.body)).toBe(masked(missing.body));
    expect(await storedOf(other)).toEqual(before);
  });

  test("a role assignment is not a grant: revoking it here returns 404", async () => {
    const account = await newAccount();
    const args = { account_id: account.id, role_key: "viewer", subject_id: randomUUID(), subject_type: "user" };
    const { body } = await attempt("auth.role_assignments.assign", args, account.owner);
    expect((await revoke(account, body.id, account.owner)).status).toBe(404);
  });

  test("no caller can revoke the ownership of the last user who owns the account, even if a group also owns the account", async () => {
    const account = await newAccount();
    await makeOwner(account, (await newGroup(account, "Owners")).id, "group");
    await makeOwner(account, (await newServiceAccount(account)).id, "service_account");
    const [own] = await list(account, { subject_id: account.owner.id });
    for (const caller of [account.owner, await newSuperAdmin()]) {
      expect((await revoke(account, own.id, caller)).body).toMatchObject({ status: 409, code: "last_owner" });
    }
    expect(await statusOf(account, account.owner)).toBe(200);
    const next = newUser();
    await makeOwner(account, next.id);
    expect((await revoke(account, own.id, account.owner)).status).toBe(200);
    expect(await statusOf(account, account.owner)).toBe(404);
    expect(await statusOf(account, next)).toBe(200);
  });

  test("if two owners revoke each other at the same moment, one stays an owner", async () => {
    for (let round = 0; round < 5; round++) {
      const account = await newAccount();
      const [one, two] = [account.owner, newUser()];
      await makeOwner(account, two.id);
      const grants: { id: string; subject_id: string }[] = await list(account, { grant_kind: "account_owner" });
      const of = (id: string) => grants.find((grant) => grant.subject_id === id)?.id;
      const answers = await Promise.all([revoke(account, of(two.id), one), revoke(account, of(one.id), two)]);
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      // The other revocation got 409 for the last owner, or 404 because its caller was no owner any more.
      expect([404, 409]).toContain(statuses.find((status) => status !== 200));
      const access = await Promise.all([one, two].map((user) => statusOf(account, user, "auth/authorizations")));
      expect(access.toSorted((a, b) => a - b)).toEqual([200, 404]);
    }
  });

  test("one of two concurrent requests that revoke the last two owners is refused", async () => {
    const account = await newAccount();
    await makeOwner(account, newUser().id);
    const admin = await newSuperAdmin();
    const grants: { id: string }[] = await list(account, { grant_kind: "account_owner" });
    const answers = await Promise.all(grants.map(({ id }) => revoke(account, id, admin)));
    expect(statusesOf(answers)).toEqual([200, 409]);
  });

  test("only owners can revoke ownership", async () => {
    const account = await newAccount();
    const { id } = await makeOwner(account, newUser().id);
    const manager = await newMember(account, { capability: "auth.manage" }, { role: "manager" });
    const before = await storedOf(account);
    const refused = await revoke(account, id, manager);
    expect(refused.body).toMatchObject({ status: 403, code: "would_escalate", missing: ["account_owner"] });
    expect(await storedOf(account)).toEqual(before);
  });

  test("only super admins can revoke a super admin grant", async () => {
    const account = await newAccount();
    const [admin, user] = [await newSuperAdmin(), newUser()];
    const args = { account_id: account.id, grant_kind: "super_admin", subject_id: user.id, subject_type: "user" };
    const { body } = await attempt("auth.authorizations.grant", args, admin);
    const refused = await revoke(account, body.id, account.owner);
    expect(refused.body).toMatchObject({ status: 403, code: "would_escalate", missing: ["super_admin"] });
    expect(await isSuperAdmin(user.token)).toBe(true);
    expect((await revoke(account, body.id, admin)).status).toBe(200);
    expect(await isSuperAdmin(user.token)).toBe(false);
    expect(await statusOf(account, user)).toBe(404);
  });

  test("a workspace that is made again with the same name inherits no grant, and the grants of the old one are revoked", async () => {
    const account = await newAccount();
    const old = await newWorkspace(account, "Sales");
    const user = newUser();
    await give(account, "user", user.id, { ...view, resource_type: "workspace", resource_id: old });
    const group = await newGroup(account, "Support");
    await giveGroup(account, group, "workspace.view", old);
    const args = { account_id: account.id, workspace_id: old };
    expect((await attempt("workspaces.delete", args, account.owner)).status).toBe(200);
    const made = await newWorkspace(account, "Sales");
    for (const caller of [user, claiming(group)]) {
      expect(await statusOf(account, caller, `workspaces/${made}`)).not.toBe(200);
      expect(await statusOf(account, caller, `workspaces/${old}`)).not.toBe(200);
    }
    expect(await statusOf(account, user)).toBe(404);
    expect(await list(account, { grant_kind: "capability" })).toEqual([]);
    const revoked = await list(account, { grant_kind: "capability", include_revoked: true });
    expect(revoked.map((grant: { revoked_at: unknown }) => typeof grant.revoked_at)).toEqual(["string", "string"]);
  });

  test("one of several concurrent revocations of a grant succeeds", async () => {
    const account = await newAccount();
    const { body } = await give(account, "user", randomUUID(), view);
    const answers = await Promise.all(Array.from({ length: 6 }, () => revoke(account, body.id, account.owner)));
    expect(statusesOf(answers)).toEqual([200, ...Array(5).fill(404)]);
  });
});
