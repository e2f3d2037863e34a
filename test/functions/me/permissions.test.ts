import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { capabilities, roles } from "../../../shared/auth/capabilities.ts";
import { asOwner, claiming, giveGroup, newGroup, newWorkspace } from "../../support/auth.ts";
import { request } from "../../support/request.ts";
import {
  grant,
  newAccount,
  newMember,
  newServiceAccount,
  newSuperAdmin,
  newUser,
  type Account,
} from "../../support/world.ts";

const permissionsOf = async ({ id }: Pick<Account, "id">, { token }: { token: string }) =>
  request("GET", `/v1/public/me/permissions?account_id=${id}`, { token });

test("shows the permissions on the account, and on the resources of narrower grants", async () => {
  const account = await newAccount();
  const workspaceId = await newWorkspace(account, "Sales");
  const scope = { type: "workspace" as const, id: workspaceId };
  const user = await newMember(account, { role: "dns_manager" }, { capability: "workspace.manage", scope });
  const { body } = await permissionsOf(account, user);
  expect(body).toMatchObject({
    account_id: account.id,
    is_owner: false,
    is_super_admin: false,
    capability_keys: ["account.view", ...roles.dns_manager],
    scopes: [{ resource_type: "workspace", resource_id: workspaceId }],
    access: [{ role_key: "dns_manager" }, { capability_key: "workspace.manage", resource_id: workspaceId }],
  });
  expect(body.scopes[0].capability_keys.toSorted()).toEqual(
    ["account.view", "workspace.manage", ...roles.dns_manager].toSorted(),
  );
});

test("shows the permissions of several grants on the same resource together", async () => {
  const account = await newAccount();
  const scope = { type: "workspace" as const, id: await newWorkspace(account, "Sales") };
  const user = await newMember(account, { capability: "domain.view", scope }, { capability: "dns.view", scope });
  const { scopes } = (await permissionsOf(account, user)).body;
  expect(scopes).toHaveLength(1);
  expect(scopes[0].capability_keys.toSorted()).toEqual(["account.view", "dns.view", "domain.view"]);
});

test("leaves out the capabilities of a role that have no effect on its workspace, domain or mailbox", async () => {
  const account = await newAccount();
  const workspaceId = await newWorkspace(account, "Sales");
  const scope = { type: "workspace" as const, id: workspaceId };
  const user = await newMember(account, { role: "editor", scope });
  const { scopes } = (await permissionsOf(account, user)).body;
  const onAccountOnly = /^(?:suppression|tag)\./;
  expect(scopes[0].capability_keys.toSorted()).toEqual(
    roles.editor.filter((one) => !onAccountOnly.test(one)).toSorted(),
  );
  const refused = await request("GET", `/v1/public/accounts/${account.id}/suppressions`, { token: user.token });
  expect(refused.status).toBe(403);
  const also = await newMember(account, { role: "editor", scope }, { capability: "tag.manage" });
  expect((await permissionsOf(account, also)).body.scopes[0].capability_keys).toContain("tag.manage");
});

test("owners and super admins hold all capabilities, and the answer says whether the caller is one or the other", async () => {
  const account = await newAccount();
  const owner = (await permissionsOf(account, account.owner)).body;
  expect(owner).toMatchObject({ is_owner: true, capability_keys: capabilities, access: [{ kind: "account_owner" }] });
  const admin = (await permissionsOf(account, await newSuperAdmin())).body;
  expect(admin).toMatchObject({ is_owner: false, is_super_admin: true, capability_keys: capabilities, access: [] });
});

test("names the group that gives a permission to a caller whose token claims the group", async () => {
  const account = await newAccount();
  const group = await newGroup(account, "Staff");
  await giveGroup(account, group, "tag.manage");
  const { body } = await permissionsOf(account, claiming(group));
  expect(body.access).toMatchObject([{ capability_key: "tag.manage", group_id: group.id, group_name: "Staff" }]);
  expect(body.capability_keys).toEqual(["account.view", "tag.manage"]);
});

test("a stranger gets a 404, and so does a service account of another account", async () => {
  const account = await newAccount();
  expect((await permissionsOf(account, newUser())).status).toBe(404);
  const service = await newServiceAccount(account, { role: "viewer" });
  expect((await permissionsOf(account, service)).body.access).toMatchObject([{ role_key: "viewer" }]);
  expect((await permissionsOf(await newAccount(), service)).status).toBe(404);
  expect((await permissionsOf({ id: randomUUID() }, newUser())).status).toBe(404);
});

test("does not store the caller's name and address, so the list of members does not show them", async () => {
  const account = await newAccount();
  const user = newUser({ email: "ada@example.com", given_name: "Ada" });
  const { id } = user;
  await grant(account, { id }, { role: "viewer" });
  await permissionsOf(account, user);
  const { items } = await asOwner(account, "GET", "members");
  expect(items.find(({ subject_id }: { subject_id: string }) => subject_id === id)).toMatchObject({
    email: null,
    name: null,
  });
});
