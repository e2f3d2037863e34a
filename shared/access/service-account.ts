import * as z from "zod";

import { AccountParams } from "../accounts/account.ts";
import { accessKey } from "../accounts/standing.ts";
import { type MintedToken, lastUses, mintServiceToken, planTokenEnds, tokenWrite } from "../auth/service-token.ts";
import { change, defineKind, type Change } from "../changes/kind.ts";
import { Problem, notFound } from "../core/errors.ts";
import { Id, timeOrderedId } from "../core/ids.ts";
import { Timestamp } from "../core/time.ts";
import { getAssignments, planRevocation } from "../grants/assignments.ts";
import { readHeld, aheadOfHolder, planForgotten, type HolderChange } from "../grants/holders.ts";
import type { Context } from "../http/route.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import { handedByServiceAccount, requireToHold } from "./escalation.ts";
import { leaveGroups, planLeaving } from "./groups/members.ts";

export const ServiceAccountParams = AccountParams.extend({
  service_account_id: Id.meta({ description: "The service account's id." }),
});

export const ServiceAccount = z
  .object({
    id: Id.meta({ description: "The service account's id." }),
    account_id: Id.meta({ description: "The account that the service account belongs to." }),
    name: z.string().meta({ description: "The service account's name." }),
    token_prefix: z.string().meta({ description: "The beginning of the token, to recognize it." }),
    token_last4: z.string().meta({ description: "The end of the token." }),
    token_public_id: z.string().meta({ description: "The part of the token that is not secret." }),
    created_at: Timestamp.meta({ description: "When the service account was created." }),
    created_by_user_id: Id.meta({ description: "The user or service account that created it." }),
    expires_at: Timestamp.nullable().meta({ description: "When the token expires. Null if it never expires." }),
    last_used_at: Timestamp.nullable().meta({
      description: "When one of its tokens was last used, accurate to an hour.",
    }),
    revoked_at: Timestamp.nullable().meta({
      description: "When the service account was revoked. Null if it was not revoked.",
    }),
  })
  .meta({ id: "ServiceAccount", description: "An identity for programs, with tokens of its own." });

export const serviceAccountKind = defineKind({
  name: "auth.service_account",
  verbs: ["created", "rotated", "revoked"],
  view: ServiceAccount,
  seenWith: "auth.manage",
});

export const ServiceAccountWithToken = ServiceAccount.extend({
  token: z.string().meta({ description: "The access token. It is shown only once. Only its hash is stored." }),
}).meta({ id: "ServiceAccountWithToken", description: "A service account with its new token." });

/*
 * Access patterns
 *   service accounts of an account, oldest first, and one by id   ACCOUNT#<id> / SERVICE_ACCOUNT#<id>
 *   the grants and groups of one                                  its access record (shared/accounts/standing.ts)
 *   its tokens                                                    TOKEN#<public id> (shared/auth/service-token.ts)
 */
const serviceAccountKey = (accountId: string, id: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `SERVICE_ACCOUNT#${id}`,
});

const Stored = ServiceAccount.extend({
  /** The last use before the last rotation. Later uses are stored with its tokens. */
  last_used_at: ServiceAccount.shape.last_used_at.default(null),
  /** The public ids of the tokens that may still work, the newest last. */
  public_ids: z.array(z.string()),
  version: z.int(),
});
type Stored = z.output<typeof Stored>;
type ServiceAccountView = z.output<typeof ServiceAccount>;
type WithToken = z.output<typeof ServiceAccountWithToken>;

const tokenFields = ({ token, publicId }: MintedToken) => ({
  token_prefix: token.slice(0, 8),
  token_last4: token.slice(-4),
  token_public_id: publicId,
});

async function readServiceAccount(table: Reader, accountId: string, id: string): Promise<Stored> {
  const stored = await table.get(serviceAccountKey(accountId, id), Stored);
  if (!stored) throw notFound();
  return stored;
}

const put = (stored: Stored): Write => ({
  put: { ...serviceAccountKey(stored.account_id, stored.id), ...stored },
  if: stored.version === 1 ? "absent" : { version: stored.version - 1 },
});

type NewServiceAccount = {
  accountId: string;
  name: string;
  expiresAt?: string | null | undefined;
  by: string;
  now: Date;
  id?: string;
};

