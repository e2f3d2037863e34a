import { afterEach, describe, expect, test, vi } from "vitest";

import { hourMs, setClockAhead } from "../../../../shared/core/time.ts";
import {
  asOwner,
  capabilityFor,
  claiming,
  giveGroup,
  isSuperAdmin,
  join,
  newWorkspace,
  newGroup,
  statusOf,
} from "../../../support/auth.ts";
import { entryPoints, storedOf, through } from "../../../support/entry-points.ts";
import { request } from "../../../support/request.ts";
import {
  grant,
  newAccount,
  newMember,
  newServiceAccount,
  newSuperAdmin,
  newUser,
  type Account,
  type User,
} from "../../../support/world.ts";

afterEach(() => {
  setClockAhead(0);
  vi.useRealTimers();
});

const inHours = (hours: number): string => new Date(Date.now() + hours * hourMs).toISOString();
const later = (hours: number): void => setClockAhead(hours * hourMs);

const rest = through("REST");

const owning = ({ id }: Account, subject_id: string, expires_at?: string | null) => ({
  account_id: id,
  grant_kind: "account_owner",
  subject_id,
  subject_type: "user",
  expires_at,
});

const give = (account: Account, subject: string, key: string, expires_at?: string | null, caller = account.owner) =>
  rest("auth.authorizations.grant", { ...capabilityFor(account, subject, key), expires_at }, caller);

const accountsOf = async ({ token }: Pick<User, "token">): Promise<{ items: { id: string }[]; total: number }> =>
  (await request("GET", "/v1/public/accounts", { token })).body;

test("a repeat after the end of the grant gets the stored answer, and a new request with a past end is refused", async () => {
  const account = await newAccount();
  const path = `/v1/public/accounts/${account.id}/auth/authorizations`;
  const { account_id: _, ...capability } = capabilityFor(account, newUser().id, "domain.view");
  const body = { ...capability, expires_at: inHours(1) };
  const send = (key: string) =>
    request("POST", path, { token: account.owner.token, body, headers: { "idempotency-key": key } });
  const first = await send("one");
  later(2);
  const repeat = await send("one");
  expect([first.status, repeat.status, repeat.text]).toEqual([201, 201, first.text]);
  const refused = { status: 422, body: { detail: [{ loc: ["body", "expires_at"], type: "value_error" }] } };
  expect(await send("two")).toMatchObject(refused);
  setClockAhead(0);
  expect((await send("two")).status).toBe(201);
});

test("a grant gives its permission until the last millisecond before its end, and nothing from its end on", async () => {
  const account = await newAccount();
  const user = newUser();
  const end = inHours(1);
  await give(account, user.id, "workspace.view", end);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse(end) - 1 });
  expect(await statusOf(account, user)).toBe(200);
  vi.setSystemTime(Date.parse(end));
  expect(await statusOf(account, user)).toBe(404);
});

