import { asSuperAdmin, standingOf } from "./auth/access.ts";
import { viewOf } from "./auth/capabilities.ts";
import { covers, holdsAnywhere, noPermissions, type Permissions } from "./auth/permissions.ts";
import type { Principal } from "./auth/principal.ts";
import { notFound, Problem } from "./errors.ts";
import { parseInput, type ParsedInput, type RawInput } from "./input.ts";
import type { Context, Route } from "./route.ts";

/** What a way in (REST, code mode) brings to every call: who is asking, and what the call may use. */
export type Door = Omit<Context, "principal" | "permissions"> & { authenticate: () => Promise<Principal> };

/**
 * Runs one route, from any door: authenticate (401), parse (422), authorize (403, 404), run, shape the
 * output. Returns the parsed input and the output; only what the output schema declares can leave.
 */
export async function invoke(
  route: Route,
  raw: RawInput,
  { authenticate, ...door }: Door,
): Promise<{ input: ParsedInput; output: unknown }> {
  const principal = await authenticate();
  const input = parseInput(route, raw);
  const permissions = await authorize(route, input, principal, door.table);
  const result = await route.run(input, { ...door, principal, permissions });
  return { input, output: route.output.parse(result) };
}

async function authorize(
  route: Route,
  { params }: ParsedInput,
  principal: Principal,
  table: Context["table"],
): Promise<Permissions> {
  const accountId = params["account_id"];
  if (typeof accountId !== "string") return noPermissions;
  const own = await standingOf(table, principal, accountId, route.access === "write");
  const enough = isAllowed(route, params, own.permissions) && !isNarrowed(route, own.permissions);
  const { permissions, accountStatus } = enough ? own : await asSuperAdmin(table, principal, accountId, own);
  if (!permissions.member) throw notFound();
  if (!isAllowed(route, params, permissions)) throw refusal(route, params, permissions);
  if (route.access === "write" && (accountStatus === "suspended" || accountStatus === "closed")) {
    throw new Problem("account_suspended", `This account is ${accountStatus}: it can be read, not changed.`);
  }
  return permissions;
}

function isAllowed({ capability, scope }: Route, params: Record<string, unknown>, permissions: Permissions): boolean {
  if (capability === null) return permissions.member;
  if (scope === "visible") return holdsAnywhere(permissions, capability);
  return covers(permissions, capability, scope ? scope(params) : []);
}

/** Whether a list would show these permissions less than the whole account. */
const isNarrowed = ({ capability, scope }: Route, permissions: Permissions): boolean =>
  scope === "visible" && capability !== null && !covers(permissions, capability, []);

/**
 * Who may see the thing, or holds neither the capability nor its view anywhere, is told what is missing.
 * Who holds it elsewhere gets the same 404 for a thing outside of their scopes and for one that does not exist.
 */
function refusal({ capability, scope }: Route, params: Record<string, unknown>, permissions: Permissions): Problem {
  if (capability === null) return notFound();
  const view = viewOf(capability);
  const nowhere = !holdsAnywhere(permissions, view) && !holdsAnywhere(permissions, capability);
  if (typeof scope === "function" && !nowhere && !covers(permissions, view, scope(params))) return notFound();
  return new Problem("forbidden", `This needs the capability ${capability}.`, { required_capability: capability });
}
