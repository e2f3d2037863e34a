import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { accessKey } from "../../../../shared/accounts/standing.ts";
import { dayMs } from "../../../../shared/core/time.ts";
import { grantLimit } from "../../../../shared/grants/holders.ts";
import { capabilityFor, claiming, isSuperAdmin, newGroup, newWorkspace, statusOf } from "../../../support/auth.ts";
import { entryPoints, masked, storedOf, through } from "../../../support/entry-points.ts";
import { grant, newAccount, newServiceAccount, newSuperAdmin, newUser, testTable } from "../../../support/world.ts";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);
  const give = (args: Record<string, unknown>, caller: { token: string }) =>
    attempt("auth.authorizations.grant", args, caller);

  test("returns every specified field, with null for empty fields, and the grant holds from the next request on", async () => {
    const account = await newAccount();
    const user = newUser();
    expect(await statusOf(account, user)).toBe(404);
    const { status, body } = await give(capabilityFor(account, user.id, "workspace.view"), account.owner);
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(uuid),
      grant_kind: "capability",
      subject_id: user.id,
      subject_type: "user",
      capability_key: "workspace.view",
      created_at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      resource_id: null,
      resource_type: null,
      expires_at: null,
      revoked_at: null,
    });
    expect(await statusOf(account, user)).toBe(200);
  });

  test("granting again returns the same grant or changes its end, even for a subject at the limit of grants", async () => {
    const account = await newAccount();
    const user = newUser();
    const args = capabilityFor(account, user.id, "workspace.view");
    const { body: first } = await give(args, account.owner);
    const key = accessKey(account.id, { type: "user", id: user.id });
    const [record] = await testTable().getMany([key]);
    const [held] = (record?.["grants"] ?? []) as Record<string, unknown>[];
    const grants = Array.from({ length: grantLimit }, (_, index) => ({ ...held, id: `${index}` }));
    await testTable().attempt({ update: key, set: { grants: [held, ...grants.slice(1)] } });
    expect(await give(args, account.owner)).toMatchObject({ body: { id: first.id } });
    const expires_at = new Date(Date.now() + 30 * dayMs).toISOString();
    expect(await give({ ...args, expires_at }, account.owner)).toMatchObject({ body: { id: first.id, expires_at } });
    const other = await give(capabilityFor(account, user.id, "tag.manage"), account.owner);
    expect(other.body).toMatchObject({ status: 409, code: "limit_reached" });
  });

  test("a capability on a workspace holds there and nowhere else", async () => {
    const account = await newAccount();
    const [one, two] = [await newWorkspace(account, "One"), await newWorkspace(account, "Two")];
    const user = newUser();
    const scope = { resource_type: "workspace", resource_id: one };
    const { body } = await give({ ...capabilityFor(account, user.id, "workspace.view"), ...scope }, account.owner);
    expect(body).toMatchObject(scope);
    expect(await statusOf(account, user, `workspaces/${one}`)).toBe(200);
    expect(await statusOf(account, user, `workspaces/${two}`)).toBe(404);
  });

  test("makes users, groups and service accounts owners, who can list the account's grants", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Owners");
    const [user, program] = [newUser(), await newServiceAccount(account)];
    for (const [type, id] of [
      ["user", user.id],
      ["group", group.id],
      ["service_account", program.id],
    ]) {
      const owner = { grant_kind: "account_owner", subject_id: id, subject_type: type };
      const made = await give({ account_id: account.id, ...owner }, account.owner);
      expect(made.body).toMatchObject({ ...owner, capability_key: null, resource_id: null, resource_type: null });
    }
    for (const caller of [user, claiming(group), program]) {
      expect(await statusOf(account, caller, "auth/authorizations")).toBe(200);
    }
  });

  test("a grant on the account itself is the same as a grant without a resource", async () => {
    const account = await newAccount();
    const args = capabilityFor(account, randomUUID(), "dns.view");
    const first = await give(args, account.owner);
    const again = await give({ ...args, resource_type: "account", resource_id: account.id }, account.owner);
    expect(again.body).toEqual(first.body);
    const nulls = await give({ ...args, resource_type: null, resource_id: null }, account.owner);
    expect(nulls.body).toEqual(first.body);
  });

  test("only a super admin makes super admins; an owner does not", async () => {
    const account = await newAccount();
    const [user, admin] = [newUser(), await newSuperAdmin()];
    const args = { account_id: account.id, grant_kind: "super_admin", subject_id: user.id, subject_type: "user" };
    expect((await give(args, account.owner)).body).toMatchObject({ code: "would_escalate", missing: ["super_admin"] });
    expect(await isSuperAdmin(user.token)).toBe(false);
    const made = await give(args, admin);
    expect(made).toMatchObject({ status: 201, body: { grant_kind: "super_admin", capability_key: null } });
    expect(await isSuperAdmin(user.token)).toBe(true);
    expect((await give(args, admin)).body).toEqual(made.body);
    expect(await statusOf(await newAccount(), user, "auth/authorizations")).toBe(200);
  });

  test("a super admin who has only a few permissions in the account can still grant any permission and ownership", async () => {
    const account = await newAccount();
    const admin = await newSuperAdmin();
    await grant(account, admin, { role: "viewer" }, { capability: "auth.manage" });
    expect((await give(capabilityFor(account, randomUUID(), "billing.manage"), admin)).status).toBe(201);
    const owner = {
      account_id: account.id,
      grant_kind: "account_owner",
      subject_id: randomUUID(),
      subject_type: "user",
    };
    expect((await give(owner, admin)).status).toBe(201);
  });

  test("another account's group, service account or workspace is refused at its place, with the same answer as a missing one", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    const foreign = {
      group: (await newGroup(other, "Theirs")).id,
      service_account: (await newServiceAccount(other)).id,
      workspace: await newWorkspace(other, "Theirs"),
    };
    const before = [await storedOf(account), await storedOf(other)];
    const to = async (type: "group" | "service_account", id: string) =>
      give(capabilityFor(account, id, "dns.view", type), account.owner);
    const on = async (resource_id: string, resource_type = "workspace") =>
      give({ ...capabilityFor(account, randomUUID(), "dns.view"), resource_type, resource_id }, account.owner);
    const pairs = [
      ["subject_id", await to("group", foreign.group), await to("group", randomUUID())],
      ["subject_id", await to("service_account", foreign.service_account), await to("service_account", randomUUID())],
      ["resource_id", await on(foreign.workspace), await on(randomUUID())],
      ["resource_id", await on(other.id, "account"), await on(randomUUID(), "account")],
    ] as const;
    for (const [member, hidden, missing] of pairs) {
      expect(hidden.body.detail).toMatchObject([{ loc: ["body", member], type: "not_found" }]);
      expect(masked(hidden.body)).toBe(masked(missing.body));
    }
    expect([await storedOf(account), await storedOf(other)]).toEqual(before);
  });

  test("granting the same permission twice returns the same grant", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    for (const [type, id] of [
      ["user", randomUUID()],
      ["group", group.id],
    ] as const) {
      const args = capabilityFor(account, id, "dns.view", type);
      const first = await give(args, account.owner);
      expect(await give(args, account.owner)).toEqual(first);
    }
    const listed = await attempt("auth.authorizations.list", { account_id: account.id }, account.owner);
    expect(listed.body.length).toBe(3);
  });

  test.each(["user", "group", "service_account"] as const)(
    "concurrent identical requests to grant a capability to a %s make one grant",
    async (type) => {
      const account = await newAccount();
      const makers = {
        user: newUser,
        group: () => newGroup(account, "G"),
        service_account: () => newServiceAccount(account),
      };
      const { id } = await makers[type]();
      const args = capabilityFor(account, id, "dns.view", type);
      const answers = await Promise.all(Array.from({ length: 8 }, () => give(args, account.owner)));
      expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201));
      expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
      const filter = { account_id: account.id, subject_id: id };
      const listed = await attempt("auth.authorizations.list", filter, account.owner);
      expect(listed.body).toMatchObject([answers[0]?.body]);
      expect(listed.body).toHaveLength(1);
    },
  );
});
