import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { invitationKey } from "../../../../shared/access/invitations/invitation.ts";
import { setAccountStatus } from "../../../../shared/access/operate-accounts.ts";
import { accessKey, userKey } from "../../../../shared/accounts/standing.ts";
import type { Key } from "../../../../shared/table/writes.ts";
import { asOwner, claiming, giveGroup, join, newGroup, newWorkspace, deleteWorkspace } from "../../../support/auth.ts";
import { afterReading } from "../../../support/between.ts";
import { write } from "../../../support/domain-work.ts";
import { stranger } from "../../../support/forwarding.ts";
import { accepting, invited, inviting, previewing } from "../../../support/invitations.ts";
import { statusesOf } from "../../../support/mailboxes.ts";
import { request } from "../../../support/request.ts";
import {
  grant,
  issuer,
  newAccount,
  newMember,
  newServiceAccount,
  newSuperAdmin,
  newUser,
  testTable,
  type Account,
  type User,
} from "../../../support/world.ts";

const viewing = { roles: [{ role_key: "viewer" }] };
const person = (email: string, claims = {}) => newUser({ email, ...claims });

const members = async (account: Account) => (await asOwner(account, "GET", "members?page_size=100")).items;
const memberOf = async (account: Account, id: string) =>
  (await members(account)).find((member: { subject_id: string }) => member.subject_id === id);
const capabilitiesOf = async (account: Account, token: string): Promise<string[] | number> => {
  const answer = await request("GET", `/v1/public/me/permissions?account_id=${account.id}`, { token });
  return answer.status === 200 ? answer.body.capability_keys : answer.status;
};

test("an invited person gets the promised access, and is listed with name and address", async () => {
  const account = await newAccount({ name: "Acme" });
  const workspaceId = await newWorkspace(account, "Sales");
  const email = stranger("ada");
  const narrowed = { capability_key: "domain.purchase", resource_type: "workspace", resource_id: workspaceId };
  const invitation = await invited(account, { email, ...viewing, grants: [narrowed] });
  const ada = person(email, { given_name: "Ada", family_name: "Lovelace" });
  expect(await capabilitiesOf(account, ada.token)).toBe(404);
  const answer = await accepting(invitation, ada);
  expect(answer).toMatchObject({
    status: 200,
    body: {
      account_id: account.id,
      account_name: "Acme",
      access: [
        { kind: "role", role_key: "viewer", is_given: true },
        { kind: "capability", capability_key: "domain.purchase", resource_id: workspaceId, is_given: true },
      ],
    },
  });
  expect(await capabilitiesOf(account, ada.token)).toContain("mailbox.view");
  expect(await memberOf(account, ada.id)).toMatchObject({
    email,
    name: "Ada Lovelace",
    is_owner: false,
    access: [{ role_key: "viewer" }, { capability_key: "domain.purchase", resource_id: workspaceId }],
  });
  const [listed] = (await asOwner(account, "GET", "invitations")).items;
  expect(listed).toMatchObject({ id: invitation.id, status: "accepted", accepted_by_user_id: ada.id });
  const { items: log } = (
    await request("GET", `/v1/public/accounts/${account.id}/audit-log`, { token: account.owner.token })
  ).body;
  expect(log[0]).toMatchObject({ actor: { id: ada.id, email } });
});

test("the letter case of the address does not matter", async () => {
  const account = await newAccount();
  const email = stranger("Ada.Lovelace");
  const invitation = await invited(account, { email, ...viewing });
  expect((await accepting(invitation, person(email.toUpperCase()))).status).toBe(200);
});

