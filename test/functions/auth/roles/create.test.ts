import { describe, expect, test } from "vitest";

import { roleLimit } from "../../../../shared/access/roles.ts";
import { rolesKey } from "../../../../shared/accounts/standing.ts";
import { asOwner, capabilityFor, newGroup, newWorkspace, statusOf } from "../../../support/auth.ts";
import { entryPoints, storedOf, through } from "../../../support/entry-points.ts";
import { recorded } from "../../../support/recorded.ts";
import { newAccount, newMember, newUser, testTable } from "../../../support/world.ts";

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);

  test("returns the role, and its holders have its permissions from the next request on", async () => {
    const account = await newAccount();
    const role = { key: "support", name: "Support", capability_keys: ["mailbox.view", "workspace.view"] };
    const { status, body } = await attempt("auth.roles.create", { account_id: account.id, ...role }, account.owner);
    expect(status).toBe(201);
    expect(body).toEqual({
      key: "support",
      name: "Support",
      description: null,
      capability_keys: ["workspace.view", "mailbox.view"],
      is_custom: true,
      created_at: expect.stringMatching(/Z$/),
    });
    const user = newUser();
    const given = await asOwner(account, "POST", "role-assignments", {
      role_key: "support",
      subject_id: user.id,
      subject_type: "user",
    });
    expect(given).toMatchObject({ role_key: "support", expanded_capability_keys: ["workspace.view", "mailbox.view"] });
    expect(await statusOf(account, user)).toBe(200);
    expect(await statusOf(account, user, "domains")).toBe(403);
    expect((await recorded(account)).map(({ type }) => type)).toContain("auth.role.created");
  });

  test("refuses a role with capabilities that its maker does not hold on the whole account", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    const scope = { type: "workspace" as const, id: await newWorkspace(account, "One") };
    const maker = await newMember(
      account,
      { capability: "auth.manage" },
      { capability: "dns.view" },
      { capability: "dns.manage", scope },
    );
    const create = (key: string, ...capability_keys: string[]) =>
      attempt("auth.roles.create", { account_id: account.id, key, name: "Mine", capability_keys }, maker);
    const before = await storedOf(account);
    expect((await create("mine", "dns.view", "dns.manage", "ip.view")).body).toMatchObject({
      code: "would_escalate",
      missing: ["dns.manage", "ip.view"],
    });
    expect(await storedOf(account)).toEqual(before);
    expect((await create("mine", "dns.view")).status).toBe(201);
    const assign = { account_id: account.id, role_key: "mine", subject_id: group.id, subject_type: "group" };
    expect((await attempt("auth.role_assignments.assign", assign, maker)).status).toBe(201);
  });

  test("refuses the key of an existing role, custom or built-in", async () => {
    const account = await newAccount();
    const create = (key: string) =>
      attempt(
        "auth.roles.create",
        { account_id: account.id, key, name: "Mine", capability_keys: ["dns.view"] },
        account.owner,
      );
    expect((await create("mine")).status).toBe(201);
    const before = await storedOf(account);
    for (const key of ["mine", "viewer"]) {
      expect((await create(key)).body).toMatchObject({ status: 409, code: "role_key_taken", conflicts_with: key });
    }
    expect(await storedOf(account)).toEqual(before);
  });

  test.each([
    [{ key: "Support" }, "key"],
    [{ key: "1st" }, "key"],
    [{ key: "s" }, "key"],
    [{ key: "__proto__" }, "key"],
    [{ name: " " }, "name"],
    [{ capability_keys: [] }, "capability_keys"],
    [{ capability_keys: ["dns.view", "dns.view"] }, "capability_keys"],
  ])("refuses %j at its place", async (wrong, member) => {
    const account = await newAccount();
    const args = { account_id: account.id, key: "mine", name: "Mine", capability_keys: ["dns.view"], ...wrong };
    const { status, body } = await attempt("auth.roles.create", args, account.owner);
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ["body", member] }]);
  });
});

test("an account with the most possible roles gets limit_reached for another role", async () => {
  const account = await newAccount();
  const role = { name: "Role", description: null, capabilities: ["dns.view"], created_by: "x", version: 1 };
  const roles = Object.fromEntries(
    Array.from({ length: roleLimit }, (_, index) => [`r${index}`, { ...role, created_at: new Date().toISOString() }]),
  );
  await testTable().attempt({ put: { ...rolesKey(account.id), roles, version: 1 } });
  const attempt = through("REST");
  const args = { account_id: account.id, key: "more", name: "More", capability_keys: ["dns.view"] };
  expect((await attempt("auth.roles.create", args, account.owner)).body).toMatchObject({ code: "limit_reached" });
});

test("a role with auth.manage lets its holder give their own permissions, and no others", async () => {
  const account = await newAccount();
  const attempt = through("REST");
  const body = { key: "chief", name: "Chief", capability_keys: ["auth.manage", "dns.view"] };
  await asOwner(account, "POST", "roles", body);
  const user = newUser();
  await asOwner(account, "POST", "role-assignments", { role_key: "chief", subject_id: user.id, subject_type: "user" });
  const give = (key: string) => attempt("auth.authorizations.grant", capabilityFor(account, newUser().id, key), user);
  expect((await give("dns.view")).status).toBe(201);
  expect((await give("dns.manage")).body).toMatchObject({ code: "would_escalate", missing: ["dns.manage"] });
});
