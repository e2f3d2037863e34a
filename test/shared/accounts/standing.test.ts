import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { storedGroupView } from "../../../shared/access/groups/group.ts";
import {
  accountOfGroup,
  claimedGroups,
  heightOf,
  idpNameOf,
  noRoles,
  standingOf,
  withAncestors,
  type GroupsRecord,
} from "../../../shared/accounts/standing.ts";
import { capabilities, roles, viewCapability } from "../../../shared/auth/capabilities.ts";
import { covers, holdsAnywhere, noPermissions, idsHeld, type Permissions } from "../../../shared/auth/permissions.ts";
import { newAccount, newMember, testTable } from "../../support/world.ts";

/** Makes groups. `parents` has the id of each group, with the id of its parent. */
const groupsOf = (parents: Record<string, string | undefined>): GroupsRecord => ({
  groups: Object.fromEntries(
    Object.entries(parents).map(([id, parent_id]) => [id, { grants: [], ...(parent_id ? { parent_id } : {}) }]),
  ),
  version: 1,
});

describe("groups inside of groups", () => {
  const nested = groupsOf({ a: "b", b: "c", c: undefined, d: "c", e: undefined });

  test("are listed from the inner group to the outer group, each once, and missing groups are left out", () => {
    expect(withAncestors(nested, ["a"])).toEqual(["a", "b", "c"]);
    expect(withAncestors(nested, ["d", "a", "gone", "toString"])).toEqual(["d", "c", "a", "b"]);
    expect(withAncestors(nested, [])).toEqual([]);
  });

  test("are listed once each, even if they form a loop", () => {
    expect(withAncestors(groupsOf({ a: "b", b: "a" }), ["a"])).toEqual(["a", "b"]);
  });

  test("have the height of their longest chain of subgroups, and a height of at least 1", () => {
    expect(["a", "b", "c", "d", "e", "gone"].map((id) => heightOf(nested, id))).toEqual([1, 2, 3, 1, 1, 1]);
  });
});

describe("the groups that a token names", () => {
  const [account, group] = ["00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"];
  const principal = (groups: string[]) => ({ type: "user" as const, id: "u", email: "", groups });

  test("belong to the account whose id is in the name", () => {
    const names = [idpNameOf(account, group), idpNameOf(group, account), "admins", `${account}x/${group}`];
    expect(claimedGroups(principal(names), account)).toEqual([group]);
  });

  test("show their account, and other names show none", () => {
    expect(accountOfGroup(idpNameOf(account, group))).toBe(account);
    for (const name of ["admins", `${account}/`, `x${account}/${group}`, `${account}/${group}x`]) {
      expect(accountOfGroup(name)).toBeUndefined();
    }
  });
});

test("the permissions in an account cost one call, and the account's status no further call", async () => {
  const account = await newAccount();
  const { id } = await newMember(account, { role: "viewer" });
  const usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  const of = (groups: string[], withStatus: boolean) =>
    standingOf(testTable(usage), { type: "user", id, email: "", groups }, account.id, withStatus, new Date());
  expect(await of([], false)).toMatchObject({ permissions: { member: true, everything: false, superAdmin: false } });
  expect(await of([], true)).toMatchObject({ permissions: { member: true }, accountStatus: "active" });
  expect(await of([idpNameOf(account.id, randomUUID())], true)).toMatchObject({ accountStatus: "active" });
  expect(usage.calls).toBe(3);
  const nobody = await standingOf(
    testTable(),
    { type: "user", id: randomUUID(), email: "", groups: [] },
    account.id,
    false,
    new Date(),
  );
  expect(nobody).toEqual({ permissions: noPermissions });
});

describe("the scopes of permissions", () => {
  const [one, other] = [
    { type: "workspace" as const, id: "1" },
    { type: "workspace" as const, id: "2" },
  ];
  const domain = { type: "domain" as const, id: "1" };
  const member = (...grants: Permissions["grants"]): Permissions => ({ ...noPermissions, member: true, grants });
  const narrow = member(
    { id: "g1", capability: "domain.view", scope: one },
    { id: "g2", role: "dns_manager", scope: domain },
    { id: "g3", role: "dns_manager", scope: domain },
  );

  test("cover the resource of a grant, and the resources inside it", () => {
    expect(
      [[domain, one], [one], [other], [domain], []].map((scopes) => covers(narrow, "domain.view", scopes)),
    ).toEqual([true, true, false, false, false]);
    expect(covers(member({ id: "g", capability: "domain.view" }), "domain.view", [])).toBe(true);
    expect(covers(member({ id: "g" }), "domain.view", [])).toBe(false);
  });

  test("do not matter to `holdsAnywhere`: one grant on any resource is enough", () => {
    expect([holdsAnywhere(narrow, "dns.manage"), holdsAnywhere(narrow, "ip.view")]).toEqual([true, false]);
  });

  test("are returned by `idsHeld` as the ids of one type, each once, or as `all`", () => {
    expect(idsHeld(narrow, "dns.view", "domain")).toEqual(["1"]);
    expect(idsHeld(narrow, "dns.view", "workspace")).toEqual([]);
    expect(idsHeld(narrow, "domain.view", "workspace")).toEqual(["1"]);
    expect(idsHeld(member({ id: "g", role: "viewer" }), "domain.view", "workspace")).toBe("all");
  });

  test("include everything for an owner, only `account.view` for a member without grants, and nothing for others", () => {
    const owner = { ...noPermissions, member: true, everything: true };
    expect([covers(owner, "auth.manage", []), holdsAnywhere(owner, "auth.manage")]).toEqual([true, true]);
    expect(covers(member(), "account.view", [])).toBe(true);
    expect(covers(member(), "workspace.view", [])).toBe(false);
    expect([covers(noPermissions, "account.view", []), holdsAnywhere(noPermissions, "account.view")]).toEqual([
      false,
      false,
    ]);
  });
});

