import { capabilities, type Capability, type RoleKey } from "../../../../shared/auth/capabilities.ts";
import type { Grantable } from "../../../../shared/grants/assignments.ts";
import type { Subject } from "../../../../shared/grants/holders.ts";

export type Assignment = { accountId: string; subject: Subject; given: Grantable };
export type Named = { accountId: string; name: string };

/** A caller: a user or a service account. */
export type Asker = { type: "user" | "service_account"; id: string };

/**
 * The state that decides all permissions: the existing things, the groups of each subject, and the permissions given.
 */
export type AuthModel = {
  superAdmins: Set<string>;
  workspaces: Map<string, Named>;
  groups: Map<string, Named & { parentId?: string }>;
  /** The service accounts. */
  programs: Map<string, { accountId: string }>;
  members: { groupId: string; id: string }[];
  /** The groups that the identity provider puts into a user's token. */
  claims: { groupId: string; id: string }[];
  assignments: Map<string, Assignment>;
  /** The roles that accounts have made, by account and key. */
  roles: Map<string, Capability[]>;
  /** The time, as RFC 3339. */
  now: () => string;
};

/** How long a permission must last: it is valid now, until a time, or for ever. */
export type Lasting = "now" | "ever" | { until: string };

export const lastingOf = ({ expires_at: until }: Grantable): Lasting => (until === undefined ? "ever" : { until });

/** Whether a permission has not ended, and lasts as long as it must. */
export function lasts(model: AuthModel, { expires_at: end }: Grantable, lasting: Lasting): boolean {
  if (end === undefined) return true;
  return end > model.now() && (lasting === "now" || (lasting !== "ever" && end >= lasting.until));
}

export const roleName = (accountId: string, key: string): string => `${accountId} ${key}`;

export const newModel = (superAdminId: string, now: () => string): AuthModel => ({
  superAdmins: new Set([superAdminId]),
  workspaces: new Map(),
  groups: new Map(),
  programs: new Map(),
  members: [],
  claims: [],
  assignments: new Map(),
  roles: new Map(),
  now,
});

const starting = (prefix: string): Capability[] => capabilities.filter((one) => one.startsWith(prefix));
const viewer = capabilities.filter((one) => one.endsWith(".view") && !/^(billing|credential)\./.test(one));
const editor: Capability[] = [
  ...viewer,
  ...(["domain.update", "mailbox.update", "mailbox.export"] as const),
  ...(["forwarding.manage", "suppression.manage", "ip.assign", "tag.manage"] as const),
];
const domainManager: Capability[] = [...editor, "mailbox.create", "mailbox.delete", "mailbox.reveal"];
const bundles: Record<RoleKey, Capability[]> = {
  viewer,
  editor,
  domain_manager: domainManager,
  manager: [...domainManager, "workspace.manage", "domain.purchase", "domain.move", "domain.delete", "webhook.manage"],
  dns_manager: starting("dns."),
  ip_manager: starting("ip."),
  billing_viewer: ["billing.view"],
  billing_admin: starting("billing."),
  credential_manager: starting("credential."),
};

/** A group and all groups that contain it. */
export function lineage(model: AuthModel, groupId: string | undefined): string[] {
  return groupId === undefined ? [] : [groupId, ...lineage(model, model.groups.get(groupId)?.parentId)];
}

function groupsOf(model: AuthModel, { type, id }: Asker, accountId: string): string[] {
  const named = [...model.members, ...(type === "user" ? model.claims : [])].filter((one) => one.id === id);
  const existing = named.filter(({ groupId }) => model.groups.get(groupId)?.accountId === accountId);
  return existing.flatMap(({ groupId }) => lineage(model, groupId));
}

export const givenTo = (
  model: AuthModel,
  accountId: string,
  ids: readonly string[],
  lasting: Lasting = "now",
): Grantable[] =>
  [...model.assignments.values()].flatMap((one) =>
    one.accountId === accountId &&
    ids.includes(one.subject.id) &&
    one.given.kind !== "super_admin" &&
    lasts(model, one.given, lasting)
      ? [one.given]
      : [],
  );

export function isSuperAdmin(model: AuthModel, { id }: Asker, lasting: Lasting = "now"): boolean {
  const granted = [...model.assignments.values()].some(
    ({ subject, given }) => given.kind === "super_admin" && subject.id === id && lasts(model, given, lasting),
  );
  return model.superAdmins.has(id) || granted;
}

/** Whether the caller's token still works. The token of a deleted service account does not. */
export const isKnown = (model: AuthModel, { type, id }: Asker): boolean => type === "user" || model.programs.has(id);

/**
 * The permissions of a caller in one account. `member` says whether the caller sees the account, `everything` whether
 * the caller owns it.
 */
export type Place = {
  model: AuthModel;
  accountId: string;
  member: boolean;
  everything: boolean;
  given: Grantable[];
};

/** The permissions of a caller in one account that last as long as `lasting` says. */
export function placeOf(model: AuthModel, asker: Asker, accountId: string, lasting: Lasting = "now"): Place {
  if (!isKnown(model, asker)) return { model, accountId, member: false, everything: false, given: [] };
  const groups = groupsOf(model, asker, accountId);
  const given = givenTo(model, accountId, [asker.id, ...groups], lasting);
  const everything = isSuperAdmin(model, asker, lasting) || given.some(({ kind }) => kind === "account_owner");
  return { model, accountId, member: everything || given.length > 0 || groups.length > 0, everything, given };
}

export function capabilitiesGiven(model: AuthModel, accountId: string, given: Grantable): readonly Capability[] {
  if (given.kind === "custom_role") return model.roles.get(roleName(accountId, given.custom_role)) ?? [];
  if (given.kind === "role") return bundles[given.role];
  return given.kind === "capability" ? [given.capability] : [];
}

export const scopeOf = (given: Grantable): string | undefined => ("scope" in given ? given.scope?.id : undefined);

/**
 * Whether a caller with these permissions has a capability on a workspace. Without `workspaceId`: on the whole account.
 */
export const may = (
  { model, accountId, member, everything, given }: Place,
  capability: Capability,
  workspaceId?: string,
): boolean =>
  everything ||
  (member && capability === "account.view") ||
  given.some(
    (one) =>
      capabilitiesGiven(model, accountId, one).includes(capability) &&
      (scopeOf(one) === undefined || scopeOf(one) === workspaceId),
  );

/** Whether a caller with these permissions has a capability on anything in the account. */
export const mayAnywhere = (place: Place, capability: Capability): boolean =>
  may(place, capability) || place.given.some((given) => may(place, capability, scopeOf(given)));
