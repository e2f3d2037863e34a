import fc from "fast-check";

import { capabilities, roles, type RoleKey } from "../../../../shared/auth/capabilities.ts";
import type { Grantable } from "../../../../shared/grants/assignments.ts";
import type { Subject } from "../../../../shared/grants/holders.ts";
import type { Context } from "../../../../shared/http/route.ts";
import type { Asker } from "./model.ts";
import { askersOf, contextOf, halfHourBefore, type Made, type World } from "./world.ts";

const scoped = fc.boolean();
const given = fc.oneof(
  { weight: 5, arbitrary: fc.record({ capability: fc.constantFrom(...capabilities), scoped }) },
  { weight: 5, arbitrary: fc.record({ role: fc.constantFrom(...(Object.keys(roles) as RoleKey[])), scoped }) },
  { weight: 4, arbitrary: fc.record({ customRole: fc.constant(true), scoped }) },
  { weight: 2, arbitrary: fc.constant("account_owner" as const) },
  { weight: 1, arbitrary: fc.constant("super_admin" as const) },
);

const weighted = <T extends string>(weight: number, kind: T) => ({ weight, arbitrary: fc.constant(kind) });
const kind = fc.oneof(
  weighted(24, "assign"),
  weighted(8, "revoke"),
  weighted(3, "create group"),
  weighted(1, "delete group"),
  weighted(3, "move group"),
  weighted(5, "add member"),
  weighted(2, "remove member"),
  weighted(2, "claim"),
  weighted(3, "create workspace"),
  weighted(2, "delete workspace"),
  weighted(1, "create program"),
  weighted(1, "revoke program"),
  weighted(6, "wait"),
  weighted(2, "sweep"),
  weighted(4, "create role"),
  weighted(4, "update role"),
  weighted(2, "delete role"),
);

/** One change. Its numbers choose among the existing things. */
export const step = fc.record({
  kind,
  /** The caller: mostly the super admin, who may make every change. */
  actor: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.nat(7) }),
  account: fc.constantFrom(0 as const, 0 as const, 0 as const, 1 as const),
  /** Whether the change may name things of the other account, and deleted things. */
  anything: fc.integer({ min: 0, max: 5 }).map((one) => one === 5),
  first: fc.nat(11),
  second: fc.nat(11),
  given,
  /** The permission ends half an hour before this number of hours has passed. Undefined if it never ends. */
  hours: fc.constantFrom(undefined, undefined, 1, 1, 2),
  capabilities: fc.subarray([...capabilities], { minLength: 1, maxLength: 4 }),
});
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const nobody: Asker = { type: "user", id: "" };

function pick<T>(from: readonly T[], index: number): T | undefined {
  return from[index % from.length];
}

const roleKeys = ["alpha", "beta"];

function grantable(step: Step, workspaceId: string | undefined, end: { expires_at?: string }): Grantable {
  if (typeof step.given === "string") return { kind: step.given, ...end };
  const { scoped, ...what } = step.given;
  const scope = scoped && workspaceId !== undefined ? { scope: { type: "workspace" as const, id: workspaceId } } : {};
  if ("customRole" in what) {
    return { kind: "custom_role", custom_role: pick(roleKeys, step.first) ?? "", ...scope, ...end };
  }
  return "role" in what
    ? { kind: "role", ...what, ...scope, ...end }
    : { kind: "capability", ...what, ...scope, ...end };
}

/** The things that a step uses. */
export type Scene = {
  world: World;
  accountId: string;
  by: { accountId: string; actor: Asker };
  context: Context;
  name: string;
  group: Made | undefined;
  parent: Made | undefined;
  workspace: Made | undefined;
  /** A service account. */
  program: Made | undefined;
  member: Asker;
  subject: Subject;
  given: Grantable;
  assignmentId: string | undefined;
  key: string;
  capabilities: Step["capabilities"];
};

export async function sceneOf(world: World, step: Step): Promise<Scene> {
  const { model, ever, users } = world;
  const { first, second, anything } = step;
  const accountId = world.accountIds[step.account];
  const actor = pick(askersOf(world), step.actor) ?? nobody;
  const live = { group: model.groups, service_account: model.programs, workspace: model.workspaces };
  const some = (type: keyof World["ever"]): Made[] =>
    ever[type].filter(({ id }) => anything || live[type].get(id)?.accountId === accountId);
  const people = users.map((id): Asker => ({ type: "user", id }));
  const programs = some("service_account").map(({ id }): Asker => ({ type: "service_account", id }));
  const teams = some("group").map(({ id }): Subject => ({ type: "group", id }));
  const workspace = pick(some("workspace"), first);
  const end = step.hours === undefined ? {} : { expires_at: halfHourBefore(world, step.hours) };
  const given = grantable(step, workspace?.id, end);
  const newestFirst = [...model.assignments].toReversed();
  const assignments = newestFirst.filter(([, one]) => anything || one.accountId === accountId);
  return {
    world,
    accountId,
    by: { accountId, actor },
    context: await contextOf(world, actor, accountId),
    name: ["Sales", "Support", "Everybody"][first % 3] ?? "",
    group: pick(some("group"), first),
    parent: second % 3 === 0 ? undefined : pick(some("group"), second),
    workspace,
    program: pick(some("service_account"), first),
    member: pick([...people, ...programs], second) ?? nobody,
    subject: pick(given.kind === "super_admin" ? people : [...teams, ...programs, ...people], second) ?? nobody,
    given,
    assignmentId: pick(assignments, second)?.[0],
    key: pick(roleKeys, first) ?? "",
    capabilities: step.capabilities,
  };
}