test("a user whose grant ends keeps the account in the list, because of another grant without an end", async () => {
  const account = await newAccount();
  const user = newUser();
  await give(account, user.id, "workspace.view");
  await give(account, user.id, "dns.view", inHours(1));
  later(1.01);
  expect(await statusOf(account, user)).toBe(200);
  expect(await accountsOf(user)).toMatchObject({ items: [{ id: account.id }], total: 1 });
});

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);

  test("a grant and a role give nothing after their end, and a user without any other permission no longer sees the account", async () => {
    const account = await newAccount();
    const user = newUser();
    const [first, second] = [inHours(1), inHours(2)];
    const args = { ...capabilityFor(account, user.id, "auth.manage"), expires_at: first };
    const { body } = await attempt("auth.authorizations.grant", args, account.owner);
    expect(body).toMatchObject({ expires_at: first, revoked_at: null });
    const role = { account_id: account.id, role_key: "viewer", subject_id: user.id, subject_type: "user" };
    const assigned = await attempt("auth.role_assignments.assign", { ...role, expires_at: second }, account.owner);
    expect(assigned.body).toMatchObject({ expires_at: second, revoked_at: null });
    expect(await statusOf(account, user, "auth/authorizations")).toBe(200);
    later(1.01);
    expect(await statusOf(account, user, "auth/authorizations")).toBe(403);
    expect(await statusOf(account, user)).toBe(200);
    expect(await accountsOf(user)).toMatchObject({ items: [{ id: account.id }], total: 1 });
    later(2.01);
    expect(await statusOf(account, user)).toBe(404);
    expect(await accountsOf(user)).toMatchObject({ items: [], total: 0 });
    const list = (name: string, more: object) => attempt(name, { account_id: account.id, ...more }, account.owner);
    expect((await list("auth.authorizations.list", { subject_id: user.id })).body).toEqual([]);
    expect((await list("auth.role_assignments.list", {})).body).toEqual([]);
    const all = { include_revoked: true, subject_id: user.id };
    expect((await list("auth.authorizations.list", all)).body).toMatchObject([
      { expires_at: first, revoked_at: first },
    ]);
    expect((await list("auth.role_assignments.list", all)).body).toMatchObject([
      { expires_at: second, revoked_at: second },
    ]);
  });

  test.each([
    ["2020-01-01T00:00:00Z", /future/],
    [new Date().toISOString(), /future/],
    ["2999-01-01T00:00:00Z", /10 years/],
    ["tomorrow", /./],
  ])("an `expires_at` of %s is refused at its place, and nothing is given", async (expires_at, msg) => {
    const account = await newAccount();
    const before = await storedOf(account);
    const subject = { subject_id: newUser().id, subject_type: "user", expires_at };
    const granted = { ...subject, grant_kind: "capability", capability_key: "dns.view" };
    for (const [name, body] of [
      ["auth.authorizations.grant", granted],
      ["auth.role_assignments.assign", { ...subject, role_key: "viewer" }],
    ] as const) {
      const { status, body: answer } = await attempt(name, { account_id: account.id, ...body }, account.owner);
      expect(status).toBe(422);
      expect(answer.detail).toMatchObject([{ loc: ["body", "expires_at"], msg: expect.stringMatching(msg) }]);
    }
    expect(await storedOf(account)).toEqual(before);
  });

  test("granting a permission again changes the end of the grant, and null removes the end", async () => {
    const account = await newAccount();
    const user = newUser();
    const again = async (expires_at: string | null) =>
      (
        await attempt(
          "auth.authorizations.grant",
          { ...capabilityFor(account, user.id, "workspace.view"), expires_at },
          account.owner,
        )
      ).body;
    const { id } = await again(inHours(1));
    expect(await again(inHours(5))).toMatchObject({ id });
    later(2);
    expect(await statusOf(account, user)).toBe(200);
    expect(await again(null)).toMatchObject({ id, expires_at: null });
    later(6);
    expect(await statusOf(account, user)).toBe(200);
    expect(await again(inHours(7))).toMatchObject({ id });
    later(8);
    expect(await statusOf(account, user)).toBe(404);
    // A grant that has ended is not renewed: this is a new grant.
    const other = await again(null);
    expect(other.id).not.toBe(id);
    expect(await statusOf(account, user)).toBe(200);
  });

  test("if an earlier version made two identical grants, granting the permission again changes the end of both", async () => {
    const account = await newAccount();
    const user = newUser();
    await grant(account, user, { capability: "workspace.view" }, { capability: "workspace.view" });
    const list = async () =>
      (
        await attempt("auth.authorizations.list", { account_id: account.id, subject_id: user.id }, account.owner)
      ).body.map(({ id, expires_at }: { id: string; expires_at: string | null }) => ({ id, expires_at }));
    const [first, second] = await list();
    const end = inHours(1);
    const args = capabilityFor(account, user.id, "workspace.view");
    const { body } = await attempt("auth.authorizations.grant", { ...args, expires_at: end }, account.owner);
    expect(body).toMatchObject({ id: first.id, expires_at: end });
    expect(await list()).toEqual([first, second].map(({ id }) => ({ id, expires_at: end })));
    later(2);
    expect(await statusOf(account, user)).toBe(404);
  });
});

