import { randomUUID } from "node:crypto";

import type { Route } from "../../shared/http/route.ts";
import { billingExamples } from "./billing-examples.ts";
import { dedicatedIpExamples } from "./dedicated-ip-examples.ts";
import { domainExamples } from "./domain-examples.ts";
import { forwardingExamples } from "./forwarding-examples.ts";
import { stranger } from "./forwarding.ts";
import { invited, inviting } from "./invitations.ts";
import { mailboxExamples } from "./mailbox-examples.ts";
import { request } from "./request.ts";
import { webhookExamples } from "./webhook-examples.ts";
import type { Account, Given } from "./world.ts";

/** A valid call of a route in an account: flat arguments by name, as in code mode. */
export type Example = Record<string, unknown>;

async function newWorkspaceId({ id, owner }: Account, name = "Sales"): Promise<string> {
  const created = await request("POST", `/v1/public/accounts/${id}/workspaces`, { token: owner.token, body: { name } });
  return String(created.body.id);
}

const anyUser = "77777777-7777-4777-8777-777777777777";

/** Calls a route of the auth family for the owner. Returns the new thing. */
async function made({ id, owner }: Account, path: string, body: unknown): Promise<Example> {
  const answer = await request("POST", `/v1/public/accounts/${id}/auth/${path}`, { token: owner.token, body });
  return answer.body;
}

const newGroup = (account: Account): Promise<Example> => made(account, "groups", { name: "Help desk" });
const newRole = (account: Account): Promise<Example> =>
  made(account, "roles", { key: "first_line", name: "First line", capability_keys: ["mailbox.view"] });
const newProgram = (account: Account): Promise<Example> =>
  made(account, "service-accounts", { name: "Nightly backup" });

const authExamples: Record<string, (account: Account) => Promise<Example>> = {
  "auth.authorizations.grant": async ({ id }) => ({
    account_id: id,
    grant_kind: "capability",
    subject_id: anyUser,
    subject_type: "user",
    capability_key: "auth.manage",
  }),
  "auth.authorizations.list": async ({ id }) => ({ account_id: id, include_revoked: true }),
  "auth.authorizations.revoke": async (account) => {
    const body = { grant_kind: "capability", subject_id: anyUser, subject_type: "user", capability_key: "dns.view" };
    return { account_id: account.id, grant_id: (await made(account, "authorizations", body))["id"] };
  },
  "auth.groups.create": async ({ id }) => ({
    account_id: id,
    name: "Support",
    attributes: { floor: 3 },
    description: "Answers our customers",
  }),
  "auth.groups.list": async (account) => {
    await newGroup(account);
    return { account_id: account.id };
  },
  "auth.groups.get": async (account) => ({ account_id: account.id, group_id: (await newGroup(account))["id"] }),
  "auth.groups.update": async (account) => ({
    account_id: account.id,
    group_id: (await newGroup(account))["id"],
    description: "Answers our customers",
  }),
  "auth.groups.delete": async (account) => ({ account_id: account.id, group_id: (await newGroup(account))["id"] }),
  "auth.groups.members.list": async (account) => {
    const { id } = await newGroup(account);
    await made(account, `groups/${String(id)}/members`, { subject_id: account.owner.id, subject_type: "user" });
    return { account_id: account.id, group_id: id };
  },
  "auth.groups.members.add": async (account) => ({
    account_id: account.id,
    group_id: (await newGroup(account))["id"],
    subject_id: anyUser,
    subject_type: "user",
  }),
  "auth.groups.members.remove": async (account) => {
    const { id } = await newGroup(account);
    await made(account, `groups/${String(id)}/members`, { subject_id: anyUser, subject_type: "user" });
    return { account_id: account.id, group_id: id, member_id: anyUser };
  },
  "auth.members.list": async ({ id }) => ({ account_id: id }),
  "auth.invitations.list": async (account) => {
    await inviting(account, stranger(), { account_owner: true });
    return { account_id: account.id, order: "desc" };
  },
  "auth.invitations.create": async (account) => {
    const resource = {
      resource_type: "workspace",
      resource_id: await newWorkspaceId(account, `Example ${randomUUID()}`),
    };
    return {
      account_id: account.id,
      email: stranger(),
      roles: [{ role_key: "dns_manager", ...resource }],
      grants: [{ capability_key: "dns.view", ...resource }],
      message: "Please look after our DNS records.",
    };
  },
  "auth.invitations.revoke": async (account) => ({
    account_id: account.id,
    invitation_id: (await inviting(account, stranger(), { roles: [{ role_key: "viewer" }] })).body.id,
  }),
  "auth.invitations.preview": async (account) => ({
    token: (await invited(account, { email: stranger(), roles: [{ role_key: "viewer" }] })).token,
  }),
  "auth.invitations.accept": async (account) => ({
    token: (await invited(account, { email: account.owner.email ?? "", roles: [{ role_key: "viewer" }] })).token,
  }),
  "auth.role_assignments.list": async (account) => {
    await made(account, "role-assignments", { role_key: "viewer", subject_id: anyUser, subject_type: "user" });
    return { account_id: account.id };
  },
  "auth.role_assignments.assign": async (account) => ({
    account_id: account.id,
    role_key: "dns_manager",
    subject_id: (await newGroup(account))["id"],
    subject_type: "group",
  }),
  "auth.role_assignments.revoke": async (account) => {
    const body = { role_key: "viewer", subject_id: anyUser, subject_type: "user" };
    return { account_id: account.id, assignment_id: (await made(account, "role-assignments", body))["id"] };
  },
  "auth.roles.list": async (account) => {
    await newRole(account);
    return { account_id: account.id };
  },
  "auth.roles.create": async ({ id }) => ({
    account_id: id,
    key: "support",
    name: "Support",
    capability_keys: ["mailbox.view", "mailbox.update"],
  }),
  "auth.roles.update": async (account) => ({
    account_id: account.id,
    role: (await newRole(account))["key"],
    name: "Help desk",
    capability_keys: ["mailbox.view", "domain.view"],
  }),
  "auth.roles.delete": async (account) => ({ account_id: account.id, role: (await newRole(account))["key"] }),
  "auth.service_accounts.list": async (account) => {
    await newProgram(account);
    return { account_id: account.id };
  },
  "auth.service_accounts.create": async ({ id }) => ({ account_id: id, name: "Nightly backup" }),
  "auth.service_accounts.update": async (account) => ({
    account_id: account.id,
    service_account_id: (await newProgram(account))["id"],
    name: "Weekly backup",
  }),
  "auth.service_accounts.rotate": async (account) => ({
    account_id: account.id,
    service_account_id: (await newProgram(account))["id"],
    overlap_seconds: 0,
  }),
  "auth.service_accounts.revoke": async (account) => ({
    account_id: account.id,
    service_account_id: (await newProgram(account))["id"],
  }),
};

