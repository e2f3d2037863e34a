import type { Capability } from "../../../../shared/auth/capabilities.ts";
import type { Grantable } from "../../../../shared/grants/assignments.ts";
import type { Subject } from "../../../../shared/grants/holders.ts";
import {
  capabilitiesGiven,
  givenTo,
  isSuperAdmin,
  lasts,
  lastingOf,
  lineage,
  may,
  placeOf,
  roleName,
  scopeOf,
  type Asker,
  type Assignment,
  type AuthModel,
  type Lasting,
  type Named,
} from "./model.ts";

/** The answer to a change: `done`, or the code of its refusal. */
export type Outcome = string;

/**
 * Whether `giver` holds the permission `given` for as long as `lasting` says. By default, this is as long as `given`
 * lasts. A caller who takes a permission away need not hold it longer than `now`.
 */
function holdsGiven(
  model: AuthModel,
  giver: Asker,
  accountId: string,
  given: Grantable,
  lasting: Lasting = lastingOf(given),
): boolean {
  if (given.kind === "super_admin") return isSuperAdmin(model, giver, lasting);
  const place = placeOf(model, giver, accountId, lasting);
  if (given.kind === "account_owner") return place.everything;
  return capabilitiesGiven(model, accountId, given).every((capability) => may(place, capability, scopeOf(given)));
}

/** Whether `giver` holds all permissions that a group gives to its members. */
const holdsPermissionsOf = (model: AuthModel, giver: Asker, accountId: string, groupId: string): boolean =>
  givenTo(model, accountId, lineage(model, groupId)).every((given) => holdsGiven(model, giver, accountId, given));

/** Whether `giver` may take something away from `subjects`. If a subject owns the account, only an owner may. */
const mayTakeFrom = (model: AuthModel, giver: Asker, accountId: string, subjects: string[]): boolean =>
  givenTo(model, accountId, subjects)
    .filter(({ kind }) => kind === "account_owner")
    .every((given) => holdsGiven(model, giver, accountId, given, "now"));

/** Whether a group, service account or workspace belongs to the account. True of every user. */
function has(model: AuthModel, accountId: string, type: Subject["type"] | "workspace", id: string): boolean {
  const all = { group: model.groups, service_account: model.programs, workspace: model.workspaces };
  return type === "user" || all[type].get(id)?.accountId === accountId;
}

/** Capabilities that have no effect on a workspace. */
const ofAccounts = /^(?:account|billing|suppression|tag|webhook|auth)\.|^ip\.manage$/;

type Change = { accountId: string; actor: Asker };

/**
 * Gives a permission. `id` is the id that the product returned. If the permission is given twice, `id` must be the id
 * of the first assignment.
 */
export function assign(
  model: AuthModel,
  { accountId, actor, subject, given }: Change & { subject: Subject; given: Grantable },
  id: string,
): Outcome {
  const scope = scopeOf(given);
  if (given.kind === "custom_role" && !model.roles.has(roleName(accountId, given.custom_role))) return "not_found";
  const capabilities = capabilitiesGiven(model, accountId, given);
  if (scope !== undefined && capabilities.every((one) => ofAccounts.test(one))) return "value_error";
  if (scope !== undefined && !has(model, accountId, "workspace", scope)) return "not_found";
  if (!holdsGiven(model, actor, accountId, given)) return "would_escalate";
  if (!has(model, accountId, subject.type, subject.id)) return "not_found";
  const assignment = { accountId, subject, given };
  const before = [...model.assignments].find(
    ([, one]) => lasts(model, one.given, "now") && withoutEnd(one) === withoutEnd(assignment),
  );
  if (before && given.expires_at !== undefined && isLastOwner(model, before[1])) return "last_owner";
  if (before && before[0] !== id) return "given twice";
  model.assignments.set(id, assignment);
  return "done";
}

const withoutEnd = ({ given, ...assignment }: Assignment): string =>
  JSON.stringify({ ...assignment, given: { ...given, expires_at: undefined } });

/** Whether this is the only assignment that makes a user an owner of the account for ever. */
function isLastOwner(model: AuthModel, assignment: Assignment): boolean {
  const isLastingOwner = ({ accountId, subject, given }: Assignment): boolean =>
    accountId === assignment.accountId &&
    given.kind === "account_owner" &&
    subject.type === "user" &&
    given.expires_at === undefined;
  return isLastingOwner(assignment) && [...model.assignments.values()].filter(isLastingOwner).length === 1;
}

export function revoke(model: AuthModel, { accountId, actor, id }: Change & { id: string }): Outcome {
  const found = model.assignments.get(id);
  if (found?.accountId !== accountId || !lasts(model, found.given, "now")) return "not_found";
  const { kind } = found.given;
  const isRank = kind === "account_owner" || kind === "super_admin";
  if (isRank && !holdsGiven(model, actor, accountId, found.given, "now")) return "would_escalate";
  if (isLastOwner(model, found)) return "last_owner";
  model.assignments.delete(id);
  return "done";
}

function purge(model: AuthModel, isGone: (assignment: Assignment) => boolean): void {
  for (const [id, assignment] of model.assignments) if (isGone(assignment)) model.assignments.delete(id);
}

const isTaken = (things: Map<string, Named>, { accountId, name }: Named): boolean =>
  [...things.values()].some((one) => one.accountId === accountId && one.name === name);

