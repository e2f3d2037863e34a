import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { capabilities } from "../../../../shared/auth/capabilities.ts";
import { asOwner, giveGroup, makeOwner, newGroup, newWorkspace } from "../../../support/auth.ts";
import { entryPoints, masked, through } from "../../../support/entry-points.ts";
import { request } from "../../../support/request.ts";
import { newAccount, type Account } from "../../../support/world.ts";

const assign = (account: Account, groupId: string, role_key: string, more: object = {}) =>
  asOwner(account, "POST", "role-assignments", { role_key, subject_type: "group", subject_id: groupId, ...more });

describe.each(entryPoints)("by %s", (entryPoint) => {
  const attempt = through(entryPoint);
  const get = ({ id, owner }: Account, groupId: string) =>
    attempt("auth.groups.get", { account_id: id, group_id: groupId }, owner);

  test("shows the group's own and inherited permissions", async () => {
    const account = await newAccount();
    const top = await newGroup(account, "Company");
    const middle = await newGroup(account, "Support", top);
    const [left, right] = [await newGroup(account, "Night", middle), await newGroup(account, "Day", middle)];
    const workspace = await newWorkspace(account, "One");
    await giveGroup(account, top, "billing.view");
    await giveGroup(account, middle, "dns.manage");
    await giveGroup(account, middle, "dns.manage", workspace);
    await assign(account, middle.id, "ip_manager", { resource_type: "workspace", resource_id: workspace });
    await assign(account, middle.id, "credential_manager");
    await giveGroup(account, left, "auth.manage");
    const { status, body } = await get(account, middle.id);
    expect(status).toBe(200);
    expect(body).toEqual({
      id: middle.id,
      account_id: account.id,
      name: "Support",
      idp_name: `${account.id}/${middle.id}`,
      attributes: {},
      description: null,
      idp_account_id: account.id,
      linked_scopes: [{ resource_type: "workspace", resource_id: workspace }],
      parent_id: top.id,
      path: "/Company/Support",
      subgroup_ids: [left.id, right.id],
      permission_context: {
        assigned_bundle_keys: ["ip_manager", "credential_manager"],
        direct_capability_keys: ["dns.manage"],
        owner_assignments: [],
        resolved_capability_keys: [
          "dns.manage",
          "credential.view",
          "credential.manage",
          "ip.view",
          "ip.assign",
          "ip.manage",
          "billing.view",
        ],
        status: "active",
        subject_id: middle.id,
        subject_type: "group",
      },
    });
    expect((await get(account, left.id)).body).toMatchObject({
      path: "/Company/Support/Night",
      linked_scopes: [],
      subgroup_ids: [],
      permission_context: { direct_capability_keys: ["auth.manage"], assigned_bundle_keys: [] },
    });
  });

  test("shows the ownership of an owning group, and all capabilities for the group and the groups inside it", async () => {
    const account = await newAccount();
    const owners = await newGroup(account, "Owners");
    const inside = await newGroup(account, "Deputies", owners);
    await makeOwner(account, owners.id, "group");
    expect((await get(account, owners.id)).body.permission_context).toMatchObject({
      owner_assignments: [{ account_id: account.id }],
      resolved_capability_keys: [...capabilities],
      direct_capability_keys: [],
    });
    expect((await get(account, inside.id)).body.permission_context).toMatchObject({
      owner_assignments: [],
      resolved_capability_keys: [...capabilities],
    });
  });

  test("does not show revoked permissions", async () => {
    const account = await newAccount();
    const group = await newGroup(account, "Support");
    const grant = await giveGroup(account, group, "dns.view", await newWorkspace(account, "One"));
    await asOwner(account, "DELETE", `authorizations/${grant.id}`);
    expect((await get(account, group.id)).body).toMatchObject({
      linked_scopes: [],
      permission_context: { direct_capability_keys: [], resolved_capability_keys: [] },
    });
  });

  test("another account's group gets the same 404 as a missing one", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    // Both groups have the same place in the list of their account.
    const [own, foreign] = [await newGroup(account, "Ours"), await newGroup(other, "Theirs")];
    const [hidden, missing] = [await get(account, foreign.id), await get(account, randomUUID())];
    expect(hidden.status).toBe(404);
    expect(masked(hidden.body)).toBe(masked(missing.body));
    expect((await get(account, own.id)).status).toBe(200);
  });
});

test("the entity tag covers the group's own state, and not its parents or grants", async () => {
  const account = await newAccount();
  const [outer, inner] = [await newGroup(account, "Outer"), await newGroup(account, "Inner")];
  const path = `/v1/public/accounts/${account.id}/auth/groups/${inner.id}`;
  const tag = async () => (await request("GET", path, { token: account.owner.token })).headers["etag"];
  const first = await tag();
  const workspace = await newWorkspace(account, "One");
  await newGroup(account, "Innermost", inner);
  await giveGroup(account, inner, "dns.manage", workspace);
  await asOwner(account, "PATCH", `groups/${outer.id}`, { name: "Other" });
  expect(await tag()).toBe(first);
  await asOwner(account, "PATCH", `groups/${inner.id}`, { parent_id: outer.id });
  const moved = await tag();
  expect(moved).not.toBe(first);
  await asOwner(account, "PATCH", `groups/${outer.id}`, { name: "Another" });
  expect(await tag()).toBe(moved);
});