/**
 * The permissions that the caller of an example needs besides the route's capability. The example gives these
 * permissions to others, or subscribes to events that need them.
 */
export const alsoHeld: Record<string, Given[]> = {
  "auth.role_assignments.assign": [{ role: "dns_manager" }],
  "auth.invitations.create": [{ role: "dns_manager" }],
  "auth.roles.create": [{ capability: "mailbox.view" }, { capability: "mailbox.update" }],
  "auth.roles.update": [{ capability: "domain.view" }],
  "webhooks.add": [{ capability: "mailbox.view" }, { capability: "domain.view" }],
  "webhooks.rotate_secret": [{ capability: "mailbox.view" }, { capability: "domain.view" }],
};

const feedback = {
  category: "feature_request",
  title: "Sort mailboxes by name",
  description: "With 300 mailboxes\nI look for one too long.",
  attributes: { browser: "Firefox 150" },
  paid_product_feature: true,
};

/**
 * The arguments with which each route succeeds for the account's owner. A route without an entry fails the shared
 * tests.
 */
export const examples: Record<string, (account: Account) => Promise<Example>> = {
  "accounts.list": async () => ({}),
  "accounts.get": async ({ id }) => ({ account_id: id }),
  "me.get": async () => ({}),
  "me.permissions": async ({ id }) => ({ account_id: id }),
  "workspaces.list": async (account) => {
    for (const name of ["Sales", "Marketing"]) await newWorkspaceId(account, name);
    return { account_id: account.id, page: 1, page_size: 10 };
  },
  "workspaces.add": async ({ id }) => ({ account_id: id, name: "Sales" }),
  "workspaces.get": async (account) => ({ account_id: account.id, workspace_id: await newWorkspaceId(account) }),
  "workspaces.update": async (account) => ({
    account_id: account.id,
    workspace_id: await newWorkspaceId(account),
    name: "Marketing",
  }),
  "workspaces.delete": async (account) => ({ account_id: account.id, workspace_id: await newWorkspaceId(account) }),
  "limits.get": async ({ id }) => ({ account_id: id }),
  "notices.get": async ({ id }) => ({ account_id: id }),
  "notices.update": async ({ id, owner }) => ({
    account_id: id,
    muted: ["domain_health"],
    readers: [{ user_id: owner.id, categories: ["invoices", "wallet"] }],
  }),
  "audit.list": async ({ id }) => ({ account_id: id }),
  "functions.list": async () => ({ prefix: "tags." }),
  ...authExamples,
  ...billingExamples,
  ...dedicatedIpExamples,
  ...domainExamples,
  "feedback.list": async ({ id, owner }) => {
    await request("POST", `/v1/public/accounts/${id}/feedback`, { token: owner.token, body: feedback });
    return { account_id: id, status: "new" };
  },
  "feedback.submit": async ({ id }) => ({ account_id: id, ...feedback }),
  ...mailboxExamples,
  ...forwardingExamples,
  ...webhookExamples,
};

/** Makes everything that a route's example names in an account, and returns the arguments of the example. */
export async function exampleOf({ name }: Pick<Route, "name">, account: Account): Promise<Example> {
  const example = examples[name];
  if (!example) throw new Error(`test/support/examples.ts does not say how to call ${name}`);
  return example(account);
}