test("each role has exactly these capabilities", () => {
  const looks = ["account", "workspace", "domain", "dns", "mailbox", "forwarding", "suppression", "ip"].map(
    (name) => `${name}.view`,
  );
  const edits = [
    "domain.update",
    "mailbox.update",
    "mailbox.export",
    "forwarding.manage",
    "suppression.manage",
    "ip.assign",
    "tag.manage",
  ];
  const mailboxes = ["mailbox.create", "mailbox.delete", "mailbox.reveal"];
  const manages = ["workspace.manage", "domain.purchase", "domain.move", "domain.delete", "webhook.manage"];
  const expected: Record<string, string[]> = {
    viewer: looks,
    editor: [...looks, ...edits],
    domain_manager: [...looks, ...edits, ...mailboxes],
    manager: [...looks, ...edits, ...mailboxes, ...manages],
    dns_manager: ["dns.view", "dns.manage"],
    ip_manager: ["ip.view", "ip.assign", "ip.manage"],
    billing_viewer: ["billing.view"],
    billing_admin: ["billing.view", "billing.manage"],
    credential_manager: ["credential.view", "credential.manage"],
  };
  const sorted = (all: Record<string, readonly string[]>) =>
    Object.fromEntries(Object.entries(all).map(([name, one]) => [name, one.toSorted()]));
  expect(sorted(roles)).toEqual(sorted(expected));
});

test("`viewCapability` is the view capability of the same kind, or `account.view` if the kind has none", () => {
  expect(capabilities.filter((one) => viewCapability(one) === "account.view")).toEqual([
    "account.view",
    "tag.manage",
    "webhook.manage",
    "auth.manage",
  ]);
  expect(viewCapability("domain.purchase")).toBe("domain.view");
});

describe("a group as it is shown", () => {
  const group = {
    id: "b",
    account_id: "account",
    name: "B",
    idp_name: "account/b",
    attributes: '{"a":1}',
    description: null,
    version: 1,
  };
  const scope = { type: "workspace" as const, id: "w" };
  const record: GroupsRecord = {
    version: 1,
    groups: {
      z: { grants: [], parent_id: "b" },
      x: { grants: [], parent_id: "b" },
      b: {
        grants: [
          { id: "1", capability: "ip.view", scope },
          { id: "2", capability: "ip.view", scope },
          { id: "3", role: "dns_manager" },
          { id: "4", role: "dns_manager", scope },
        ],
        parent_id: "a",
      },
      a: { grants: [{ id: "5", capability: "tag.manage" }] },
      o: { grants: [], owner_grant_id: "6" },
      i: { grants: [], parent_id: "o" },
    },
  };
  const shown = { record, roles: noRoles, now: new Date() };
  const nameOf = (id: string) => id.toUpperCase();

  test("shows its own and its inherited permissions, each once", () => {
    expect(storedGroupView(group, shown, nameOf)).toMatchObject({
      attributes: { a: 1 },
      linked_scopes: [{ resource_id: "w", resource_type: "workspace" }],
      parent_id: "a",
      path: "/A/B",
      subgroup_ids: ["x", "z"],
      permission_context: {
        assigned_bundle_keys: ["dns_manager"],
        direct_capability_keys: ["ip.view"],
        owner_assignments: [],
        resolved_capability_keys: ["dns.view", "dns.manage", "ip.view", "tag.manage"],
      },
    });
  });

  test("holds everything if it, or a parent, owns the account", () => {
    const view = (id: string) => storedGroupView({ ...group, id }, shown, nameOf);
    expect(view("o")).toMatchObject({
      parent_id: null,
      permission_context: { owner_assignments: [{ account_id: "account" }], resolved_capability_keys: capabilities },
    });
    expect(view("i")).toMatchObject({
      permission_context: { owner_assignments: [], resolved_capability_keys: capabilities },
    });
    expect(view("gone")).toMatchObject({ path: "/", linked_scopes: [], subgroup_ids: [] });
  });
});
