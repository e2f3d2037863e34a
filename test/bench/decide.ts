import { route as get } from "../../functions/workspaces/get.ts";
import type { Principal } from "../../shared/auth/principal.ts";
import { servicePrincipal } from "../../shared/auth/service-token.ts";
import { invoke } from "../../shared/http/invoke.ts";
import { Empty, type Route } from "../../shared/http/route.ts";
import type { Table } from "../../shared/table/table.ts";
import { asOwner, join, newGroup, newWorkspace } from "../support/auth.ts";
import { codeContext } from "../support/code-context.ts";
import { countTrips } from "../support/trips.ts";
import { newMember, newServiceAccount, newSuperAdmin, newUser, type Account } from "../support/world.ts";
import type { Figure, Result } from "./harness.ts";
import { newScene } from "./scene.ts";

/** A copy of a route whose `run` reads nothing. A call of the copy uses the table for the authorization alone. */
const deciding = (route: Route): Route => ({ ...route, output: Empty, run: async () => ({}) });
const requests = {
  "read one workspace": deciding(get),
  "change one workspace": deciding({ ...get, access: "write" }),
  "list workspaces": deciding({ ...get, scope: "visible" }),
};
const groupCount = 20;

/** A caller of the API. `isTypical` is set if most callers are of this kind. Only typical callers have a bar. */
type Caller = { name: string; isTypical?: true; authenticate: () => Promise<Principal> };

/**
 * Measures the read units for authenticating each caller, and the read units and round trips for authorizing its
 * requests. The reads of the route itself are not counted.
 */
export async function run(): Promise<Result> {
  const { account, table, context, measure } = await newScene();
  const workspaceIds: string[] = [];
  for (const name of ["One", "Two", "Three"]) workspaceIds.push(await newWorkspace(account, name));
  const params = { account_id: account.id, workspace_id: workspaceIds[0] };
  const figures: Figure[] = [];
  for (const { name, isTypical, authenticate } of await callersOf(account, workspaceIds, table)) {
    // The first request of a token stores the time of its use. Later requests of the same hour do not.
    await authenticate();
    const { value: principal, readUnits } = await measure(authenticate);
    figures.push({ name: `${name}: authenticate`, value: readUnits, unit: "read units" });
    for (const [request, route] of Object.entries(requests)) {
      const way = { ...context, authenticate: async () => principal };
      const decide = () => invoke(route, { params, query: {}, body: {} }, way);
      // The first change by a member also stores the member's profile.
      await decide();
      const { value: decided, trips } = await countTrips(() => measure(decide));
      const bar = isTypical ? { bar: 2 } : {};
      figures.push({ name: `${name}: ${request}`, value: decided.readUnits, unit: "read units", ...bar });
      figures.push({ name: `${name}: ${request}, round trips`, value: trips, unit: "trips" });
    }
  }
  return { figures };
}

/** Makes the callers of an account with three workspaces, and with twenty groups that each view the first workspace. */
async function callersOf(account: Account, workspaceIds: readonly string[], table: Table): Promise<Caller[]> {
  const views = workspaceIds.map((id) => ({ role: "viewer" as const, scope: { type: "workspace" as const, id } }));
  const { token } = await newServiceAccount(account, ...views);
  const member = newUser();
  const groups: string[] = [];
  for (let index = 0; index < groupCount; index++) {
    const group = await newGroup(account, `Group ${index}`);
    const view = { role_key: "viewer", subject_type: "group", subject_id: group.id };
    const on = { resource_type: "workspace", resource_id: workspaceIds[0] };
    await asOwner(account, "POST", "role-assignments", { ...view, ...on });
    await join(account, group, member.id);
    groups.push(group.idp_name);
  }
  const user = ({ id }: { id: string }) => codeContext({ id }).authenticate;
  const program = () => servicePrincipal(token, table, new Date());
  const claimant: Principal = { ...(await user(newUser())()), groups };
  return [
    { name: "owner", isTypical: true, authenticate: user(account.owner) },
    { name: "viewer of 3 workspaces", isTypical: true, authenticate: user(await newMember(account, ...views)) },
    { name: "service account of 3 workspaces, with its token", isTypical: true, authenticate: program },
    { name: `user in ${groupCount} groups by the token`, authenticate: async () => claimant },
    { name: `user in ${groupCount} groups as a member`, authenticate: user(member) },
    { name: "super admin", authenticate: user(await newSuperAdmin()) },
  ];
}