describe("nobody gives a permission for longer than they hold it:", () => {
  const giver = async (account: Account): Promise<User> => {
    const user = newUser();
    for (const key of ["auth.manage", "dns.view"]) await give(account, user.id, key, inHours(2));
    return user;
  };

  test("to another user", async () => {
    const account = await newAccount();
    const user = await giver(account);
    const before = await storedOf(account);
    for (const end of [undefined, null, inHours(3)]) {
      const refused = await give(account, newUser().id, "dns.view", end, user);
      expect(refused.body).toMatchObject({
        code: "would_escalate",
        missing: ["dns.view"],
        detail: expect.stringContaining("ends sooner"),
      });
    }
    expect(await storedOf(account)).toEqual(before);
    expect((await give(account, newUser().id, "dns.view", inHours(1), user)).status).toBe(201);
  });

  test("on a workspace, and the error tells what ends sooner from what the caller does not hold", async () => {
    const account = await newAccount();
    const [held, other] = [await newWorkspace(account, "Held"), await newWorkspace(account, "Other")];
    const user = newUser();
    await give(account, user.id, "auth.manage");
    const giveIn = (resource_id: string, key: string, subject: string, caller = account.owner, expires_at?: string) =>
      rest(
        "auth.authorizations.grant",
        { ...capabilityFor(account, subject, key), resource_type: "workspace", resource_id, expires_at },
        caller,
      );
    await giveIn(held, "mailbox.view", user.id, account.owner, inHours(24));
    const tried = async (workspace: string, key: string) => {
      const { status, body } = await giveIn(workspace, key, newUser().id, user);
      return [status, body.detail];
    };
    const ends = "Your own mailbox.view ends sooner, so you cannot give it to others for longer.";
    expect(await tried(held, "mailbox.view")).toEqual([403, ends]);
    expect(await tried(other, "mailbox.view")).toEqual([
      403,
      expect.stringContaining("You do not hold mailbox.view on this scope or on a wider one."),
    ]);
    await give(account, user.id, "mailbox.view", inHours(2));
    const role = { key: "mine", name: "Mine", capability_keys: ["mailbox.view", "domain.view"] };
    expect((await rest("auth.roles.create", { account_id: account.id, ...role }, user)).body).toMatchObject({
      missing: ["domain.view", "mailbox.view"],
      detail: expect.stringMatching(new RegExp(`^You do not hold domain\\.view on this scope .* ${ends}$`)),
    });
  });

  test("to another user, not even by a millisecond", async () => {
    const account = await newAccount();
    const [user, end] = [newUser(), inHours(2)];
    for (const key of ["auth.manage", "dns.view"]) await give(account, user.id, key, end);
    const longer = new Date(Date.parse(end) + 1).toISOString();
    expect((await give(account, newUser().id, "dns.view", longer, user)).body).toMatchObject({
      code: "would_escalate",
    });
    expect((await give(account, newUser().id, "dns.view", end, user)).status).toBe(201);
  });

  test("to themselves, by granting the same permission again", async () => {
    const account = await newAccount();
    const user = await giver(account);
    expect((await give(account, user.id, "dns.view", null, user)).body).toMatchObject({ code: "would_escalate" });
    expect((await give(account, user.id, "auth.manage", inHours(9), user)).body).toMatchObject({
      code: "would_escalate",
    });
  });

  test("by adding to a group, creating a role or rotating a service account", async () => {
    const account = await newAccount();
    const user = await giver(account);
    const group = await newGroup(account, "Lasting");
    await giveGroup(account, group, "dns.view");
    const account_id = account.id;
    const member = { account_id, group_id: group.id, subject_id: user.id, subject_type: "user" };
    const program = await newServiceAccount(account, { capability: "dns.view" });
    const refused = [
      await rest("auth.groups.members.add", member, user),
      await rest("auth.roles.create", { account_id, key: "mine", name: "M", capability_keys: ["dns.view"] }, user),
      await rest("auth.service_accounts.rotate", { account_id, service_account_id: program.id }, user),
    ];
    for (const { body } of refused) expect(body).toMatchObject({ code: "would_escalate", missing: ["dns.view"] });
  });

  test("account.view, which every member has", async () => {
    const account = await newAccount();
    const user = await giver(account);
    expect((await give(account, newUser().id, "account.view", null, user)).body).toMatchObject({
      code: "would_escalate",
    });
    expect((await give(account, newUser().id, "account.view", inHours(1), user)).status).toBe(201);
  });

  test("ownership and super admin", async () => {
    const account = await newAccount();
    const [owner, admin, temporaryAdmin] = [newUser(), await newSuperAdmin(), newUser()];
    await rest("auth.authorizations.grant", owning(account, owner.id, inHours(2)), account.owner);
    const grantOwnership = (end?: string) =>
      rest("auth.authorizations.grant", owning(account, newUser().id, end), owner);
    expect((await grantOwnership()).body).toMatchObject({ code: "would_escalate", missing: ["account_owner"] });
    expect((await grantOwnership(inHours(1))).status).toBe(201);
    const grantSuperAdmin = (subject_id: string, caller: User, expires_at?: string) =>
      rest(
        "auth.authorizations.grant",
        { account_id: account.id, grant_kind: "super_admin", subject_id, subject_type: "user", expires_at },
        caller,
      );
    expect((await grantSuperAdmin(temporaryAdmin.id, admin, inHours(2))).status).toBe(201);
    expect((await grantSuperAdmin(newUser().id, temporaryAdmin)).body).toMatchObject({ missing: ["super_admin"] });
    const lasting = await rest("auth.authorizations.grant", owning(account, newUser().id), temporaryAdmin);
    expect(lasting.body).toMatchObject({ missing: ["account_owner"] });
    expect(await isSuperAdmin(temporaryAdmin.token)).toBe(true);
    later(2.01);
    expect(await isSuperAdmin(temporaryAdmin.token)).toBe(false);
    expect(await statusOf(account, temporaryAdmin)).toBe(404);
    expect(await statusOf(account, owner)).toBe(404);
  });
});