/** The writes of a new service account that holds nothing, with its first token. */
export function planServiceAccount(input: NewServiceAccount, minted: MintedToken): { stored: Stored; writes: Write[] } {
  const { accountId, name, by, now, id = timeOrderedId(now), expiresAt = null } = input;
  const stored: Stored = {
    id,
    account_id: accountId,
    name,
    ...tokenFields(minted),
    created_at: now.toISOString(),
    created_by_user_id: by,
    expires_at: expiresAt,
    last_used_at: null,
    revoked_at: null,
    public_ids: [minted.publicId],
    version: 1,
  };
  const record: Write = {
    put: { ...accessKey(accountId, { type: "service_account", id }), grants: [], groups: [], version: 1 },
    if: "absent",
  };
  return { stored, writes: [put(stored), record, tokenWrite({ id, accountId, minted, expiresAt })] };
}

/** Creates a service account without permissions. Its token is in the answer and stored nowhere else. */
export async function createServiceAccount(
  accountId: string,
  input: { name: string; expires_at?: string | null | undefined },
  { commit, principal, now }: Context,
): Promise<WithToken> {
  const minted = mintServiceToken();
  const { stored, writes } = planServiceAccount(
    { accountId, name: input.name, expiresAt: input.expires_at, by: principal.id, now: now() },
    minted,
  );
  const changes = [change(serviceAccountKind, "created", stored.id, { after: stored })];
  return commit(async () => ({ value: { ...stored, token: minted.token }, writes, changes }));
}

const rangeOf = (accountId: string): { partition: string; from: string; to: string } => ({
  partition: serviceAccountKey(accountId, "").PK,
  from: serviceAccountKey(accountId, "").SK,
  to: serviceAccountKey(accountId, "~").SK,
});

/** The items that `listServiceAccounts` reads first. */
export const aheadOfServiceAccounts = (accountId: string): Ahead => ({ ranges: [rangeOf(accountId)] });

/** The items that `rotateServiceAccount` and `revokeServiceAccount` read first, with the record for three reads. */
export const aheadOfServiceAccount = (accountId: string, id: string): Ahead => ({
  keys: [serviceAccountKey(accountId, id), ...aheadOfHolder(accountId, { type: "service_account", id }, { times: 3 })],
});

/** All service accounts of an account, oldest first, the revoked ones too. */
export async function listServiceAccounts(accountId: string, { table }: Context): Promise<ServiceAccountView[]> {
  const { partition, from, to } = rangeOf(accountId);
  const items = await table.between(partition, from, to);
  const stored = items.map((item) => Stored.parse(item));
  const used = await lastUses(
    table,
    stored.flatMap(({ public_ids }) => public_ids),
  );
  return stored.map((one) => ({ ...one, last_used_at: lastUse(one, used) }));
}

/** When any token of a service account was last used. `used` has the last uses of its present tokens. */
function lastUse({ public_ids, last_used_at }: Stored, used: ReadonlyMap<string, string>): string | null {
  const uses = [...(last_used_at === null ? [] : [last_used_at]), ...public_ids.flatMap((id) => used.get(id) ?? [])];
  return uses.toSorted().at(-1) ?? null;
}

/** The number of tokens that may work at the same time, so that one transaction can end them all. */
const liveLimit = 20;

/**
 * Creates a new token. The old ones stay valid for `overlapSeconds`; with 0 they end at once. Throws:
 * - 403 `would_escalate` unless the caller holds all permissions of the service account;
 * - 404 for an unknown or revoked service account;
 * - 409 `limit_reached` while too many old tokens still work;
 * - 409 `service_account_expired` if it has expired.
 */
export async function rotateServiceAccount(
  accountId: string,
  id: string,
  overlapSeconds: number,
  context: Context,
): Promise<WithToken> {
  const { table, commit, now } = context;
  const minted = mintServiceToken();
  return commit(async () => {
    const old = await readServiceAccount(table, accountId, id);
    if (old.revoked_at !== null) throw notFound();
    const { handed, unchanged } = await handedByServiceAccount(table, accountId, id);
    await requireToHold(context, accountId, handed);
    const at = now();
    if (old.expires_at !== null && old.expires_at <= at.toISOString()) {
      throw new Problem(
        "service_account_expired",
        "The service account has expired, so a new token would not work. Create another service account.",
      );
    }
    const end = new Date(at.getTime() + overlapSeconds * 1000).toISOString();
    const [{ live, writes }, used] = await Promise.all([
      planTokenEnds(table, old.public_ids, overlapSeconds === 0 ? { revoked: at } : { expires: end }, at),
      lastUses(table, old.public_ids),
    ]);
    const kept = overlapSeconds === 0 ? [] : live;
    if (kept.length >= liveLimit) {
      throw new Problem(
        "limit_reached",
        `The service account already has ${liveLimit} working tokens. Rotate with overlap_seconds 0 to end them.`,
      );
    }
    const rotated: Stored = {
      ...old,
      ...tokenFields(minted),
      last_used_at: lastUse(old, used),
      public_ids: [...kept, minted.publicId],
      version: old.version + 1,
    };
    const token = tokenWrite({ id, accountId, minted, expiresAt: old.expires_at });
    return {
      value: { ...rotated, token: minted.token },
      writes: [put(rotated), token, ...writes, ...unchanged],
      changes: [change(serviceAccountKind, "rotated", id, { before: old, after: rotated })],
    };
  });
}

