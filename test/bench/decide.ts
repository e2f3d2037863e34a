import { randomUUID } from "node:crypto";

import { assign } from "../../shared/access/authorizations.ts";
import { createGroup } from "../../shared/access/groups/group.ts";
import { addMember } from "../../shared/access/groups/members.ts";
import { createAccount, createClient } from "../../shared/access/operate-accounts.ts";
import { createServiceAccount } from "../../shared/access/service-accounts/service-account.ts";
import type { Principal } from "../../shared/auth/principal.ts";
import { servicePrincipal } from "../../shared/auth/service-token.ts";
import { planSuperAdmin, type Subject } from "../../shared/grants/holders.ts";
import { invoke } from "../../shared/http/invoke.ts";
import { defineRoute, Empty, type Route } from "../../shared/http/route.ts";
import type { Usage } from "../../shared/table/connection.ts";
import { addWorkspace, WorkspaceParams, workspaceScope } from "../../shared/workspaces/workspace.ts";
import { meter, plainContext, type BenchContext } from "./context.ts";
import { onOwnEngine } from "./engine.ts";
import type { Figure } from "./suite.ts";

/** The decision of a route and nothing else: what it runs reads nothing. */
const deciding = (access: Route["access"], scope: "visible" | typeof workspaceScope): Route =>
  defineRoute({
    name: "decide",
    method: "GET",
    path: "/",
    summary: "Decide",
    capability: "workspace.view",
    access,
    params: WorkspaceParams,
    scope,
    output: Empty,
    run: async () => ({}),
  });
const requests = {
  "read one workspace": deciding("read", workspaceScope),
  "change one workspace": deciding("write", workspaceScope),
  "list workspaces": deciding("read", "visible"),
};

const groupCount = 20;

/** What the issue asks for typical principals. */
const barReadUnits = 2;

/** What authenticating a request costs, and what deciding it costs beyond what the route itself reads, by who asks. */
export const decisionCost = (): Promise<Figure[]> => onOwnEngine(measure);

type Asker = { name: string; isTypical?: true; authenticate: () => Promise<Principal> };

async function measure(): Promise<Figure[]> {
  const usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  const context = plainContext(usage);
  const spent = meter(usage);
  const { params, askers } = await fill(context);
  const figures: Figure[] = [];
  for (const { name, isTypical, authenticate } of askers) {
    // The first request of a token writes that it is used, which later ones of the hour do not.
    await authenticate();
    const { value: principal, readUnits } = await spent(authenticate);
    figures.push({ name: `${name}: authenticate`, value: readUnits, unit: "read units" });
    const door = { ...context, authenticate: async () => principal, charge: async () => undefined };
    for (const [request, route] of Object.entries(requests)) {
      const decided = await spent(() => invoke(route, { params, query: {}, body: {} }, door));
      const bar = isTypical ? { bar: barReadUnits } : {};
      figures.push({ name: `${name}: ${request}`, value: decided.readUnits, unit: "read units", ...bar });
      figures.push({ name: `${name}: ${request}, round trips`, value: decided.calls, unit: "calls" });
    }
  }
  return figures;
}

const user = (groups: readonly string[] = []): Principal => ({ type: "user", id: randomUUID(), email: "", groups });

/** An account with an owner, three workspaces, and twenty groups that each view one of them. */
async function fill(context: BenchContext): Promise<{ params: Record<string, string>; askers: Asker[] }> {
  const { table, now } = context;
  const owner = user();
  const client = await createClient(table, "Bench");
  const { id: accountId } = await createAccount(table, { client, name: "Bench", ownerId: owner.id }, now());
  const workspaceIds = ["One", "Two", "Three"].map(async (name) => (await addWorkspace(accountId, name, context)).id);
  const scopes = (await Promise.all(workspaceIds)).map((id) => ({ type: "workspace" as const, id }));
  const views = async (subject: Subject, on: typeof scopes): Promise<void> => {
    for (const scope of on)
      await assign(accountId, subject, { kind: "role", role: "viewer", scope }, context, () => undefined);
  };
  const [viewer, member, admin] = [user(), user(), user()];
  await views(viewer, scopes);
  const program = await createServiceAccount(accountId, { name: "Bench" }, context);
  await views({ type: "service_account", id: program.id }, scopes);
  const names: string[] = [];
  for (let index = 0; index < groupCount; index++) {
    const group = await createGroup(accountId, { name: `Group ${index}` }, context);
    await views({ type: "group", id: group.id }, scopes.slice(0, 1));
    await addMember(accountId, group.id, { ...member, type: "user" }, context);
    names.push(group.idp_name);
  }
  await table.commit(async () => ({
    value: undefined,
    writes: [await planSuperAdmin(table, admin.id, () => ["bench"])],
  }));
  const claimant = user(names);
  return {
    params: { account_id: accountId, workspace_id: scopes[0]?.id ?? "" },
    askers: [
      { name: "owner", isTypical: true, authenticate: async () => owner },
      { name: "viewer of 3 workspaces", isTypical: true, authenticate: async () => viewer },
      {
        name: "service account of 3 workspaces, with its token",
        isTypical: true,
        authenticate: () => servicePrincipal(program.token, table, now()),
      },
      { name: `user in ${groupCount} groups by the token`, authenticate: async () => claimant },
      { name: `user in ${groupCount} groups as a member`, authenticate: async () => member },
      { name: "super admin", authenticate: async () => admin },
    ],
  };
}
