import * as z from "zod";

import { claimedGroups, noRoles, type RolesRecord } from "../../accounts/standing.ts";
import { emailOf } from "../../auth/principal.ts";
import { change } from "../../changes/kind.ts";
import { invalidAt, InvalidInput, notFound, Problem } from "../../core/errors.ts";
import { requireFeature } from "../../core/features.ts";
import { idWithOrdinal } from "../../core/ids.ts";
import { type OrderedPage, spanOf } from "../../core/page.ts";
import { capabilitiesGiven, requireEffect, type Grantable } from "../../grants/assignments.ts";
import type { Context, Expected } from "../../http/route.ts";
import { planMail, aheadOfMails } from "../../mail/forwarding/request.ts";
import { aheadOfList, aheadOfRows, appendRows, readHeads, readList, readRows } from "../../table/ranked-list.ts";
import type { Ahead } from "../../table/read-ahead.ts";
import type { Reader } from "../../table/table.ts";
import type { Item, Write } from "../../table/writes.ts";
import { permissionOf } from "../authorizations.ts";
import { requireToHold } from "../escalation.ts";
import { readRoles } from "../roles.ts";
import { aheadOfScope, locate } from "../scopes.ts";
import {
  findInvitation,
  type Invitation,
  invitationKey,
  invitationKind,
  invitationsOf,
  invitationView,
  invitedAccess,
  invitedKey,
  newInvitation,
  type NewInvitation,
  invitationStatus,
  StoredAccess,
  StoredInvitation,
} from "./invitation.ts";

const LastInvited = z.object({ id: z.string() });

/**
 * Runs a check of a part of the body. Puts the path of this part into the locations of the errors that the check
 * throws.
 */
function at(path: readonly (string | number)[], check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    throw new InvalidInput(error.errors.map((one) => ({ ...one, loc: ["body", ...path, ...one.loc.slice(1)] })));
  }
}

/** Items that `createInvitation` reads. */
export function aheadOfInvitation(accountId: string, body: NewInvitation, expected: Expected, now: Date): Ahead {
  const scopes = invitedAccess(accountId, body).flatMap(({ access }) => {
    const scope = "scope" in access ? access.scope : undefined;
    return scope ? aheadOfScope(accountId, scope, expected) : [];
  });
  const mails = aheadOfMails(accountId, [body.email], now);
  return aheadOfList(invitationsOf(accountId), [], [invitedKey(accountId, body.email), ...mails, ...scopes]);
}

const readRolesNamed = async (
  table: Reader,
  accountId: string,
  invited: readonly { access: Grantable }[],
): Promise<RolesRecord> =>
  invited.some(({ access }) => access.kind === "custom_role") ? readRoles(table, accountId) : noRoles;

/**
 * Checks that the caller may give the permissions in the body, and that each has an effect. Returns the permissions in
 * their stored form.
 */
async function checkAccess(accountId: string, body: NewInvitation, context: Context): Promise<StoredAccess[]> {
  const invited = invitedAccess(accountId, body);
  const own = await readRolesNamed(context.table, accountId, invited);
  for (const { access, path } of invited) {
    if (access.kind === "custom_role" && !Object.hasOwn(own.roles, access.custom_role)) {
      const msg = "There is no such role in this account (auth.roles.list shows the roles)";
      throw invalidAt(["body", ...path, "role_key"], msg, "not_found");
    }
    at(path, () => requireEffect(access, capabilitiesGiven(access, own)));
    const scope = "scope" in access ? access.scope : undefined;
    if (scope && !(await locate(context.table, accountId, scope))) {
      const msg = `There is no such ${scope.type} in this account`;
      throw invalidAt(["body", ...path, "resource_id"], msg, "not_found");
    }
  }
  const permissions = invited.map(({ access }) => permissionOf(access));
  await requireToHold(context, accountId, permissions);
  return invited.map(({ access }) => {
    const role = access.kind === "custom_role" ? own.roles[access.custom_role] : undefined;
    return StoredAccess.parse({ ...access, ...(role ? { role_created_at: role.created_at } : {}) });
  });
}

/**
 * Invites a person by e-mail. The recorded change causes an event, and a worker that gets the event sends the mail. An
 * address has at most one pending invitation. A new invitation replaces the pending invitation, and the link in the
 * earlier mail no longer works. Throws:
 * - 403 `would_escalate` if the caller does not hold the permissions of the invitation;
 * - 409 `mail_unavailable` if the deployment sends no mail;
 * - 422 for a resource or role that the account does not have;
 * - 422 for a capability or role that has no effect on its resource;
 * - 429 if a limit on mails to strangers is reached.
 */
