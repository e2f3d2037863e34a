import * as z from "zod";

import { AccountParams } from "../../accounts/account.ts";
import { Capability, RoleKey } from "../../auth/capabilities.ts";
import { Scope } from "../../auth/permissions.ts";
import { defineKind } from "../../changes/kind.ts";
import { Id, ordinalOf } from "../../core/ids.ts";
import { lines, orNothing } from "../../core/text.ts";
import { dayMs, later, Timestamp } from "../../core/time.ts";
import { permissionMembers } from "../../grants/assignment.ts";
import type { Grantable } from "../../grants/assignments.ts";
import { TargetEmail } from "../../mail/forwarding/target.ts";
import { rowKey, type List } from "../../table/ranked-list.ts";
import type { Reader } from "../../table/table.ts";
import type { Key } from "../../table/writes.ts";
import { checkResource, GrantEnd, resourceMembers, roleOf, scopeOf } from "../authorizations.ts";

/*
 * The worker that sends the mail of an invitation generates the token of the link. Only the hash of the token is
 * stored.
 *
 * Access patterns
 *   invitations of an account, oldest first, and one by its id   ACCOUNT#<id> / LIST#invitations
 *   the last invitation of an address                            ACCOUNT#<id> / INVITED#<address>
 *   the invitation that a link belongs to                        INVITATION#<SHA-256 of its token> / TOKEN
 */
export const invitationsOf = (accountId: string): List => ({ partition: `ACCOUNT#${accountId}`, name: "invitations" });
/** The key of the invitation with this id. An id without an ordinal gets a key that no invitation has. */
export const invitationKey = (accountId: string, id: string): Key =>
  rowKey(invitationsOf(accountId), ordinalOf(id) ?? 2 ** 40);
export const invitedKey = (accountId: string, email: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `INVITED#${email}`,
});
export const tokenKey = (tokenHash: string): Key => ({ PK: `INVITATION#${tokenHash}`, SK: "TOKEN" });

/** How long an invitation can be accepted, in days. */
const validDays = 7;

/**
 * How long a link is still recognised after its invitation has expired, in milliseconds. In this time, the page can say
 * why the link does not work.
 */
const recognisedMs = 30 * dayMs;
/** The `ttl` of a link's token, in seconds since 1970. */
export const ttlOf = (expiresAt: string): number => Math.ceil((Date.parse(expiresAt) + recognisedMs) / 1_000);

export const InvitationParams = AccountParams.extend({
  invitation_id: Id.meta({ description: "The invitation's id." }),
});

/** The most roles and grants of an invitation together. One transaction has to give all of them. */
const mostAccess = 10;

const RoleName = z
  .string()
  .min(1)
  .max(64)
  .meta({ description: "The role: a key of `auth.roles.list`, such as `viewer`." });

const InvitedRole = z
  .strictObject({ role_key: RoleName, ...resourceMembers, expires_at: GrantEnd })
  .superRefine(checkResource);
const InvitedGrant = z
  .strictObject({
    capability_key: Capability.meta({ description: "The capability." }),
    ...resourceMembers,
    expires_at: GrantEnd,
  })
  .superRefine(checkResource);

export const NewInvitation = z
  .strictObject({
    email: TargetEmail.meta({ description: "The address of the person. The person has to sign in with this address." }),
    account_owner: z
      .boolean()
      .default(false)
      .meta({ description: "Whether the person becomes an owner of the account. An owner needs no roles or grants." }),
    roles: z.array(InvitedRole).max(mostAccess).default([]).meta({ description: "The roles that the person gets." }),
    grants: z
      .array(InvitedGrant)
      .max(mostAccess)
      .default([])
      .meta({
        description: `The capabilities that the person gets. Roles and capabilities together are ${mostAccess} at most.`,
      }),
    message: orNothing(lines({ most: 300, description: "A message to the person. The mail contains this message." })),
  })
  .superRefine(({ account_owner, roles, grants }, context) => {
    const complain = (name: string, message: string) => context.addIssue({ code: "custom", path: [name], message });
    const count = roles.length + grants.length;
    if (account_owner && count > 0) complain("account_owner", "An owner needs no roles or grants. Leave them out");
    if (!account_owner && count === 0) complain("roles", "Give a role, a grant, or account_owner");
    if (count > mostAccess) complain("grants", `Give ${mostAccess} roles and grants at most`);
  })
  .meta({
    id: "InvitationCreate",
    description: "A person to invite, and the permissions that the person gets.",
    examples: [{ email: "ada@example.com", roles: [{ role_key: "editor" }] }],
  });
