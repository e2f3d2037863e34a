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
    "a %s has lost it by the next request, by REST and by code mode",
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

  test("takes only that grant: another on a workspace still holds", async () => {
    const account = await newAccount();
    const workspace = await newWorkspace(account, "One");
    const user = newUser();
    const narrow = { ...view, resource_type: "workspace", resource_id: workspace };
    const [wide] = [await give(account, "user", user.id, view), await give(account, "user", user.id, narrow)];
    await revoke(account, wide.body.id, account.owner);
    expect(await statusOf(account, user, `workspaces/${workspace}`)).toBe(200);
    expect((await through(entryPoint)("workspaces.list", { account_id: account.id }, user)).body.total).toBe(1);
  });

  test("a second revocation finds nothing; granting it again makes another grant", async () => {
    const account = await newAccount();
    const user = newUser();
    const { body } = await give(account, "user", user.id, view);
    expect((await revoke(account, body.id, account.owner)).status).toBe(200);
    expect((await revoke(account, body.id, account.owner)).status).toBe(404);
    const again = await give(account, "user", user.id, view);
    expect(again.body.id).not.toBe(body.id);
    expect(await statusOf(account, user)).toBe(200);
  });

  test("another account's grant is a 404 with the bytes of a missing one, and still holds", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    const { body } = await give(other, "user", randomUUID(), view);
    const before = await storedOf(other);
    const hidden = await revoke(account, body.id, account.owner);
    const missing = await revoke(account, randomUUID(), account.owner);
    expect(hidden.status).toBe(404);
    expect(masked(hidden.body)).toBe(masked(missing.body));
    expect(await storedOf(other)).toEqual(before);
  });

  test("a role's assignment is no grant: it is revoked by its own function only", async () => {
    const account = await newAccount();
    const args = { account_id: account.id, role_key: "viewer", subject_id: randomUUID(), subject_type: "user" };
    const { body } = await attempt("auth.role_assignments.assign", args, account.owner);
    expect((await revoke(account, body.id, account.owner)).status).toBe(404);
  });

  test("the last owner stays, for every caller, even if a group or a service account owns the account too", async () => {
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

  test("of two owners who revoke each other at the same moment one stays", async () => {
    for (let round = 0; round < 5; round++) {
      const account = await newAccount();
      const [one, two] = [account.owner, newUser()];
      await makeOwner(account, two.id);
      const grants: { id: string; subject_id: string }[] = await list(account, { grant_kind: "account_owner" });
      const of = (id: string) => grants.find((grant) => grant.subject_id === id)?.id;
      const answers = await Promise.all([revoke(account, of(two.id), one), revoke(account, of(one.id), two)]);
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      // Who lost either met the rule, or was no owner any more by then.
      expect([404, 409]).toContain(statuses.find((status) => status !== 200));
      const access = await Promise.all([one, two].map((user) => statusOf(account, user, "auth/authorizations")));
      expect(access.toSorted((a, b) => a - b)).toEqual([200, 404]);
    }
  });

  test("of two requests for the last two owners' grants one is refused", async () => {
    const account = await newAccount();
    await makeOwner(account, newUser().id);
    const admin = await newSuperAdmin();
    const grants: { id: string }[] = await list(account, { grant_kind: "account_owner" });
    const answers = await Promise.all(grants.map(({ id }) => revoke(account, id, admin)));
    expect(statusesOf(answers)).toEqual([200, 409]);
  });

  test("only owners take ownership away", async () => {
    const account = await newAccount();
    const { id } = await makeOwner(account, newUser().id);
    const manager = await newMember(account, { capability: "auth.manage" }, { role: "manager" });
    const before = await storedOf(account);
    const refused = await revoke(account, id, manager);
    expect(refused.body).toMatchObject({ status: 403, code: "would_escalate", missing: ["account_owner"] });
    expect(await storedOf(account)).toEqual(before);
  });

  test("only super admins unmake super admins", async () => {
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

  test("of concurrent revocations of one grant one succeeds", async () => {
    const account = await newAccount();
    const { body } = await give(account, "user", randomUUID(), view);
    const answers = await Promise.all(Array.from({ length: 6 }, () => revoke(account, body.id, account.owner)));
    expect(statusesOf(answers)).toEqual([200, ...Array(5).fill(404)]);
  });
});
