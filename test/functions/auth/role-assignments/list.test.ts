import { describe, expect, test } from "vitest";

import { asOwner, named, newGroup, newWorkspace } from "../../../support/auth.ts";
import { entryPoints, through } from "../../../support/entry-points.ts";
import { newAccount, newUser } from "../../../support/world.ts";

async function accountWithRoles() {
  const account = await newAccount();
  const [user, group] = [newUser(), await newGroup(account, "Support")];
  const scope = { resource_type: "workspace", resource_id: await newWorkspace(account, "One") };
  const assign = (role_key: string, subject_type: string, subject_id: string, more: object = {}) =>
    asOwner(account, "POST", "role-assignments", { role_key, subject_type, subject_id, ...more });
  const assigned = {
    user: named(await assign("viewer", "user", user.id)),
    narrow: named(await assign("editor", "user", user.id, scope)),
    group: named(await assign("viewer", "group", group.id), "Support"),
    revoked: named(await assign("ip_manager", "user", user.id)),
  };
  await asOwner(account, "DELETE", `role-assignments/${assigned.revoked.id}`);
  return { account, user, group, assigned };
}

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);

  test("lists assignments oldest first, as `assign` returned them, and leaves grants out", async () => {
    const { account, assigned } = await accountWithRoles();
    const { status, body } = await attempt("auth.role_assignments.list", { account_id: account.id }, account.owner);
    expect(status).toBe(200);
    expect(body).toEqual([assigned.user, assigned.narrow, assigned.group]);
  });

  test("filters by role and subject, which must all match, and `include_revoked` also shows revoked assignments", async () => {
    const { account, user, group, assigned } = await accountWithRoles();
    const list = async (filter: object): Promise<unknown> =>
      (await attempt("auth.role_assignments.list", { account_id: account.id, ...filter }, account.owner)).body;
    expect(await list({ role_key: "viewer" })).toEqual([assigned.user, assigned.group]);
    expect(await list({ subject_id: user.id })).toEqual([assigned.user, assigned.narrow]);
    expect(await list({ subject_type: "group" })).toEqual([assigned.group]);
    expect(await list({ role_key: "editor", subject_id: group.id })).toEqual([]);
    expect(await list({ role_key: "ip_manager" })).toEqual([]);
    const at = expect.stringMatching(/\.\d{3}Z$/);
    expect(await list({ role_key: "ip_manager", include_revoked: true })).toEqual([
      { ...assigned.revoked, revoked_at: at },
    ]);
    expect(await list({ include_revoked: true })).toHaveLength(4);
  });

  test("shows nothing of another account", async () => {
    const { user } = await accountWithRoles();
    const { id, owner } = await newAccount();
    const args = { account_id: id, subject_id: user.id, include_revoked: true };
    expect((await attempt("auth.role_assignments.list", args, owner)).body).toEqual([]);
  });

  test.each([
    [{ role_key: "No role" }, "role_key", /small letters/],
    [{ subject_type: "robot" }, "subject_type", /group/],
    [{ subject_id: "x" }, "subject_id", /UUID/],
    [{ include_revoked: "maybe" }, "include_revoked", /true or false/],
  ])("refuses the filter %j at its place", async (filter, name, msg) => {
    const { id, owner } = await newAccount();
    const { status, body } = await attempt("auth.role_assignments.list", { account_id: id, ...filter }, owner);
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ["query", name], msg: expect.stringMatching(msg) }]);
  });
});