export type NewInvitation = z.output<typeof NewInvitation>;

export const StoredAccess = z.object({
  kind: z.enum(["account_owner", "capability", "role", "custom_role"]),
  capability: Capability.optional(),
  role: RoleKey.optional(),
  /** The key of a role that the account has made. */
  custom_role: z.string().optional(),
  /**
   * When the role `custom_role` was created. A later role can get the key of a deleted role, and this time tells the
   * two apart. Absent in invitations of earlier versions, and for other permissions.
   */
  role_created_at: z.string().optional(),
  scope: Scope.optional(),
  expires_at: z.string().optional(),
  /** Whether the permission was given; absent until the invitation is accepted. */
  is_given: z.boolean().optional(),
});
export type StoredAccess = z.output<typeof StoredAccess>;

/** An invitation as it is stored. */
export const StoredInvitation = z.object({
  id: z.string(),
  email: z.string(),
  /** A pending invitation has expired when `expires_at` has passed. */
  state: z.enum(["pending", "accepted", "revoked"]),
  access: z.array(StoredAccess),
  message: z.string().nullable(),
  inviter: z.object({ type: z.enum(["user", "service_account"]), id: z.string(), email: z.string().nullable() }),
  /** The ids of the groups of the account that the inviter's token named. */
  inviter_groups: z.array(z.string()),
  created_at: z.string(),
  expires_at: z.string(),
  /**
   * The progress of the mail.
   * - `asked`: the mail has to be sent.
   * - `sending`: a worker is sending the mail.
   * - `mailed`: a server accepted the mail for delivery.
   * - `refused`: a server refused the mail permanently.
   */
  mail: z.enum(["asked", "sending", "mailed", "refused"]),
  /** No other worker sends the mail before this time. */
  lease_until: z.string(),
  /** SHA-256 of the token of the last mail, in hex. */
  token_hash: z.string().optional(),
  accepted_at: z.string().nullable(),
  accepted_by: z.string().nullable(),
  revoked_at: z.string().nullable(),
  version: z.int(),
});
export type StoredInvitation = z.output<typeof StoredInvitation>;

/** The members with which every invitation begins. Its mail still has to be sent. */
export const newInvitation = (id: string, now: Date) => ({
  id,
  state: "pending" as const,
  expires_at: later(now, validDays * dayMs),
  mail: "asked" as const,
  lease_until: "",
  accepted_at: null,
  accepted_by: null,
  revoked_at: null,
});

/** The invitation that a link belongs to. The invitation says whether the link is still valid. */
export const StoredToken = z.object({ account_id: z.string(), invitation_id: z.string() });

export const InvitationStatus = z.enum(["pending", "accepted", "revoked", "expired"]);
type Status = z.output<typeof InvitationStatus>;

export const InvitedAccess = z
  .object({
    ...permissionMembers,
    is_given: z.boolean().nullable().meta({
      description:
        "Whether the person got the permission. Null until the invitation is accepted. False if, at that time, the inviter no longer held the permission, the permission had ended, or its resource or role was deleted.",
    }),
  })
  .meta({ id: "InvitedAccess", description: "A role, a capability or the ownership that an invitation gives." });

