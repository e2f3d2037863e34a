import { describe, expect, test } from "vitest";

import { asOwner, claiming, giveGroup, newGroup, newWorkspace, statusOf, withRole } from "../../../support/auth.ts";
import { entryPoints, storedOf, through } from "../../../support/entry-points.ts";
import { recorded } from "../../../support/recorded.ts";
import { newAccount, newMember, newServiceAccount, newUser, type Account } from "../../../support/world.ts";

const assign = (account: Account, subject_id: string, subject_type = "user", more: object = {}) =>
  asOwner(account, "POST", "role-assignments", { role_key: "support", subject_id, subject_type, ...more });

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);
  const update = (account: Account, patch: object, caller = account.owner) =>
    attempt("auth.roles.update", { account_id: account.id, role: "support", ...patch }, caller);

  test("changes the permissions of all holders from the next request on: users, groups and service accounts", async () => {
    const account = await withRole();
    const group = await newGroup(account, "Support");
    const [user, program, claimer] = [newUser(), await newServiceAccount(account), claiming(group)];
    await assign(account, user.id);
    await assign(account, program.id, "service_account");
    await assign(account, group.id, "group");
    const holders = [user, program, claimer];
    const statuses = async () => Promise.all(holders.map((holder) => statusOf(account, holder)));
    expect(await statuses()).toEqual([403, 403, 403]);
    const { status, body } = await update(account, { capability_keys: ["dns.view", "workspace.view"] });
    expect([status, body.capability_keys]).toEqual([200, ["workspace.view", "dns.view"]]);
    expect(await statuses()).toEqual([200, 200, 200]);
    await update(account, { capability_keys: ["dns.view"] });
    expect(await statuses()).toEqual([403, 403, 403]);
    const shown = await asOwner(account, "GET", `groups/${group.id}`);
    expect(shown["permission_context"]).toMatchObject({
      assigned_bundle_keys: ["support"],
      resolved_capability_keys: ["dns.view"],
    });
  });

  test("changes the permissions of a holder on a workspace, and nowhere else", async () => {
    const account = await withRole();
    const [one, two] = [await newWorkspace(account, "One"), await newWorkspace(account, "Two")];
    const user = newUser();
    await assign(account, user.id, "user", { resource_type: "workspace", resource_id: one });
    await update(account, { capability_keys: ["dns.view", "workspace.view"] });
    expect(await statusOf(account, user, `workspaces/${one}`)).toBe(200);
    expect(await statusOf(account, user, `workspaces/${two}`)).toBe(404);
  });

  test("gives nobody more than the caller holds, not even the caller", async () => {
    const account = await withRole();
    const caller = await newMember(account, { capability: "auth.manage" });
    await assign(account, caller.id);
    const before = await storedOf(account);
    const refused = await update(account, { capability_keys: ["dns.view", "workspace.view", "billing.view"] }, caller);
    expect(refused.body).toMatchObject({
      status: 403,
      code: "would_escalate",
      missing: ["billing.view", "workspace.view"],
    });
    expect(await storedOf(account)).toEqual(before);
    expect(await statusOf(account, caller)).toBe(403);
  });

  test("callers who hold less than the role can narrow and rename it", async () => {
    const account = await newAccount();
    const body = { key: "support", name: "Support", capability_keys: ["dns.view", "billing.view"] };
    await asOwner(account, "POST", "roles", body);
    const caller = await newMember(account, { capability: "auth.manage" });
    const patch = { name: "First line", description: "Answers calls", capability_keys: ["dns.view"] };
    expect((await update(account, patch, caller)).body).toMatchObject(patch);
    expect((await update(account, { description: null }, caller)).body.description).toBeNull();
    const changes = (await recorded(account)).filter(({ type }) => type === "auth.role.updated");
    expect(changes).toHaveLength(2);
  });

  test("changes and records nothing if the values are the same", async () => {
    const account = await withRole();
    const before = await storedOf(account);
    expect((await update(account, { name: "Support", capability_keys: ["dns.view"] })).status).toBe(200);
    expect(await storedOf(account)).toEqual(before);
  });

  test("needs auth.manage: holding the role is not enough", async () => {
    const account = await withRole();
    const group = await newGroup(account, "Others");
    await giveGroup(account, group, "dns.manage");
    const user = claiming(group);
    await assign(account, user.id);
    const refused = await update(account, { capability_keys: ["dns.view", "auth.manage"] }, user);
    expect(refused.body).toMatchObject({ code: "forbidden", required_capability: "auth.manage" });
  });

  test("is refused for a built-in role, and returns 404 for a role of another account", async () => {
    const [account, other] = [await newAccount(), await withRole()];
    const of = (role: string) =>
      attempt("auth.roles.update", { account_id: account.id, role, name: "Mine" }, account.owner);
    expect((await of("viewer")).body).toMatchObject({ status: 409, code: "role_built_in" });
    expect((await of("support")).status).toBe(404);
    expect((await of("constructor")).status).toBe(404);
    expect((await update(other, { name: "Mine" })).status).toBe(200);
  });
});
