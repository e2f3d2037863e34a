import { asSuperAdmin, standingOf } from "../../../../shared/accounts/standing.ts";
import { noPermissions, type Permissions } from "../../../../shared/auth/permissions.ts";
import type { Principal } from "../../../../shared/auth/principal.ts";
import { servicePrincipal } from "../../../../shared/auth/service-token.ts";
import { recorder } from "../../../../shared/changes/recorder.ts";
import { Problem } from "../../../../shared/core/errors.ts";
import { createLog } from "../../../../shared/core/log.ts";
import { clock, hourMs, setClockAhead } from "../../../../shared/core/time.ts";
import { listAssignments } from "../../../../shared/grants/assignments.ts";
import type { Subject } from "../../../../shared/grants/holders.ts";
import type { Context } from "../../../../shared/http/route.ts";
import { issuer, newAccount, newSuperAdmin, newUser, testTable } from "../../../support/world.ts";
import { newModel, type Asker, type AuthModel } from "./model.ts";

export type Made = { id: string; accountId: string; name: string };

/** Two accounts of one client, their users, everything that was ever made there, and the model of all this. */
export type World = {
  model: AuthModel;
  /** The start of the world's time, in milliseconds. Time passes in whole hours, and permissions end at half hours. */
  beganMs: number;
  hours: number;
  clientId: string;
  accountIds: [string, string];
  /**
   * A super admin, the owners of the two accounts, and two users without permissions. The token of the last user names
   * groups.
   */
  users: string[];
  /**
   * Everything that was ever made, also if it is deleted. `name` is the `idp_name` of a group, and the token of a
   * service account.
   */
  ever: { group: Made[]; service_account: Made[]; workspace: Made[] };
};

const table = testTable();

/** The time `more` hours from now, minus half an hour. */
export const halfHourBefore = ({ beganMs, hours }: World, more: number): string =>
  new Date(beganMs + (hours + more - 0.5) * hourMs).toISOString();

export function passHour(world: World): void {
  world.hours += 1;
  setClockAhead(world.hours * hourMs);
}

/** Makes two new accounts and the users. Each account has only its owner. */
export async function newWorld(): Promise<World> {
  const admin = await newSuperAdmin();
  const first = await newAccount();
  const second = await newAccount({ clientId: first.clientId });
  setClockAhead(0);
  const model = newModel(admin.id, () => clock().toISOString());
  for (const { id: accountId, owner } of [first, second]) {
    const [founding] = await listAssignments(table, accountId, false, clock());
    const subject: Subject = { type: "user", id: owner.id };
    model.assignments.set(founding?.id ?? "", { accountId, subject, given: { kind: "account_owner" } });
  }
  const users = [admin, first.owner, second.owner, newUser(), newUser()].map(({ id }) => id);
  const ever = { group: [], service_account: [], workspace: [] };
  return {
    model,
    beganMs: Date.now(),
    hours: 0,
    clientId: first.clientId,
    accountIds: [first.id, second.id],
    users,
    ever,
  };
}

/** All callers: the users and the service accounts, also deleted ones. */
export const askersOf = ({ users, ever }: World): Asker[] => [
  ...users.map((id) => ({ type: "user" as const, id })),
  ...ever.service_account.map(({ id }) => ({ type: "service_account" as const, id })),
];

/** The group names in a user's token: the names of the user's groups, and names that only look like group names. */
function claimsOf({ model, ever, accountIds }: World, userId: string): string[] {
  const claimed = model.claims.filter(({ id }) => id === userId).map(({ groupId }) => groupId);
  const names = ever.group.filter(({ id }) => claimed.includes(id)).map(({ name }) => name);
  const lookalikes = ever.group.flatMap(({ id }) => [id, `/${id}`, ...accountIds.map((one) => `${one}/${one}/${id}`)]);
  return claimed.length === 0 ? [] : [...names, "Sales", `${accountIds[0]}/Sales`, ...lookalikes];
}

export function tokenOf(world: World, { type, id }: Asker): string {
  if (type === "user") return issuer.mint({ sub: id, email: "a@example.com", groups: claimsOf(world, id) });
  return world.ever.service_account.find((one) => one.id === id)?.name ?? "";
}

/** The principal that the product makes of a caller. Undefined if the token is refused. */
async function principalOf(world: World, asker: Asker): Promise<Principal | undefined> {
  if (asker.type === "user") return { ...asker, email: "a@example.com", groups: claimsOf(world, asker.id) };
  return servicePrincipal(tokenOf(world, asker), table, clock()).catch((error: unknown) => {
    if (error instanceof Problem) return undefined;
    throw error;
  });
}

/** The permissions that the product gives to a caller in an account. */
export async function permissionsOf(world: World, asker: Asker, accountId: string): Promise<Permissions> {
  const principal = await principalOf(world, asker);
  if (!principal) return noPermissions;
  const own = await standingOf(table, principal, accountId, false, clock());
  return (await asSuperAdmin(table, principal, accountId, own, clock())).permissions;
}

export async function contextOf(world: World, actor: Asker, accountId: string): Promise<Context> {
  const { type, id } = actor;
  const now = clock;
  const author = { action: "test", actor: { type, id }, requestId: "test" };
  return {
    principal: { type, id, email: "", groups: claimsOf(world, id) },
    permissions: await permissionsOf(world, actor, accountId),
    requestId: "test",
    table,
    commit: recorder({ table, accountId, author, now }),
    answer: async (value) => value,
    chargeClass: async () => undefined,
    log: createLog("silent", {}),
    now,
  };
}
