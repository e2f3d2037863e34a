import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { asOwner, claiming, newGroup, newWorkspace, statusOf } from "../../../support/auth.ts";
import { entryPoints, masked, storedOf, through } from "../../../support/entry-points.ts";
import { newAccount, newMember, newServiceAccount, newUser, type Account } from "../../../support/world.ts";

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);
  const revoke = ({ id }: Account, assignmentId: unknown, caller: { token: string }) =>
    attempt("auth.role_assignments.revoke", { account_id: id, assignment_id: assignmentId }, caller);
  const assign = (account: Account, subject_type: string, subject_id: string, more: object = {}) =>
    asOwner(account, "POST", "role-assignments", { role_key: "viewer", subject_type, subject_id, ...more });

  test("a former holder has lost the role by the next request, over REST and in code mode", async () => {
    const account = await newAccount();
    const [user, group, program] = [newUser(), await newGroup(account, "Support"), await newServiceAccount(account)];
    for (const [type, id, caller, gone] of [
      ["user", user.id, user, 404],
      ["group", group.id, claiming(group), 403],
      ["service_account", program.id, program, 404],
    ] as const) {
      const assigned = await assign(account, type, id);
      const uses = () =>
        Promise.all(entryPoints.map((one) => through(one)("workspaces.list", { account_id: account.id }, caller)));
      expect((await uses()).map(({ status }) => status)).toEqual([200, 200]);
      expect(await revoke(account, assigned.id, account.owner)).toEqual({ status: 200, body: {} });
      expect((await uses()).map(({ status }) => status)).toEqual([gone, gone]);
      expect((await revoke(account, assigned.id, account.owner)).status).toBe(404);
    }
  });

  test("takes away only this assignment: the same role on a workspace still holds", async () => {
    const account = await newAccount();
    const workspace = await newWorkspace(account, "One");
    const user = newUser();
    const wide = await assign(account, "user", user.id);
    await assign(account, "user", user.id, { resource_type: "workspace", resource_id: workspace });
    await revoke(account, wide.id, account.owner);
    expect(await statusOf(account, user, `workspaces/${workspace}`)).toBe(200);
    expect((await attempt("workspaces.list", { account_id: account.id }, user)).body.total).toBe(1);
  });

  test("a grant is not a role assignment: revoking it here returns 404, also for ownership", async () => {
    const account = await newAccount();
    const manager = await newMember(account, { capability: "auth.manage" });
    const before = await storedOf(account);
    for (const { id } of await asOwner(account, "GET", "authorizations")) {
      expect((await revoke(account, id, manager)).status).toBe(404);
    }
    expect(await storedOf(account)).toEqual(before);
  });

  test("a workspace made again with the same name inherits no role", async () => {
    const account = await newAccount();
    const old = await newWorkspace(account, "Sales");
    const user = newUser();
    await assign(account, "user", user.id, { resource_type: "workspace", resource_id: old });
    await attempt("workspaces.delete", { account_id: account.id, workspace_id: old }, account.owner);
    const made = await newWorkspace(account, "Sales");
    expect(await statusOf(account, user, `workspaces/${made}`)).toBe(404);
    expect((await attempt("auth.role_assignments.list", { account_id: account.id }, account.owner)).body).toEqual([]);
  });

  test("another account's assignment gets the same 404 as a missing one, and still holds", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    const user = newUser();
    const { id } = await assign(other, "user", user.id);
    const hidden = await revoke(account, id, account.owner);
    expect(hidden.status).toBe(404);
    expect(masked(hidden.body)).toBe(masked((await revoke(account, randomUUID(), account.owner)).body));
    expect(await statusOf(other, user)).toBe(200);
  });
});
