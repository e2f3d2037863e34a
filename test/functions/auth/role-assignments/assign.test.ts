import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { roles } from "../../../../shared/auth/capabilities.ts";
import { claiming, join, newGroup, newWorkspace, statusOf } from "../../../support/auth.ts";
import { entryPoints, masked, storedOf, through } from "../../../support/entry-points.ts";
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
  const assign = ({ id }: Account, args: object, caller: { token: string }) =>
    attempt("auth.role_assignments.assign", { account_id: id, subject_type: "user", ...args }, caller);

  test("returns every field, and the assignment holds from the next request on", async () => {
    const account = await newAccount();
    const user = newUser();
    const { status, body } = await assign(account, { role_key: "dns_manager", subject_id: user.id }, account.owner);
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      role_key: "dns_manager",
      expanded_capability_keys: ["dns.view", "dns.manage"],
      subject_id: user.id,
      subject_type: "user",
      resource_id: null,
      resource_type: null,
      created_at: expect.stringMatching(/\.\d{3}Z$/),
      expires_at: null,
      revoked_at: null,
    });
    expect(await statusOf(account, user)).toBe(403);
    await assign(account, { role_key: "viewer", subject_id: user.id }, account.owner);
    expect(await statusOf(account, user)).toBe(200);
  });

  test("gives groups and service accounts a role on a workspace", async () => {
    const account = await newAccount();
    const [one, two] = [await newWorkspace(account, "One"), await newWorkspace(account, "Two")];
    const [group, program] = [await newGroup(account, "Support"), await newServiceAccount(account)];
    const scope = { resource_type: "workspace", resource_id: one };
    for (const [subject_type, subject_id, caller] of [
      ["group", group.id, claiming(group)],
      ["service_account", program.id, program],
    ] as const) {
      const args = { role_key: "manager", subject_type, subject_id, ...scope };
      expect((await assign(account, args, account.owner)).body).toMatchObject(args);
      expect(await statusOf(account, caller, `workspaces/${one}`)).toBe(200);
      expect(await statusOf(account, caller, `workspaces/${two}`)).toBe(404);
    }
  });

  test("nobody assigns a role unless they hold all its capabilities on the same scope or a wider one", async () => {
    const account = await newAccount();
    const [one, two] = [await newWorkspace(account, "One"), await newWorkspace(account, "Two")];
    const [group, program] = [await newGroup(account, "Support"), await newServiceAccount(account)];
    const manager = await newMember(
      account,
      { capability: "auth.manage" },
      { capability: "dns.view" },
      { capability: "ip.view" },
      { role: "dns_manager", scope: { type: "workspace", id: one } },
    );
    await join(account, group, manager.id);
    const before = await storedOf(account);
    const workspace = (resource_id: string) => ({ resource_type: "workspace", resource_id });
    for (const [args, missing] of [
      [{ role_key: "dns_manager", subject_id: manager.id }, ["dns.manage"]],
      [{ role_key: "dns_manager", subject_id: manager.id, ...workspace(two) }, ["dns.manage"]],
      [{ role_key: "dns_manager", subject_id: group.id, subject_type: "group" }, ["dns.manage"]],
      [{ role_key: "ip_manager", subject_id: program.id, subject_type: "service_account" }, ["ip.assign", "ip.manage"]],
      [{ role_key: "billing_admin", subject_id: randomUUID() }, ["billing.manage", "billing.view"]],
      [
        { role_key: "credential_manager", subject_id: manager.id, ...workspace(one) },
        ["credential.manage", "credential.view"],
      ],
    ] as const) {
      const refused = await assign(account, args, manager);
      expect(refused.body).toMatchObject({ status: 403, code: "would_escalate", missing });
    }
    expect(await storedOf(account)).toEqual(before);
    const allowed = { role_key: "dns_manager", subject_id: randomUUID(), ...workspace(one) };
    expect((await assign(account, allowed, manager)).status).toBe(201);
    expect(
      (await assign(account, { role_key: "billing_admin", subject_id: manager.id }, await newSuperAdmin())).status,
    ).toBe(201);
  });

  test("every built-in role is returned with its fixed capabilities", async () => {
    const account = await newAccount();
    for (const [role_key, bundle] of Object.entries(roles)) {
      const { body } = await assign(account, { role_key, subject_id: randomUUID() }, account.owner);
      expect(body.expanded_capability_keys).toEqual([...bundle]);
    }
  });

  test("assigning the same role again returns the same assignment, also at the same moment", async () => {
    const account = await newAccount();
    const args = { role_key: "viewer", subject_id: randomUUID() };
    const answers = await Promise.all(Array.from({ length: 8 }, () => assign(account, args, account.owner)));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect((await assign(account, args, account.owner)).body).toEqual(answers[0]?.body);
    const scope = { resource_type: "workspace", resource_id: await newWorkspace(account, "One") };
    expect((await assign(account, { ...args, ...scope }, account.owner)).body.id).not.toBe(answers[0]?.body.id);
    const listed = await attempt("auth.role_assignments.list", { account_id: account.id }, account.owner);
    expect(listed.body).toHaveLength(2);
  });

  test("another account's group, service account or workspace is refused at its place, with the same answer as a missing one", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    const before = await storedOf(account);
    const role = { role_key: "viewer" };
    const on = (resource_id: string) => ({ subject_id: account.owner.id, resource_type: "workspace", resource_id });
    const to = (subject_type: string, subject_id: string) => ({ subject_type, subject_id });
    for (const [foreign, missing] of [
      [to("group", (await newGroup(other, "Theirs")).id), to("group", randomUUID())],
      [to("service_account", (await newServiceAccount(other)).id), to("service_account", randomUUID())],
      [on(await newWorkspace(other, "Theirs")), on(randomUUID())],
    ] as const) {
      const hidden = await assign(account, { ...role, ...foreign }, account.owner);
      const member = "resource_id" in foreign ? "resource_id" : "subject_id";
      expect(hidden.body.detail).toMatchObject([{ loc: ["body", member], type: "not_found" }]);
      expect(masked(hidden.body)).toBe(masked((await assign(account, { ...role, ...missing }, account.owner)).body));
    }
    expect(await storedOf(account)).toEqual(before);
  });

  const id = randomUUID();
  test.each([
    [{ role_key: "god", subject_id: id }, "role_key", /viewer.*credential_manager/],
    [{ role_key: "No role", subject_id: id }, "role_key", /small letters/],
    [{ subject_id: id }, "role_key", /./],
    [{ role_key: "viewer", subject_id: id, subject_type: "robot" }, "subject_type", /service_account/],
    [{ role_key: "viewer", subject_id: id, resource_id: id }, "resource_type", /resource_id/],
    [{ role_key: "viewer", subject_id: id, resource_type: "workspace" }, "resource_id", /resource_type/],
    [{ role_key: "viewer", subject_id: id, resource_type: "x", resource_id: id }, "resource_type", /workspace/],
  ])("refuses %j at its place", async (args, name, msg) => {
    const account = await newAccount();
    const before = await storedOf(account);
    const { status, body } = await assign(account, args, account.owner);
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ["body", name], msg: expect.stringMatching(msg) }]);
    expect(await storedOf(account)).toEqual(before);
  });
});