export function add(model: AuthModel, kind: "groups" | "workspaces", thing: Named, id: string): Outcome {
  if (isTaken(model[kind], thing)) return kind === "groups" ? "group_name_taken" : "workspace_name_taken";
  model[kind].set(id, thing);
  return "done";
}

export function deleteWorkspace(model: AuthModel, accountId: string, id: string): Outcome {
  if (!has(model, accountId, "workspace", id)) return "not_found";
  model.workspaces.delete(id);
  purge(model, ({ given }) => scopeOf(given) === id);
  return "done";
}

export function deleteGroup(model: AuthModel, { accountId, actor, id }: Change & { id: string }): Outcome {
  if (!has(model, accountId, "group", id)) return "not_found";
  if ([...model.groups.values()].some(({ parentId }) => parentId === id)) return "group_not_empty";
  if (!mayTakeFrom(model, actor, accountId, lineage(model, id))) return "would_escalate";
  model.groups.delete(id);
  model.members = model.members.filter(({ groupId }) => groupId !== id);
  purge(model, ({ subject }) => subject.id === id);
  return "done";
}

export function moveGroup(
  model: AuthModel,
  { accountId, actor, id, parentId }: Change & { id: string; parentId?: string | undefined },
): Outcome {
  const group = model.groups.get(id);
  if (group?.accountId !== accountId) return "not_found";
  // A move of a group to its present parent changes no permissions.
  if (parentId === group.parentId) return "done";
  if (parentId !== undefined) {
    if (!has(model, accountId, "group", parentId)) return "not_found";
    if (!holdsPermissionsOf(model, actor, accountId, parentId)) return "would_escalate";
  }
  if (!mayTakeFrom(model, actor, accountId, lineage(model, id))) return "would_escalate";
  if (lineage(model, parentId).includes(id)) return "group_cycle";
  const { name } = group;
  model.groups.set(id, { accountId, name, ...(parentId === undefined ? {} : { parentId }) });
  return "done";
}

type Membership = Change & { groupId: string; member: Asker };

const isIn = (model: AuthModel, { groupId, member }: Membership): boolean =>
  model.members.some((one) => one.groupId === groupId && one.id === member.id);

export function addMember(model: AuthModel, change: Membership): Outcome {
  const { accountId, actor, groupId, member } = change;
  if (!has(model, accountId, "group", groupId)) return "not_found";
  if (!holdsPermissionsOf(model, actor, accountId, groupId)) return "would_escalate";
  if (!has(model, accountId, member.type, member.id)) return "not_found";
  if (!isIn(model, change)) model.members.push({ groupId, id: member.id });
  return "done";
}

export function removeMember(model: AuthModel, change: Membership): Outcome {
  const { accountId, actor, groupId } = change;
  if (!has(model, accountId, "group", groupId)) return "not_found";
  if (!mayTakeFrom(model, actor, accountId, lineage(model, groupId))) return "would_escalate";
  if (!isIn(model, change)) return "not_found";
  model.members = model.members.filter((one) => one.groupId !== change.groupId || one.id !== change.member.id);
  return "done";
}

export function revokeProgram(model: AuthModel, { accountId, actor, id }: Change & { id: string }): Outcome {
  if (!has(model, accountId, "service_account", id)) return "not_found";
  if (!mayTakeFrom(model, actor, accountId, [id])) return "would_escalate";
  model.programs.delete(id);
  model.members = model.members.filter((member) => member.id !== id);
  purge(model, ({ subject }) => subject.id === id);
  return "done";
}

export function addProgram(model: AuthModel, accountId: string, id: string): Outcome {
  model.programs.set(id, { accountId });
  return "done";
}

type RoleChange = Change & { key: string; capabilities: Capability[] };

const holdsAll = ({ actor, accountId }: Change, model: AuthModel, capabilities: Capability[]): boolean => {
  const place = placeOf(model, actor, accountId, "ever");
  return capabilities.every((capability) => may(place, capability));
};

export function createRole(model: AuthModel, change: RoleChange): Outcome {
  const name = roleName(change.accountId, change.key);
  if (!holdsAll(change, model, change.capabilities)) return "would_escalate";
  if (model.roles.has(name)) return "role_key_taken";
  model.roles.set(name, change.capabilities);
  return "done";
}

export function updateRole(model: AuthModel, change: RoleChange): Outcome {
  const name = roleName(change.accountId, change.key);
  const before = model.roles.get(name);
  if (!before) return "not_found";
  const gained = change.capabilities.filter((capability) => !before.includes(capability));
  if (!holdsAll(change, model, gained)) return "would_escalate";
  model.roles.set(name, change.capabilities);
  return "done";
}

export function deleteRole(model: AuthModel, { accountId, key }: { accountId: string; key: string }): Outcome {
  const name = roleName(accountId, key);
  if (!model.roles.has(name)) return "not_found";
  const isHeld = [...model.assignments.values()].some(
    (one) =>
      one.accountId === accountId &&
      one.given.kind === "custom_role" &&
      one.given.custom_role === key &&
      lasts(model, one.given, "now"),
  );
  if (isHeld) return "role_in_use";
  model.roles.delete(name);
  return "done";
}

/** The identity provider puts a user into a group, or takes them out of it. */
export function toggleClaim(model: AuthModel, claim: { groupId: string; id: string }): Outcome {
  const others = model.claims.filter(({ groupId, id }) => groupId !== claim.groupId || id !== claim.id);
  model.claims = others.length < model.claims.length ? others : [...others, claim];
  return "done";
}
