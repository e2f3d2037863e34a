import type { Permissions } from "../../../shared/auth/permissions.ts";
import type { InvocationContext } from "../../../shared/http/invoke.ts";
import { reachOf } from "../../../shared/http/may-call.ts";
import type { Route } from "../../../shared/http/route.ts";
import type { CheckedCall } from "../checker/checker.ts";
import type { DryCall } from "../envelope.ts";
import { permissionsOf } from "./held-permissions.ts";

/**
 * Lists the calls of a program in the order of execution, and says for each whether the caller holds its capability.
 * This is null if the account, or the resource that a grant may be limited to, is known only during the run.
 */
export async function dryRun(checkedCalls: readonly CheckedCall[], context: InvocationContext): Promise<DryCall[]> {
  const permissionsByAccount = new Map(
    await Promise.all(
      accountsIn(checkedCalls).map(async (accountId) => [accountId, await permissionsOf(accountId, context)] as const),
    ),
  );
  const calls: DryCall[] = [];
  for (const { index, call, fn, account } of checkedCalls) {
    const permissions = permissionsByAccount.get(account ?? "");
    const { access, capability } = fn.route;
    const held = isHeld(fn.route, permissions);
    calls.push({ index, function: call.name, ...call.at, access, capability, held });
  }
  return calls;
}

/** The accounts that are known before the run. Each costs a look-up of permissions. */
export const accountsIn = (checkedCalls: readonly CheckedCall[]): string[] => [
  ...new Set(checkedCalls.flatMap(({ account }) => account ?? [])),
];

function isHeld(route: Route, permissions: Permissions | undefined): boolean | null {
  const isInAccount = Object.hasOwn(route.params.shape, "account_id");
  if (route.public || (!isInAccount && permissions === undefined)) return true;
  if (permissions === undefined) return null;
  return { all: true, some: null, none: false }[reachOf(route, permissions)];
}