export async function createInvitation(accountId: string, body: NewInvitation, context: Context): Promise<Invitation> {
  requireFeature("mail");
  const { table, commit, principal, now } = context;
  const access = await checkAccess(accountId, body, context);
  const inviter = { type: principal.type, id: principal.id, email: emailOf(principal) ?? null };
  const inviter_groups = claimedGroups(principal, accountId);
  return commit(async () => {
    const invitedAt = now();
    const pointerKey = invitedKey(accountId, body.email);
    const [{ state, others }, mailCounts] = await Promise.all([
      readList(table, invitationsOf(accountId), [], [pointerKey]),
      planMail(table, accountId, body.email, invitedAt),
    ]);
    const pointer = others[0] && LastInvited.parse(others[0]);
    const last = pointer && (await findInvitation(table, accountId, pointer.id));
    const before = last && invitationStatus(last, invitedAt) === "pending" ? last : undefined;
    const invitation: StoredInvitation = {
      ...newInvitation(before?.id ?? idWithOrdinal(state.next), invitedAt),
      email: body.email,
      access,
      message: body.message ?? null,
      inviter,
      inviter_groups,
      created_at: before?.created_at ?? invitedAt.toISOString(),
      version: (before?.version ?? 0) + 1,
    };
    const after = invitationView(invitation, invitedAt);
    if (before) {
      const { id, version } = before;
      const views = { before: invitationView(before, invitedAt), after };
      const put: Write = { put: { ...invitationKey(accountId, id), ...invitation }, if: { id, version } };
      return { value: after, writes: [put, ...mailCounts], changes: [change(invitationKind, "replaced", id, views)] };
    }
    const { id } = invitation;
    const pointed: Write = { put: { ...pointerKey, id }, if: pointer ? { id: pointer.id } : "absent" };
    const writes = [...appendRows(state, [invitation]), pointed, ...mailCounts];
    return { value: after, writes, changes: [change(invitationKind, "created", id, { after })] };
  });
}

type InvitationPage = OrderedPage & { status?: Invitation["status"] | undefined };

/** The most invitations that are filtered by their status, one by one. */
const mostFiltered = 20_000;

/**
 * The items that `listInvitations` reads. If the query names a status, these are all invitations. A pending invitation
 * expires without a write, so no stored list can have exactly the invitations with one status.
 */
export function aheadOfInvitations(accountId: string, { status, ...page }: InvitationPage): Ahead {
  const list = invitationsOf(accountId);
  if (status === undefined) return aheadOfRows(list, spanOf(page));
  const { keys = [], ...rows } = aheadOfRows(list, { skip: 0, take: mostFiltered });
  return { ...rows, keys: [...keys, ...keys] };
}

function requireFew(count: number): void {
  if (count <= mostFiltered) return;
  const msg = `There are more than ${mostFiltered.toLocaleString("en-US")} invitations, too many to filter. List the invitations without a status`;
  throw invalidAt(["query", "status"], msg, "too_broad");
}

/**
 * A page of the invitations of an account. If the query names a status, the list has only invitations with this status.
 * Throws 422 `too_broad` if more than 20,000 invitations would have to be filtered.
 */
export async function listInvitations(
  accountId: string,
  { status, ...page }: InvitationPage,
  { table, now }: Pick<Context, "table" | "now">,
): Promise<{ items: Invitation[]; total: number }> {
  const list = invitationsOf(accountId);
  const view = (row: Item): Invitation => invitationView(StoredInvitation.parse(row), now());
  if (status === undefined) {
    const { rows, total } = await readRows(table, list, spanOf(page));
    return { items: rows.map(view), total };
  }
  const [head] = await readHeads(table, [list]);
  requireFew(head?.live ?? 0);
  const { rows, total } = await readRows(table, list, { skip: 0, take: mostFiltered });
  requireFew(total);
  const matching = rows.map(view).filter((one) => one.status === status);
  const { skip, take } = spanOf(page);
  const ordered = page.order === "desc" ? matching.toReversed() : matching;
  return { items: ordered.slice(skip, skip + take), total: matching.length };
}

export const invitationUsed = (detail: string): Problem => new Problem("invitation_used", detail);

/** The items that `revokeInvitation` reads. */
export const aheadOfInvitationById = (accountId: string, id: string): Ahead => ({
  keys: [invitationKey(accountId, id)],
});

/**
 * Revokes an invitation. The link of the invitation then no longer works. An invitation that was revoked before stays
 * as it is. Throws:
 * - 404 if the account does not have the invitation;
 * - 409 `invitation_used` if the invitation was accepted.
 */
export function revokeInvitation(accountId: string, id: string, { table, commit, now }: Context): Promise<void> {
  return commit(async () => {
    const before = await findInvitation(table, accountId, id);
    if (!before) throw notFound();
    if (before.state === "accepted") {
      throw invitationUsed("The invitation was accepted. Revoke the grants and roles of the user who accepted it.");
    }
    if (before.state === "revoked") return { value: undefined, writes: [], changes: [] };
    const revokedAt = now();
    const set = { state: "revoked" as const, revoked_at: revokedAt.toISOString() };
    const { version } = before;
    const views = {
      before: invitationView(before, revokedAt),
      after: invitationView({ ...before, ...set }, revokedAt),
    };
    return {
      value: undefined,
      writes: [{ update: invitationKey(accountId, id), set, add: { version: 1 }, if: { id, version } }],
      changes: [change(invitationKind, "revoked", id, views)],
    };
  });
}