/**
 * Revokes a service account, its tokens, its grants and its memberships, from the next request on. Throws 404, and 403
 * `would_escalate` if the service account owns the account and the caller does not.
 */
export async function revokeServiceAccount(accountId: string, id: string, context: Context): Promise<void> {
  const { table, commit, now } = context;
  const held = await readHeld(table, accountId, { type: "service_account", id });
  if (held?.owner_grant_id !== undefined) await requireToHold(context, accountId, ["account_owner"]);
  const isPurged = await commit(async () => {
    const old = await readServiceAccount(table, accountId, id);
    // An earlier revocation may have ended half-way. This one removes the rest.
    if (old.revoked_at !== null && held) return { value: false, writes: [], changes: [] };
    if (old.revoked_at !== null) throw notFound();
    const revoked = { ...old, revoked_at: now().toISOString(), version: old.version + 1 };
    const [{ writes }, purge] = await Promise.all([
      planTokenEnds(table, old.public_ids, { revoked: now() }, now()),
      planPurge(table, accountId, id, now()),
    ]);
    return {
      value: purge !== undefined,
      writes: [put(revoked), ...writes, ...(purge?.writes ?? [])],
      changes: [change(serviceAccountKind, "revoked", id, { before: old, after: revoked }), ...(purge?.changes ?? [])],
    };
  });
  if (!isPurged) await purgeServiceAccount(context, accountId, id);
}

/**
 * The number of assignments that one transaction revokes. Each takes up to four of the hundred writes of a transaction.
 */
const revocationsPerTransaction = 20;

/** How many grants and groups one transaction removes together with the service account itself. */
const [fewGrants, fewGroups] = [12, 4];

/**
 * Plans the revocation of all permissions of a service account, its removal from its groups, and the deletion of its
 * record; undefined if this does not fit into one transaction.
 */
async function planPurge(
  table: Reader,
  accountId: string,
  id: string,
  now: Date,
): Promise<{ writes: Write[]; changes: Change[] } | undefined> {
  const subject = { type: "service_account" as const, id };
  const held = await readHeld(table, accountId, subject);
  if (!held) return { writes: [], changes: [] };
  const { grants, groups, owner_grant_id } = held;
  if (grants.length > fewGrants || groups.length > fewGroups) return undefined;
  const ids = [...grants.map((grant) => grant.id), ...(owner_grant_id === undefined ? [] : [owner_grant_id])];
  const [left, assignments] = await Promise.all([
    planLeaving(table, accountId, subject, groups),
    getAssignments(table, accountId, ids),
  ]);
  const forgotten: HolderChange = { subject, change: left.holder, forget: true };
  const revoked = await planRevocation(table, accountId, assignments, now, [forgotten]);
  const { SK } = accessKey(accountId, subject);
  // Its grants were read twice. If it got another grant in between, this plan would not remove everything.
  if (!revoked.writes.some((write) => "delete" in write && write.delete.SK === SK)) return undefined;
  return { writes: [...left.writes, ...revoked.writes], changes: [...left.changes, ...revoked.changes] };
}

/**
 * Revokes all permissions of a service account, removes it from its groups and deletes its record, in several
 * transactions. Its tokens are invalid already, so the remaining grants give no access.
 */
async function purgeServiceAccount(
  { table, commit, now }: Pick<Context, "table" | "commit" | "now">,
  accountId: string,
  id: string,
): Promise<void> {
  const subject = { type: "service_account" as const, id };
  for (let isForgotten = false; !isForgotten;) {
    isForgotten = await commit(async () => {
      const held = await readHeld(table, accountId, subject);
      if (!held) return { value: true, writes: [], changes: [] };
      const grants = held.grants.map((grant) => grant.id);
      const ids = held.owner_grant_id === undefined ? grants : [...grants, held.owner_grant_id];
      const some = await getAssignments(table, accountId, ids.slice(0, revocationsPerTransaction));
      if (some.length > 0) return { value: false, ...(await planRevocation(table, accountId, some, now())) };
      const writes = await planForgotten(table, accountId, subject);
      return { value: writes.length > 0, writes, changes: [], housekeeping: true };
    });
    const held = isForgotten ? undefined : await readHeld(table, accountId, subject);
    // Groups are left last, when the record is short, because leaving one rewrites it.
    if (held?.grants.length === 0) await leaveGroups({ table, commit }, accountId, subject, held.groups);
  }
}
