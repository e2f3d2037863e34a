import * as z from "zod";

import { accountKey, StoredAccount } from "../../accounts/account.ts";
import {
  accessKey,
  AccessRecord,
  asSuperAdmin,
  groupsKey,
  GroupsRecord,
  idpNameOf,
  noRoles,
  rolesKey,
  RolesRecord,
  standingOf,
  userKey,
} from "../../accounts/standing.ts";
import { covers, isLive, type Permissions } from "../../auth/permissions.ts";
import { profileOf, verifiedEmailOf, type Principal, type Profile } from "../../auth/principal.ts";
import { type Change, change } from "../../changes/kind.ts";
import { invalidAt, Problem } from "../../core/errors.ts";
import { hashOfToken, Id } from "../../core/ids.ts";
import { Timestamp } from "../../core/time.ts";
import { getAssignments, planAssignments, planNewEnds, type Grantable, type NewEnd } from "../../grants/assignments.ts";
import { aheadOfHolder, readHeld, type Subject } from "../../grants/holders.ts";
import type { Context, LocatedResource, ResourceLookup } from "../../http/route.ts";
import { maskedAddress, TargetEmail } from "../../mail/forwarding/target.ts";
import { readerAhead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import { keyText, itemKey, type Write } from "../../table/writes.ts";
import { grantMatches, permissionOf } from "../authorizations.ts";
import { isHeld } from "../escalation.ts";
import { rolesWrite } from "../roles.ts";
import { locate } from "../scopes.ts";
import {
  accessView,
  findInvitation,
  grantableOf,
  invitationKey,
  invitationKind,
  invitationView,
  InvitedAccess,
  invitationStatus,
  type StoredAccess,
  type StoredInvitation,
  StoredToken,
  tokenKey,
} from "./invitation.ts";
import { invitationUsed } from "./manage.ts";

const deadLink = "This link is not valid. It is incomplete or too old, or a newer mail has replaced it";

export const TokenBody = z
  .strictObject({
    token: z.string().min(1).max(200).meta({ description: "The part of the link after the `#`." }),
  })
  .meta({ id: "InvitationToken", description: "The token of an invitation's link." });

type Invited = { accountId: string; accountName: string; invitation: StoredInvitation };

/** The invitation that the token of a link belongs to. */
export const invitationInBody: ResourceLookup<{ body: { token: string } }, Invited> = {
  at: ["body", "token"],
  within: [],
  missing: deadLink,
  stopped:
    "The account that invited you is suspended or closed, so nobody can accept the invitation now. Ask the person who invited you.",
  find: async ({ body }, table) => {
    const hash = hashOfToken(body.token);
    const token = await table.get(tokenKey(hash), StoredToken);
    if (!token) return undefined;
    const { account_id: accountId, invitation_id: id } = token;
    // After this lookup, authorization gets the account too. This costs no second read, because the request keeps the
    // result of the `get` here for one more `get` of the same key (`Ahead.again`).
    const [invitation, account] = await Promise.all([
      findInvitation(table, accountId, id),
      table.get(accountKey(accountId), StoredAccount),
    ]);
    if (invitation?.token_hash !== hash) return undefined;
    const thing = { accountId, accountName: account?.name ?? "", invitation };
    return { id, accountId, scopes: [], thing } satisfies LocatedResource<unknown>;
  },
};

export const InvitationPreview = z
  .object({
    account_name: z.string().meta({ description: "The name of the account." }),
    email: z.string().meta({ description: "The invited address, masked." }),
    invited_by: z.string().nullable().meta({ description: "The address of the inviter, if it is known." }),
    message: z.string().nullable().meta({ description: "The inviter's message." }),
    status: z.enum(["pending", "accepted", "revoked", "expired"]).meta({ description: "The invitation's status." }),
    expires_at: Timestamp.meta({ description: "Until when the invitation can be accepted." }),
    access: z.array(InvitedAccess).meta({ description: "The permissions that the person gets." }),
  })
  .meta({ description: "An invitation, as the holder of its link sees it." });

/** The view of an invitation for the holder of its link, before the holder signs in. */
export const previewInvitation = (
  { accountName, invitation }: Invited,
  now: Date,
): z.output<typeof InvitationPreview> => ({
  account_name: accountName,
  email: maskedAddress(invitation.email),
  invited_by: invitation.inviter.email,
  message: invitation.message,
  status: invitationStatus(invitation, now),
  expires_at: invitation.expires_at,
  access: accessView(invitation.access),
});

export const AcceptedInvitation = z
  .object({
    account_id: Id.meta({ description: "The account that you have access to now." }),
    account_name: z.string().meta({ description: "The name of the account." }),
    access: z
      .array(InvitedAccess)
      .meta({ description: "The permissions of the invitation, and whether you got each." }),
  })
  .meta({ id: "InvitationAccepted", description: "The access that an accepted invitation gave." });
type Accepted = z.output<typeof AcceptedInvitation>;

/** The 410 for an invitation of which no permission can be given any more. */
const notHeld = () =>
  invitationEnded("The access in this invitation can no longer be given. Ask for a new invitation.", "not_held");

/**
 * Accepts an invitation for the caller: gives the permissions of the invitation, and changes its state, in one
 * transaction. A repeat by the same user changes nothing, and returns the stored result. Permissions that cannot be
 * given any more are left out; `whatIsGiven` has the conditions. If this function throws, nothing has changed. Throws:
 * - 403 `email_not_verified` if the issuer does not give a verified address of the caller;
 * - 403 `invitation_not_yours` if the caller has another address, or is a service account;
 * - 409 `invitation_used` if another user has accepted the invitation;
 * - 409 `limit_reached` if the caller would hold too many grants, or the account would have too many owners;
 * - 410 `invitation_ended` if the invitation was revoked or has expired, or if none of its permissions can be given any
 *   more;
 * - 422 if a newer mail has replaced the link.
 */
export async function acceptInvitation(
  { accountId, accountName, invitation }: Invited,
  context: Context,
): Promise<Accepted> {
  const { table, commit, principal, now } = context;
  const answer = ({ access }: StoredInvitation): Accepted => ({
    account_id: accountId,
    account_name: accountName,
    access: accessView(access),
  });
  const isOwnRepeat = ({ state, accepted_by }: StoredInvitation) =>
    state === "accepted" && accepted_by === principal.id;
  const email = isOwnRepeat(invitation) ? invitation.email : await requireAddress(invitation, context);
  return commit(async () => {
    const before = await findInvitation(table, accountId, invitation.id);
    if (before?.token_hash !== invitation.token_hash || before === undefined) {
      throw invalidAt(["body", "token"], deadLink, "not_found");
    }
    if (isOwnRepeat(before)) return { value: answer(before), writes: [], changes: [] };
    const acceptedAt = now();
    requirePending(before, acceptedAt);
    const subject: Subject = { type: "user", id: principal.id };
    const reader = readerAhead(table, { keys: aheadOfHolder(accountId, subject, { times: 2 }), again: true });
    const inviter = await readInviter(reader, accountId, before, acceptedAt);
    const { access, given, unchanged } = await whatIsGiven(reader, accountId, before, inviter);
    if (given.length === 0) throw notHeld();
    const author = { by: before.inviter.id, now: acceptedAt };
    const profile = { ...profileOf(principal), email };
    const planned = await planGiven(reader, accountId, subject, given, { author, profile });
    const { version } = before;
    const set = {
      state: "accepted" as const,
      access,
      accepted_at: acceptedAt.toISOString(),
      accepted_by: principal.id,
    };
    const after = { ...before, ...set };
    const views = { before: invitationView(before, acceptedAt), after: invitationView(after, acceptedAt) };
    return {
      value: answer(after),
      writes: [
        { update: invitationKey(accountId, before.id), set, add: { version: 1 }, if: { id: before.id, version } },
        ...withChecks(planned.writes, [...inviter.unchanged, ...unchanged]),
      ],
      changes: [change(invitationKind, "accepted", before.id, views), ...planned.changes],
    };
  });
}

/**
 * Joins writes and checks of items. A transaction can name an item only once. So if an item has both a write and a
 * check, the result has the write, with the condition of the check. The item was read for the check first, and for the
 * write later or at the same time. So if the item has changed between the two reads, the transaction fails, and its
 * plan runs again.
 */
function withChecks(writes: readonly Write[], checks: readonly Write[]): Write[] {
  const byKey = new Map(checks.map((check) => [keyText(itemKey(check)), check]));
  const guarded = writes.map((write) => {
    const key = keyText(itemKey(write));
    const { if: condition } = byKey.get(key) ?? write;
    byKey.delete(key);
    return condition === undefined ? write : { ...write, if: condition };
  });
  return [...guarded, ...byKey.values()];
}

/** Returns the caller's verified address. Throws 403 unless this is the invited address. */
async function requireAddress(
  { email: invited }: StoredInvitation,
  { principal, askEmail }: Pick<Context, "principal" | "askEmail">,
): Promise<string> {
  if (principal.type !== "user") {
    throw new Problem("invitation_not_yours", "Only a person can accept an invitation, and this is a service account.");
  }
  const email = verifiedEmailOf(principal) ?? (principal.email_verified === false ? undefined : await askEmail?.());
  if (email === undefined) {
    throw new Problem(
      "email_not_verified",
      "Your sign-in service has no verified e-mail address for you. Verify your address there, and sign in again.",
    );
  }
  if (TargetEmail.safeParse(email).data === invited) return email;
  throw new Problem(
    "invitation_not_yours",
    `The invitation is for ${maskedAddress(invited)}, and you are signed in as ${email}. Sign in with the invited address.`,
  );
}

const invitationEnded = (detail: string, reason: string): Problem =>
  new Problem("invitation_ended", detail, { reason });

function requirePending(invitation: StoredInvitation, now: Date): void {
  const status = invitationStatus(invitation, now);
  if (status === "accepted") throw invitationUsed("Another user has accepted this invitation.");
  if (status === "revoked") throw invitationEnded("The invitation was revoked. Ask for a new one.", status);
  if (status === "expired") throw invitationEnded("The invitation has expired. Ask for a new one.", status);
}

const Versioned = z.object({ version: z.int() });

type Inviter = {
  principal: Principal;
  permissions: Permissions;
  /** The account's own roles, as they were before the permissions were read. */
  roles: RolesRecord;
  now: () => Date;
  /** Makes a transaction fail if the inviter's permissions have changed. */
  unchanged: Write[];
};

/**
 * The inviter's present permissions. The inviter's token is not available here. So instead of the groups that the token
 * names now, this function uses the groups that the token named when the invitation was made.
 */
async function readInviter(
  table: Reader,
  accountId: string,
  { inviter, inviter_groups }: StoredInvitation,
  now: Date,
): Promise<Inviter> {
  const principal: Principal = {
    type: inviter.type,
    id: inviter.id,
    email: "",
    groups: inviter_groups.map((id) => idpNameOf(accountId, id)),
  };
  const key = accessKey(accountId, principal);
  // These items are read before the permissions, and `unchanged` checks their versions. So if one of them has changed
  // since this read, the transaction fails.
  const [record, groups, roles, user] = await Promise.all([
    table.get(key, AccessRecord),
    table.get(groupsKey(accountId), GroupsRecord),
    table.get(rolesKey(accountId), RolesRecord),
    principal.type === "user" ? table.get(userKey(principal.id), Versioned) : undefined,
  ]);
  const withStatus = false;
  const own = await standingOf(table, principal, accountId, withStatus, now);
  const { permissions } = await asSuperAdmin(table, principal, accountId, own, now);
  const usesGroups = inviter_groups.length > 0 || (record?.groups.length ?? 0) > 0;
  const usesRoles = own.permissions.grants.some(({ custom_role }) => custom_role !== undefined);
  const usesRank = permissions.superAdmin;
  const unchanged: Write[] = [
    { check: key, if: record ? { version: record.version } : "absent" },
    ...(usesGroups
      ? [{ check: groupsKey(accountId), if: groups ? { version: groups.version } : ("absent" as const) }]
      : []),
    ...(usesRoles
      ? [{ check: rolesKey(accountId), if: roles ? { version: roles.version } : ("absent" as const) }]
      : []),
    ...(usesRank ? [{ check: userKey(principal.id), if: user ? { version: user.version } : ("absent" as const) }] : []),
  ];
  return { principal, permissions, roles: roles ?? noRoles, now: () => now, unchanged };
}

const isCustom = ({ custom_role }: StoredAccess): boolean => custom_role !== undefined;

/** Whether the account still has the role of a permission, and not another role with the same key. */
function hasRole({ roles }: RolesRecord, { custom_role = "", role_created_at }: StoredAccess): boolean {
  const role = Object.hasOwn(roles, custom_role) ? roles[custom_role] : undefined;
  return role !== undefined && (role_created_at === undefined || role.created_at === role_created_at);
}

/**
 * The permissions that an invitation can still give are in `given`. An invitation can give a permission under these
 * conditions:
 * - The permission has not ended, and its resource and its role still exist.
 * - The inviter still holds `auth.manage` on the account.
 * - The inviter holds the same permission, for at least as long as the invitation gives it.
 *
 * `access` has all permissions of the invitation. `unchanged` makes a transaction fail if a resource or a role is
 * deleted meanwhile.
 */
async function whatIsGiven(
  table: Reader,
  accountId: string,
  { access }: StoredInvitation,
  { principal, permissions, roles: own, now }: Inviter,
): Promise<{ access: StoredAccess[]; given: Grantable[]; unchanged: Write[] }> {
  const canManage = covers(permissions, "auth.manage", []);
  const giver = { permissions, principal, table, now };
  const checked = await Promise.all(
    access.map(async (one) => {
      const grantable = grantableOf(one);
      const located = one.scope ? await locate(table, accountId, one.scope) : { scopes: [] };
      const exists = located !== undefined && (!isCustom(one) || hasRole(own, one));
      const isGiven =
        canManage &&
        exists &&
        isLive(one.expires_at, now().toISOString()) &&
        (await isHeld(giver, accountId, permissionOf(grantable)));
      return { one: { ...one, is_given: isGiven }, grantable, isGiven, present: located?.present };
    }),
  );
  const given = checked.filter(({ isGiven }) => isGiven);
  return {
    access: checked.map(({ one }) => one),
    given: given.map(({ grantable }) => grantable),
    unchanged: [
      ...given.flatMap(({ present }) => (present ? [present] : [])),
      // A concurrent deletion of one of these roles fails, because this write changes the version of the roles.
      ...(given.some(({ one }) => isCustom(one)) ? [rolesWrite(accountId, own, own.roles)] : []),
    ],
  };
}

type Ending = { expires_at?: string | undefined };

/** Whether a permission ends later than another. A permission without an end ends last. */
const isLonger = ({ expires_at: end }: Ending, { expires_at: other }: Ending): boolean =>
  other !== undefined && (end === undefined || end > other);

/** The first of the permissions that end last; undefined if there are none. */
const longest = <T extends Ending>(permissions: readonly T[]): T | undefined =>
  permissions.find((permission) => !permissions.some((other) => isLonger(other, permission)));

/**
 * Plans to give permissions to a subject. Of equal permissions, only the one that ends last is given. If the subject
 * already holds a permission, no assignment is added. If the permission in the invitation ends later than the subject's
 * assignment, the assignment gets this later end.
 */
async function planGiven(
  table: Reader,
  accountId: string,
  subject: Subject,
  given: readonly Grantable[],
  { author, profile }: { author: { by: string; now: Date }; profile: Profile },
): Promise<{ writes: Write[]; changes: Change[] }> {
  const held = await readHeld(table, accountId, subject);
  if (given.some(({ kind }) => kind === "account_owner") && held?.owner_grant_id !== undefined) {
    const [ownership] = await getAssignments(table, accountId, [held.owner_grant_id]);
    if (ownership && ownership.expires_at === undefined) return { writes: [], changes: [] };
    if (ownership && isLive(ownership.expires_at, author.now.toISOString())) {
      return planNewEnds(table, accountId, [ownership], undefined);
    }
  }
  const wanted = given.filter((one) => longest(given.filter((other) => grantMatches(other, one))) === one);
  const isLiveNow = ({ expires_at }: Ending): boolean => isLive(expires_at, author.now.toISOString());
  const same = held?.grants.filter((grant) => isLiveNow(grant) && wanted.some((one) => grantMatches(grant, one))) ?? [];
  const present = await getAssignments(
    table,
    accountId,
    same.map(({ id }) => id),
  );
  const presentOf = (one: Grantable) => longest(present.filter((assignment) => grantMatches(assignment, one)));
  const added = wanted.filter((one) => !presentOf(one));
  const ends = wanted.flatMap((one): NewEnd[] => {
    const before = presentOf(one);
    return before && isLonger(one, before) ? [{ before, expires_at: one.expires_at }] : [];
  });
  return planAssignments(table, accountId, subject, added, author, profile, ends);
}
