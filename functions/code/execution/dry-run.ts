import type { Permissions } from "../../../shared/auth/permissions.ts";
import type { InvocationContext } from "../../../shared/http/invoke.ts";
import { reachOf } from "../../../shared/http/may-call.ts";
import type { Route } from "../../../shared/http/route.ts";
import { batchReads } from "../../../shared/table/batch-reads.ts";
import type { Site } from "../checker/checker.ts";
import type { DryCall } from "../envelope.ts";
import { permissionsOf } from "./held-permissions.ts";

/**
 * Lists the calls of a program in the order of execution, each with whether the caller holds its capability. The answer
 * is null where only the run can tell the account, or the resource that a grant may be limited to.
 */
export async function dryRun(sites: readonly Site[], door: InvocationContext): Promise<DryCall[]> {
  const reading = { ...door, table: batchReads(door.table) };
  const standings = new Map(
    await Promise.all(
      accountsIn(sites).map(async (accountId) => [accountId, await permissionsOf(accountId, reading)] as const),
    ),
  );
  const calls: DryCall[] = [];
  for (const { index, call, fn, account } of sites) {
    const permissions = standings.get(account ?? "");
    const { access, capability } = fn.route;
    const held = isHeld(fn.route, permissions);
    calls.push({ index, function: call.name, ...call.at, access, capability, held });
  }
  return calls;
}

/** The accounts that are known before the run. Each costs a look-up of permissions. */
export const accountsIn = (sites: readonly Site[]): string[] => [
  ...new Set(sites.flatMap(({ account }) => account ?? [])),
];

function isHeld(route: Route, permissions: Permissions | undefined): boolean | null {
  const isInAccount = Object.hasOwn(route.params.shape, "account_id");
  if (route.public || (!isInAccount && permissions === undefined)) return true;
  if (permissions === undefined) return null;
  return { all: true, some: null, none: false }[reachOf(route, permissions)];
}