describe("an invitation gives nothing to", () => {
  const refusals: [string, string, (email: string) => { token: string }][] = [
    ["another address", "invitation_not_yours", () => person(stranger("eve"))],
    ["a tag added to the address", "invitation_not_yours", (email) => person(email.replace("@", "+x@"))],
    // The Kelvin sign becomes the letter k in lower case.
    ["a look-alike of the address", "invitation_not_yours", (email) => person(email.replace("k", "\u212A"))],
    ["no address", "email_not_verified", () => newUser({ email: undefined })],
    [
      "an address that the issuer has not verified",
      "email_not_verified",
      (email) => ({ token: issuer.mint({ sub: randomUUID(), email, email_verified: false } as never) }),
    ],
    [
      "an address with null as `email_verified`",
      "email_not_verified",
      (email) => ({ token: issuer.mint({ sub: randomUUID(), email, email_verified: null } as never) }),
    ],
  ];
  test.each(refusals)("a user with %s", async (_, code, userOf) => {
    const account = await newAccount();
    const email = stranger("kate");
    const invitation = await invited(account, { email, ...viewing });
    const user = userOf(email);
    expect(await accepting(invitation, user)).toMatchObject({ status: 403, body: { code } });
    expect(await capabilitiesOf(account, user.token)).toBe(404);
    expect((await accepting(invitation, person(email))).status).toBe(200);
  });

  test("a service account", async () => {
    const account = await newAccount();
    const service = await newServiceAccount(await newAccount(), { role: "manager" });
    const invitation = await invited(account, { email: stranger(), ...viewing });
    expect(await accepting(invitation, service)).toMatchObject({ status: 403, body: { code: "invitation_not_yours" } });
  });

  test("a caller without a credential, or with an invented token", async () => {
    const account = await newAccount();
    const { token } = await invited(account, { email: stranger(), ...viewing });
    expect((await request("POST", "/v1/public/invitations/accept", { body: { token } })).status).toBe(401);
    const answer = await accepting({ token: "A".repeat(22) }, newUser());
    expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "token"] }] } });
  });
});

describe("an invitation is used once", () => {
  test("the same person gets the same answer again, and no second role", async () => {
    const account = await newAccount();
    const email = stranger();
    const invitation = await invited(account, { email, ...viewing });
    const ada = person(email);
    const first = await accepting(invitation, ada);
    expect((await accepting(invitation, ada)).body).toEqual(first.body);
    const key = { "idempotency-key": "once" };
    expect((await accepting(invitation, ada, key)).body).toEqual(first.body);
    expect((await memberOf(account, ada.id)).access).toHaveLength(1);
  });

  test("four requests of the person at the same moment all succeed, and give one role", async () => {
    const account = await newAccount();
    const email = stranger();
    const invitation = await invited(account, { email, ...viewing });
    const ada = person(email);
    const answers = await Promise.all([1, 2, 3, 4].map(() => accepting(invitation, ada)));
    expect(statusesOf(answers)).toEqual([200, 200, 200, 200]);
    expect((await memberOf(account, ada.id)).access).toHaveLength(1);
  });

  test("another user with the same address is told that the invitation was used", async () => {
    const account = await newAccount();
    const email = stranger();
    const invitation = await invited(account, { email, ...viewing });
    await accepting(invitation, person(email));
    const other = person(email);
    expect(await accepting(invitation, other)).toMatchObject({ status: 409, body: { code: "invitation_used" } });
    expect(await capabilitiesOf(account, other.token)).toBe(404);
  });

  test("a person who already holds a part of the access gets the rest", async () => {
    const account = await newAccount();
    const email = stranger();
    const ada = person(email);
    await grant(account, ada, { role: "viewer" });
    const roles = [{ role_key: "viewer" }, { role_key: "billing_viewer" }];
    const invitation = await invited(account, { email, roles });
    expect(
      (await accepting(invitation, ada)).body.access.map(({ is_given }: { is_given: boolean }) => is_given),
    ).toEqual([true, true]);
    expect((await memberOf(account, ada.id)).access.map(({ role_key }: { role_key: string }) => role_key)).toEqual([
      "viewer",
      "billing_viewer",
    ]);
  });
});

describe("an invitation that has ended gives nothing", () => {
  test("a revoked invitation", async () => {
    const account = await newAccount();
    const email = stranger();
    const invitation = await invited(account, { email, ...viewing });
    await asOwner(account, "DELETE", `invitations/${invitation.id}`);
    const answer = await accepting(invitation, person(email));
    expect(answer).toMatchObject({ status: 410, body: { code: "invitation_ended", reason: "revoked" } });
    expect((await previewing(invitation)).body).toMatchObject({ status: "revoked" });
  });

  test("an expired invitation", async () => {
    const account = await newAccount();
    const email = stranger();
    const invitation = await invited(account, { email, ...viewing });
    const past = new Date(Date.now() - 1).toISOString();
    await write({ update: invitationKey(account.id, invitation.id), set: { expires_at: past } });
    const ada = person(email);
    const answer = await accepting(invitation, ada);
    expect(answer).toMatchObject({ status: 410, body: { code: "invitation_ended", reason: "expired" } });
    expect((await asOwner(account, "GET", "invitations")).items[0]).toMatchObject({ status: "expired" });
    expect(await capabilitiesOf(account, ada.token)).toBe(404);
  });

  test("the link of a mail that a newer mail replaced", async () => {
    const account = await newAccount();
    const email = stranger();
    const old = await invited(account, { email, account_owner: true });
    const renewed = await invited(account, { email, ...viewing });
    expect(renewed.id).toBe(old.id);
    const ada = person(email);
    expect((await accepting(old, ada)).status).toBe(422);
    expect((await accepting(renewed, ada)).status).toBe(200);
    expect(await memberOf(account, ada.id)).toMatchObject({ is_owner: false });
  });

  test("the invitation of a suspended account, until the account is active again", async () => {
    const account = await newAccount();
    const email = stranger();
    const invitation = await invited(account, { email, ...viewing });
    await setAccountStatus(testTable(), account.id, "suspended", new Date());
    const suspended = {
      status: 403,
      body: { code: "account_suspended", detail: expect.stringContaining("suspended") },
    };
    expect(await accepting(invitation, person(email))).toMatchObject(suspended);
    expect(await previewing(invitation)).toMatchObject(suspended);
    expect((await accepting({ token: "A".repeat(22) }, person(email))).status).toBe(422);
    await setAccountStatus(testTable(), account.id, "active", new Date());
    expect((await accepting(invitation, person(email))).status).toBe(200);
  });
});

