import * as grants from "../../../../shared/access/authorizations.ts";
import { sweepGrants } from "../../../../shared/access/expiry.ts";
import { deleteGroup } from "../../../../shared/access/groups/deletion.ts";
import * as groups from "../../../../shared/access/groups/group.ts";
import * as members from "../../../../shared/access/groups/members.ts";
import * as roles from "../../../../shared/access/roles.ts";
import { createServiceAccount, revokeServiceAccount } from "../../../../shared/access/service-account.ts";
import { InvalidInput, Problem } from "../../../../shared/core/errors.ts";
import { clock } from "../../../../shared/core/time.ts";
import { deleteWorkspace } from "../../../../shared/deletion/workspace.ts";
import * as workspaces from "../../../../shared/workspaces/workspace.ts";
import { testTable } from "../../../support/world.ts";
import * as changes from "./changes.ts";
import { sceneOf, type Scene, type Step } from "./scene.ts";
import { passHour, type World } from "./world.ts";

/** A change in the product and in the model. The product returns the id of a new thing, and the model uses this id. */
type Doing = { real: () => Promise<string | void>; model: (id: string) => changes.Outcome };

const kinds = ["capability", "account_owner", "super_admin", "role", "custom_role"] as const;

/** How to make each kind of change. Undefined if nothing exists that the change could apply to. */
const doings: Record<Step["kind"], (scene: Scene) => Doing | undefined> = {
  assign: ({ world: { model }, accountId, by, subject, given, context }) => ({
    real: () => grants.assign(accountId, subject, given, context, ({ id }) => id),
    model: (id) => changes.assign(model, { ...by, subject, given }, id),
  }),
  revoke: ({ world: { model }, accountId, by, assignmentId: id, context }) =>
    id === undefined
      ? undefined
      : {
          real: () => grants.revoke(accountId, id, kinds, context),
          model: () => changes.revoke(model, { ...by, id }),
        },
  "create group": ({ world: { model, ever }, accountId, name, context }) => ({
    real: async () => {
      const made = await groups.createGroup(accountId, { name }, context);
      ever.group.push({ id: made.id, accountId, name: made.idp_name });
      return made.id;
    },
    model: (id) => changes.add(model, "groups", { accountId, name }, id),
  }),
  "delete group": ({ world: { model }, accountId, by, group, context }) =>
    group && {
      real: () => deleteGroup(accountId, group.id, context),
      model: () => changes.deleteGroup(model, { ...by, id: group.id }),
    },
  "move group": ({ world: { model }, accountId, by, group, parent, context }) =>
    group && {
      real: async () => {
        await groups.updateGroup(accountId, group.id, { parent_id: parent?.id ?? null }, context);
      },
      model: () => changes.moveGroup(model, { ...by, id: group.id, parentId: parent?.id }),
    },
  "add member": ({ world: { model }, accountId, by, group, member, context }) =>
    group && {
      real: async () => {
        await members.addMember(accountId, group.id, member, context);
      },
      model: () => changes.addMember(model, { ...by, groupId: group.id, member }),
    },
  "remove member": ({ world: { model }, accountId, by, group, member, context }) =>
    group && {
      real: () => members.removeMember(accountId, group.id, member.id, context),
      model: () => changes.removeMember(model, { ...by, groupId: group.id, member }),
    },
  claim: ({ world: { model, users }, group }) =>
    group && {
      real: async () => undefined,
      model: () => changes.toggleClaim(model, { groupId: group.id, id: users.at(-1) ?? "" }),
    },
  "create workspace": ({ world: { model, ever }, accountId, name, context }) => ({
    real: async () => {
      const { id } = await workspaces.addWorkspace(accountId, name, context);
      ever.workspace.push({ id, accountId, name });
      return id;
    },
    model: (id) => changes.add(model, "workspaces", { accountId, name }, id),
  }),
  "delete workspace": ({ world: { model }, accountId, workspace, context }) =>
    workspace && {
      real: () => deleteWorkspace(accountId, workspace.id, context),
      model: () => changes.deleteWorkspace(model, accountId, workspace.id),
    },
  "create program": ({ world: { model, ever }, accountId, name, context }) => ({
    real: async () => {
      const { id, token } = await createServiceAccount(accountId, { name }, context);
      ever.service_account.push({ id, accountId, name: token });
      return id;
    },
    model: (id) => changes.addProgram(model, accountId, id),
  }),
  "revoke program": ({ world: { model }, accountId, by, program, context }) =>
    program && {
      real: () => revokeServiceAccount(accountId, program.id, context),
      model: () => changes.revokeProgram(model, { ...by, id: program.id }),
    },
  wait: ({ world }) => ({
    real: async () => passHour(world),
    model: () => "done",
  }),
  // The sweep deletes grants that have ended. This changes no permissions.
  sweep: ({ context: { log } }) => ({
    real: async () => {
      const { failed } = await sweepGrants({ table: testTable(), log, now: clock });
      if (failed > 0) throw new Error("a grant was not ended");
    },
    model: () => "done",
  }),
  "create role": ({ world: { model }, accountId, by, key, capabilities, context }) => ({
    real: async () => {
      await roles.createRole(accountId, { key, name: "Role", capability_keys: capabilities }, context);
    },
    model: () => changes.createRole(model, { ...by, key, capabilities }),
  }),
  "update role": ({ world: { model }, accountId, by, key, capabilities, context }) => ({
    real: async () => {
      await roles.updateRole(accountId, key, { capability_keys: capabilities }, context);
    },
    model: () => changes.updateRole(model, { ...by, key, capabilities }),
  }),
  "delete role": ({ world: { model }, accountId, key, context }) => ({
    real: () => roles.deleteRole(accountId, key, context),
    model: () => changes.deleteRole(model, { accountId, key }),
  }),
};

/** Does a step in the product and in the model, and returns both answers. Undefined if the step does nothing. */
export async function take(world: World, step: Step): Promise<{ real: string; model: string } | undefined> {
  const doing = doings[step.kind](await sceneOf(world, step));
  if (!doing) return undefined;
  const { id, outcome } = await doing.real().then(
    (made) => ({ id: made ?? "", outcome: "done" }),
    (error: unknown) => {
      if (error instanceof Problem) return { id: "", outcome: error.code };
      if (error instanceof InvalidInput) return { id: "", outcome: error.errors[0]?.type ?? "" };
      throw error;
    },
  );
  return { real: outcome, model: doing.model(id) };
}

const furnishing: Pick<Step, "kind" | "account" | "first" | "second">[] = [
  ...[0, 1].map((first) => ({ kind: "create group" as const, account: 0 as const, first, second: 0 })),
  ...[0, 1].map((first) => ({ kind: "create workspace" as const, account: 0 as const, first, second: 0 })),
  { kind: "create program", account: 0, first: 0, second: 0 },
  { kind: "move group", account: 0, first: 1, second: 4 },
  { kind: "add member", account: 0, first: 1, second: 3 },
  { kind: "claim", account: 0, first: 1, second: 0 },
  { kind: "create group", account: 1, first: 0, second: 0 },
  { kind: "create workspace", account: 1, first: 0, second: 0 },
  { kind: "create role", account: 0, first: 0, second: 0 },
];

/**
 * Makes things in a world for the first steps: workspaces, a service account, a role, and a group inside another group.
 * The inner group has one added member, and one member whose token names the group.
 */
export async function furnish(world: World): Promise<void> {
  for (const one of furnishing) {
    const step = { ...one, actor: 0, anything: false, given: "account_owner" as const };
    await take(world, { ...step, hours: undefined, capabilities: ["workspace.view", "dns.view"] });
  }
}