test("an owner with an end does not count as the last owner that an account must keep", async () => {
  const account = await newAccount();
  const guest = newUser();
  const { body } = await rest("auth.authorizations.grant", owning(account, guest.id, inHours(1)), account.owner);
  const listed = await asOwner(account, "GET", "authorizations?grant_kind=account_owner");
  const [own] = listed as unknown as { id: string }[];
  const revoke = (grant_id: string | undefined, caller: User) =>
    rest("auth.authorizations.revoke", { account_id: account.id, grant_id }, caller);
  expect((await revoke(own?.id, guest)).body).toMatchObject({ code: "last_owner" });
  const ending = await rest("auth.authorizations.grant", owning(account, account.owner.id, inHours(0.5)), guest);
  expect(ending.body).toMatchObject({ code: "last_owner" });
  // Once the guest is an owner without an end, either owner can be removed.
  await rest("auth.authorizations.grant", owning(account, guest.id), account.owner);
  expect((await revoke(own?.id, guest)).status).toBe(200);
  expect((await revoke(body.id, guest)).body).toMatchObject({ code: "last_owner" });
});

test("when a grant of a group ends, the members lose the permission and stay members", async () => {
  const account = await newAccount();
  const group = await newGroup(account, "Support");
  const [added, claimer] = [newUser(), claiming(group)];
  await join(account, group, added.id);
  const args = { ...capabilityFor(account, group.id, "workspace.view", "group"), expires_at: inHours(1) };
  await rest("auth.authorizations.grant", args, account.owner);
  for (const user of [added, claimer]) expect(await statusOf(account, user)).toBe(200);
  later(1.01);
  for (const user of [added, claimer]) expect(await statusOf(account, user)).toBe(403);
  const shown = await asOwner(account, "GET", `groups/${group.id}`);
  expect(shown["permission_context"]).toMatchObject({ direct_capability_keys: [], resolved_capability_keys: [] });
  // A new member gets only grants that have not ended, so the manager needs no workspace.view.
  const manager = await newMember(account, { capability: "auth.manage" });
  const member = { account_id: account.id, group_id: group.id, subject_id: newUser().id, subject_type: "user" };
  expect((await rest("auth.groups.members.add", member, manager)).status).toBe(201);
});

describe("a stored answer of code mode is not returned again", () => {
  const sent = (account: Account, { token }: Pick<User, "token">) =>
    request("POST", "/v1/public/a2a", {
      token,
      headers: { "idempotency-key": "one" },
      body: { request_id: "r", session_id: "s", code: `workspaces.list(account_id="${account.id}")` },
    });

  test("when a grant that the program relied on has ended", async () => {
    const account = await newAccount();
    const user = newUser();
    await give(account, user.id, "workspace.view", inHours(0.5));
    await give(account, user.id, "dns.view");
    expect((await sent(account, user)).body.status).toBe("completed");
    expect((await sent(account, user)).headers["idempotency-replayed"]).toBe("true");
    later(0.51);
    const { body, headers } = await sent(account, user);
    expect([headers["idempotency-replayed"], body.status, body.error.detail]).toMatchObject([
      undefined,
      "failed",
      { required_capability: "workspace.view" },
    ]);
  });

  test("when the role that the program relied on has lost a capability", async () => {
    const account = await newAccount();
    const user = newUser();
    const role = { key: "support", name: "Support", capability_keys: ["workspace.view", "dns.view"] };
    await asOwner(account, "POST", "roles", role);
    const given = { role_key: "support", subject_id: user.id, subject_type: "user" };
    await asOwner(account, "POST", "role-assignments", given);
    expect((await sent(account, user)).body.status).toBe("completed");
    expect((await sent(account, user)).headers["idempotency-replayed"]).toBe("true");
    await asOwner(account, "PATCH", "roles/support", { capability_keys: ["dns.view"] });
    const { body, headers } = await sent(account, user);
    expect([headers["idempotency-replayed"], body.status]).toEqual([undefined, "failed"]);
  });
});