export const Invitation = z
  .object({
    id: Id.meta({ description: "The invitation's id." }),
    email: z.string().meta({ description: "The address of the invited person." }),
    status: InvitationStatus.meta({ description: "A pending invitation can be accepted until `expires_at`." }),
    access: z.array(InvitedAccess).meta({ description: "The permissions that the person gets." }),
    message: z.string().nullable().meta({ description: "The message to the person." }),
    mail_status: z.enum(["queued", "sent", "refused"]).meta({
      description:
        "`queued`: the mail has not been sent yet. If it stays `queued` for longer than a few minutes, invite the address again. `sent`: a server accepted it for delivery. `refused`: the recipient's server does not accept mail to this address.",
    }),
    invited_by_id: Id.meta({ description: "The user or service account that invited the person." }),
    invited_by_email: z.string().nullable().meta({ description: "The address of the inviter, if it is known." }),
    created_at: Timestamp.meta({
      description: "When the invitation was created. A new invitation that replaces a pending one keeps this time.",
    }),
    expires_at: Timestamp.meta({ description: "Until when the invitation can be accepted." }),
    accepted_at: Timestamp.nullable().meta({ description: "When the invitation was accepted." }),
    accepted_by_user_id: Id.nullable().meta({ description: "The user who accepted the invitation." }),
    revoked_at: Timestamp.nullable().meta({ description: "When the invitation was revoked." }),
  })
  .meta({ id: "Invitation", description: "An invitation of a person to an account." });
export type Invitation = z.output<typeof Invitation>;

export const invitationKind = defineKind({
  name: "auth.invitation",
  verbs: ["created", "replaced", "accepted", "revoked"],
  view: Invitation,
  seenWith: "auth.manage",
});

export const invitationStatus = (
  { state, expires_at }: Pick<StoredInvitation, "state" | "expires_at">,
  now: Date,
): Status => (state === "pending" && expires_at <= now.toISOString() ? "expired" : state);

export const accessView = (access: readonly StoredAccess[]): z.output<typeof InvitedAccess>[] =>
  access.map(({ kind, capability, role, custom_role, scope, expires_at, is_given }) => ({
    kind: kind === "custom_role" ? "role" : kind,
    capability_key: capability ?? null,
    role_key: role ?? custom_role ?? null,
    resource_type: scope?.type ?? null,
    resource_id: scope?.id ?? null,
    expires_at: expires_at ?? null,
    is_given: is_given ?? null,
  }));

const mailStatus = { asked: "queued", sending: "queued", mailed: "sent", refused: "refused" } as const;

export const invitationView = (stored: StoredInvitation, now: Date): Invitation => ({
  id: stored.id,
  email: stored.email,
  status: invitationStatus(stored, now),
  access: accessView(stored.access),
  message: stored.message,
  mail_status: mailStatus[stored.mail],
  invited_by_id: stored.inviter.id,
  invited_by_email: stored.inviter.email,
  created_at: stored.created_at,
  expires_at: stored.expires_at,
  accepted_at: stored.accepted_at,
  accepted_by_user_id: stored.accepted_by,
  revoked_at: stored.revoked_at,
});

/** The permissions in an invitation, each with its path in the body. */
export function invitedAccess(
  accountId: string,
  { account_owner, roles, grants }: NewInvitation,
): { access: Grantable; path: (string | number)[] }[] {
  if (account_owner) return [{ access: { kind: "account_owner" }, path: ["account_owner"] }];
  return [
    ...roles.map(({ role_key, expires_at, ...resource }, index) => ({
      access: { ...roleOf(role_key), scope: scopeOf(accountId, resource), expires_at: expires_at ?? undefined },
      path: ["roles", index],
    })),
    ...grants.map(({ capability_key: capability, expires_at, ...resource }, index) => ({
      access: {
        kind: "capability" as const,
        capability,
        scope: scopeOf(accountId, resource),
        expires_at: expires_at ?? undefined,
      },
      path: ["grants", index],
    })),
  ];
}

/** One permission of a stored invitation, in the form that can be granted. */
export function grantableOf({ kind, capability, role, custom_role, scope, expires_at }: StoredAccess): Grantable {
  if (kind === "role" && role !== undefined) return { kind, role, scope, expires_at };
  if (kind === "custom_role" && custom_role !== undefined) return { kind, custom_role, scope, expires_at };
  if (kind === "capability" && capability !== undefined) return { kind, capability, scope, expires_at };
  return { kind: "account_owner" };
}

/** An invitation by its id; undefined if the account does not have it. */
export async function findInvitation(
  table: Reader,
  accountId: string,
  id: string,
): Promise<StoredInvitation | undefined> {
  const stored = await table.get(invitationKey(accountId, id), StoredInvitation);
  return stored?.id === id ? stored : undefined;
}