describe("an invitation gives no permission that the inviter does not hold:", () => {
  const manager = { capability: "auth.manage" } as const;

  test("a permission that the inviter has lost is not given", async () => {
    const account = await newAccount();
    const admin = await newMember(account, manager, { role: "viewer" });
    await grant(account, admin, { role: "billing_admin" });
    const email = stranger();
    const roles = [{ role_key: "viewer" }, { role_key: "billing_admin" }];
    const invitation = await invited(account, { email, roles, as: admin });
    const held = (await memberOf(account, admin.id)).access;
    const billing = held.find((one: { role_key: string }) => one.role_key === "billing_admin");
    await asOwner(account, "DELETE", `role-assignments/${billing.id}`);
    const ada = person(email);
    const answer = await accepting(invitation, ada);
    expect(answer.body.access.map(({ is_given }: { is_given: boolean }) => is_given)).toEqual([true, false]);
    expect(await capabilitiesOf(account, ada.token)).not.toContain("billing.view");
  });

  test("nothing is given if the inviter has lost all access, or auth.manage", async () => {
    for (const lost of ["auth.manage", "all"]) {
      const account = await newAccount();
      const admin = await newMember(account, manager, { role: "viewer" });
      const email = stranger();
      const invitation = await invited(account, { email, ...viewing, as: admin });
      for (const { id, kind, capability_key } of (await memberOf(account, admin.id)).access) {
        if (lost === "all" || capability_key === lost)
          await asOwner(account, "DELETE", `${kind === "role" ? "role-assignments" : "authorizations"}/${id}`);
      }
      const answer = await accepting(invitation, person(email));
      expect(answer).toMatchObject({ status: 410, body: { code: "invitation_ended", reason: "not_held" } });
      expect(await members(account)).toHaveLength(lost === "all" ? 1 : 2);
    }
  });

  test("nothing is given if the inviter's role loses the capability or the inviter stops being a super admin at the same moment", async () => {
    const account = await newAccount();
    await asOwner(account, "POST", "roles", {
      key: "helper",
      name: "H",
      capability_keys: ["auth.manage", "tag.manage"],
    });
    const helper = newUser();
    const assigned = { role_key: "helper", subject_type: "user", subject_id: helper.id };
    await asOwner(account, "POST", "role-assignments", assigned);
    const admin = await newSuperAdmin();
    const { PK } = userKey(admin.id);
    const cases: [User, (key: Key) => boolean, () => Promise<unknown>][] = [
      [
        helper,
        (key) => key.SK === "ROLES",
        () => asOwner(account, "PATCH", "roles/helper", { capability_keys: ["auth.manage"] }),
      ],
      [
        admin,
        (key) => key.PK === PK,
        () => write({ update: userKey(admin.id), set: { super_admin_grants: [] }, add: { version: 1 } }),
      ],
    ];
    for (const [as, which, step] of cases) {
      const email = stranger();
      const invitation = await invited(account, { email, grants: [{ capability_key: "tag.manage" }], as });
      const answer = await afterReading(which, step, () => accepting(invitation, person(email)));
      expect(answer).toMatchObject({ status: 410, body: { reason: "not_held" } });
    }
  });

  test("not even to themselves, when they lose the right to manage access in the same moment", async () => {
    const account = await newAccount();
    // The right is revoked right after the first read of the inviter's access record. The second round revokes it after
    // the second read.
    for (const nth of [1, 2]) {
      const email = stranger();
      const admin = person(email);
      await grant(account, { ...admin, email }, manager, { role: "manager" });
      const invitation = await invited(account, { email, ...viewing, as: admin });
      const before = (await memberOf(account, admin.id)).access;
      const lost = before.find((one: { capability_key: string }) => one.capability_key === "auth.manage");
      const { PK, SK } = accessKey(account.id, { type: "user", id: admin.id });
      const answer = await afterReading(
        (key) => key.PK === PK && key.SK === SK,
        () => asOwner(account, "DELETE", `authorizations/${lost.id}`),
        () => accepting(invitation, admin),
        nth,
      );
      expect([nth, answer.status, answer.body.reason]).toEqual([nth, 410, "not_held"]);
      const kept = before.filter((one: { id: string }) => one.id !== lost.id);
      expect((await memberOf(account, admin.id)).access).toEqual(kept);
    }
  });

  test("nothing is given if the inviter held the permission through a group that has lost it", async () => {
    const account = await newAccount();
    const staff = await newGroup(account, "Staff");
    await giveGroup(account, staff, "auth.manage");
    const { id: granted } = await giveGroup(account, staff, "tag.manage");
    const explicit = newUser();
    await join(account, staff, explicit.id);
    for (const as of [explicit, claiming(staff)]) {
      const email = stranger();
      const kept = await invited(account, { email, grants: [{ capability_key: "tag.manage" }], as });
      expect((await accepting(kept, person(email))).status).toBe(200);
    }
    const email = stranger();
    const late = await invited(account, { email, grants: [{ capability_key: "tag.manage" }], as: explicit });
    await asOwner(account, "DELETE", `authorizations/${granted}`);
    expect(await accepting(late, person(email))).toMatchObject({ status: 410, body: { reason: "not_held" } });
  });
});

test("a role on a workspace that was deleted meanwhile is not given", async () => {
  const account = await newAccount();
  const workspaceId = await newWorkspace(account, "Sales");
  const email = stranger();
  const roles = [{ role_key: "viewer" }, { role_key: "editor", resource_type: "workspace", resource_id: workspaceId }];
  const invitation = await invited(account, { email, roles });
  await deleteWorkspace(account, workspaceId);
  const { body } = await accepting(invitation, person(email));
  expect(body.access).toMatchObject([{ is_given: true }, { is_given: false }]);
});

test("an invited owner owns the account, and can revoke the inviter's ownership", async () => {
  const account = await newAccount();
  const email = stranger();
  const ada = person(email);
  await accepting(await invited(account, { email, account_owner: true }), ada);
  const { access } = await memberOf(account, account.owner.id);
  const path = `/v1/public/accounts/${account.id}/auth/authorizations/${access[0].id}`;
  expect((await request("DELETE", path, { token: ada.token })).status).toBe(200);
});

describe("custom roles, and access that ends:", () => {
  const support = { key: "support", name: "Support", capability_keys: ["mailbox.view"] };
  const inADay = new Date(Date.now() + 86_400_000).toISOString();

  test("a custom role with an end is given as the invitation promises", async () => {
    const account = await newAccount();
    await asOwner(account, "POST", "roles", support);
    const email = stranger();
    const roles = [{ role_key: "support", expires_at: inADay }];
    const { body } = await accepting(await invited(account, { email, roles }), person(email));
    expect(body.access).toMatchObject([{ kind: "role", role_key: "support", expires_at: inADay, is_given: true }]);
    const member = (await members(account)).find((one: { email: string }) => one.email === email);
    expect(member.access).toMatchObject([{ role_key: "support", expires_at: inADay }]);
    expect(
      (await asOwner(account, "GET", "role-assignments")).map((one: { role_key: string }) => one.role_key),
    ).toEqual(["support"]);
  });

  test("a custom role is not given if it was deleted, and another role got its key", async () => {
    const account = await newAccount();
    const [email, role] = [stranger(), { key: "support", name: "Support", capability_keys: ["domain.view"] }];
    await asOwner(account, "POST", "roles", role);
    const invitation = await invited(account, { email, roles: [{ role_key: "support" }, { role_key: "viewer" }] });
    await asOwner(account, "DELETE", "roles/support");
    await asOwner(account, "POST", "roles", { ...role, capability_keys: ["domain.delete"] });
    const { body } = await accepting(invitation, person(email));
    expect(body.access).toMatchObject([{ role_key: "support", is_given: false }, { is_given: true }]);
  });

  test("a custom role is not given if it was deleted, or holds more than the inviter by now", async () => {
    const account = await newAccount();
    await asOwner(account, "POST", "roles", support);
    await asOwner(account, "POST", "roles", { ...support, key: "gone", name: "Gone" });
    const admin = await newMember(account, { capability: "auth.manage" }, { role: "viewer" });
    const email = stranger();
    const roles = [{ role_key: "support" }, { role_key: "gone" }, { role_key: "viewer" }];
    const invitation = await invited(account, { email, roles, as: admin });
    await asOwner(account, "DELETE", "roles/gone");
    await asOwner(account, "PATCH", "roles/support", { capability_keys: ["mailbox.view", "billing.manage"] });
    const { body } = await accepting(invitation, person(email));
    expect(body.access.map(({ is_given }: { is_given: boolean }) => is_given)).toEqual([false, false, true]);
  });

  test("access whose end has passed is not given", async () => {
    const account = await newAccount();
    const email = stranger();
    const roles = [{ role_key: "viewer" }, { role_key: "editor", expires_at: inADay }];
    const invitation = await invited(account, { email, roles });
    const past = { kind: "role", role: "editor", expires_at: new Date(Date.now() - 1).toISOString() };
    const key = invitationKey(account.id, invitation.id);
    await write({ update: key, set: { access: [{ kind: "role", role: "viewer" }, past] } });
    const { body } = await accepting(invitation, person(email));
    expect(body.access.map(({ is_given }: { is_given: boolean }) => is_given)).toEqual([true, false]);
  });

  test("nobody gives a permission for longer than they hold it", async () => {
    const account = await newAccount();
    const admin = newUser();
    const given = { grant_kind: "capability", subject_type: "user", subject_id: admin.id, expires_at: inADay };
    for (const capability_key of ["auth.manage", "tag.manage"])
      await asOwner(account, "POST", "authorizations", { ...given, capability_key });
    const grants = [{ capability_key: "tag.manage" }];
    const refused = await inviting(account, stranger(), { grants }, admin);
    expect(refused).toMatchObject({ status: 403, body: { code: "would_escalate" } });
    const allowed = await inviting(account, stranger(), { grants: [{ ...grants[0], expires_at: inADay }] }, admin);
    expect(allowed.status).toBe(201);
  });

  test("a person who already holds the permission keeps one grant, with the later end", async () => {
    const account = await newAccount();
    const inTwoDays = new Date(Date.now() + 2 * 86_400_000).toISOString();
    const tagGrants = async ({ id }: User) =>
      (await memberOf(account, id)).access.filter(
        (one: { capability_key: string }) => one.capability_key === "tag.manage",
      );
    for (const [before, invitedTo, after] of [
      [inADay, null, null],
      [inADay, inTwoDays, inTwoDays],
      [inTwoDays, inADay, inTwoDays],
      [null, inADay, null],
    ]) {
      const email = stranger();
      const ada = person(email);
      const given = {
        grant_kind: "capability",
        subject_type: "user",
        subject_id: ada.id,
        capability_key: "tag.manage",
      };
      const { id } = await asOwner(account, "POST", "authorizations", { ...given, expires_at: before });
      const grants = [{ capability_key: "tag.manage", expires_at: invitedTo }, { capability_key: "dns.view" }];
      expect((await accepting(await invited(account, { email, grants }), ada)).status).toBe(200);
      expect(await tagGrants(ada)).toMatchObject([{ id, expires_at: after }]);
      expect(await capabilitiesOf(account, ada.token)).toContain("dns.view");
      // There is no second grant that would last longer than this new end.
      await asOwner(account, "POST", "authorizations", { ...given, expires_at: inADay });
      expect(await tagGrants(ada)).toMatchObject([{ id, expires_at: inADay }]);
    }
  });

  test("a permission that the invitation names twice is given once, with the later end", async () => {
    const account = await newAccount();
    const email = stranger();
    const grants = [{ capability_key: "tag.manage", expires_at: inADay }, { capability_key: "tag.manage" }];
    const ada = person(email);
    await accepting(await invited(account, { email, grants }), ada);
    expect((await memberOf(account, ada.id)).access).toMatchObject([
      { capability_key: "tag.manage", expires_at: null },
    ]);
  });

  test("a temporary owner who accepts an invitation to own the account becomes an owner without an end", async () => {
    const account = await newAccount();
    const email = stranger();
    const ada = person(email);
    const temporary = { grant_kind: "account_owner", subject_type: "user", subject_id: ada.id, expires_at: inADay };
    await asOwner(account, "POST", "authorizations", temporary);
    await accepting(await invited(account, { email, account_owner: true }), ada);
    expect((await memberOf(account, ada.id)).access).toMatchObject([{ kind: "account_owner", expires_at: null }]);
  });
});
