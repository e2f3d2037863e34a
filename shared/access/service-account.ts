import * as z from "zod";

import { AccountParams } from "../accounts/account.ts";
import { accessKey } from "../accounts/standing.ts";
import { type MintedToken, lastUses, mintServiceToken, planTokenEnds, tokenWrite } from "../auth/service-token.ts";
import { change, defineKind, type Change } from "../changes/kind.ts";
import { ttlOfEnded } from "../changes/record.ts";
import type { ChangePlan } from "../changes/recorder.ts";
import { invalidAt, Problem, notFound } from "../core/errors.ts";
import { Id, timeOrderedId } from "../core/ids.ts";
import { line } from "../core/text.ts";
import { dayMs, later, Timestamp } from "../core/time.ts";
import { getAssignments, grantQueue, planRevocation } from "../grants/assignments.ts";
import { readHeld, aheadOfHolder, planForgotten, type HolderChange, type Subject } from "../grants/holders.ts";
import type { Context } from "../http/route.ts";
import { dueKey, dueWrite } from "../table/due.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Range } from "../table/reads.ts";
import type { Reader, Table } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import { ownershipIn, permissionsOfServiceAccount, requireToHold } from "./escalation.ts";
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
    created_by_user_id: Id.meta({ description: "The user or service account that created this service account." }),
    expires_at: Timestamp.nullable().meta({ description: "When the token expires. Null if it never expires." }),
    last_used_at: Timestamp.nullable().meta({
      description: "When a token of the service account was last used, accurate to an hour. Null if none was used.",
    }),
    revoked_at: Timestamp.nullable().meta({
      description: "When the service account was revoked. Null if it was not revoked.",
    }),
  })
  .meta({ id: "ServiceAccount", description: "An identity for programs, with tokens of its own." });

export const serviceAccountKind = defineKind({
  name: "auth.service_account",
  verbs: ["created", "updated", "rotated", "expiring", "revoked"],
  view: ServiceAccount,
  seenWith: "auth.manage",
});

export const ServiceAccountName = line({ most: 120, description: "The service account's name." });

export const ServiceAccountWithToken = ServiceAccount.extend({
  token: z.string().meta({ description: "The access token. It is shown only once. Only its hash is stored." }),
}).meta({ id: "ServiceAccountWithToken", description: "A service account with its new token." });

/*
 * Access patterns
 *   service accounts of an account, oldest first, and one by id   ACCOUNT#<id> / SERVICE_ACCOUNT#<id>
 *   the grants and groups of a service account                    its access record (shared/accounts/standing.ts)
 *   the tokens of a service account                               TOKEN#<public id> (shared/auth/service-token.ts)
 */
export const serviceAccountKey = (accountId: string, id: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `SERVICE_ACCOUNT#${id}`,
});

const Stored = ServiceAccount.extend({
  /** The last use before the last rotation. Later uses are stored with the tokens. */
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

/** The item that `requireUnexpired` reads. */
export const aheadOfUnexpired = (accountId: string, { type, id }: Subject): Key[] =>
  type === "service_account" ? [serviceAccountKey(accountId, id)] : [];

/** Throws 422 at `subject_id` if the subject is a service account that has expired. */
export async function requireUnexpired(table: Reader, accountId: string, subject: Subject, now: Date): Promise<void> {
  if (subject.type !== "service_account") return;
  const stored = await table.get(serviceAccountKey(accountId, subject.id), Stored);
  if (stored && hasExpired(stored, now))
    throw invalidAt(["body", "subject_id"], "This service account has expired", "not_found");
}

const hasExpired = ({ expires_at }: Pick<Stored, "expires_at">, now: Date): boolean =>
  expires_at !== null && expires_at <= now.toISOString();

/**
 * The write that stores a new version of a service account. The write fails unless the preceding version is stored now.
 * A revoked service account is kept for 400 days. Service accounts that earlier versions of the product revoked have no
 * `ttl`, so they stay.
 */
const putWrite = (stored: Stored): Write => ({
  put: {
    ...serviceAccountKey(stored.account_id, stored.id),
    ...stored,
    ...(stored.revoked_at === null ? {} : { ttl: ttlOfEnded(new Date(stored.revoked_at)) }),
  },
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

/** The writes of a new service account without permissions, and of its first token. */
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
  const token = tokenWrite({ id, accountId, minted, expiresAt });
  return { stored, writes: [putWrite(stored), record, token, ...taskWrites(stored, now)] };
}

/** The owners of the account get a notice this many days before a service account expires. */
const noticeDays = [7, 1];

/** An expired service account is revoked this many days after it expired, so that no list shows it for ever. */
const expiredDays = 400;

type TaskOwner = Pick<Stored, "account_id" | "id">;
const noticeTask = ({ account_id, id }: TaskOwner) => [account_id, `token/${id}`] as const;
const revocationTask = ({ account_id, id }: TaskOwner) => [account_id, `expired/${id}`] as const;

/**
 * The tasks for the notices before a service account expires, and for its revocation after it has expired. A time that
 * has passed gets no task. A time after the year 9999 gets no task either: `later` writes it with a plus sign, which
 * sorts before all digits, so the time seems to have passed.
 */
const futureTasks = (stored: Stored, now: Date) => {
  const { expires_at } = stored;
  if (expires_at === null) return [];
  const tasks = [
    ...noticeDays.map((days) => ({ task: noticeTask(stored), at: later(new Date(expires_at), -days * dayMs) })),
    { task: revocationTask(stored), at: revocationOf(expires_at) },
  ];
  return tasks.filter(({ at }) => at > now.toISOString());
};

const taskWrites = (stored: Stored, now: Date): Write[] =>
  futureTasks(stored, now).map(({ task, at }) => dueWrite(grantQueue, task, at));

/** Queues the missing tasks of an account's service accounts. Version 0.1.0 created service accounts without tasks. */
export async function queueExpiries(table: Table, accountId: string, now: Date): Promise<void> {
  const { partition, from, to } = serviceAccountRange(accountId);
  for (const row of await table.between(partition, from, to)) {
    const { id } = Stored.parse(row);
    await table.commit(async () => {
      const stored = await readServiceAccount(table, accountId, id);
      const tasks = stored.revoked_at === null ? futureTasks(stored, now) : [];
      const found = await table.getMany(tasks.map(({ task, at }) => dueKey(grantQueue, task, at)));
      const missing = tasks.filter((_, index) => !found[index]);
      const unchanged: Write = { check: serviceAccountKey(accountId, id), if: { version: stored.version } };
      const writes = missing.map(({ task, at }) => dueWrite(grantQueue, task, at));
      return { value: undefined, writes: writes.length === 0 ? [] : [...writes, unchanged] };
    });
  }
}

const revocationOf = (expiresAt: string): string => later(new Date(expiresAt), expiredDays * dayMs);

/**
 * Plans the event that a service account expires soon, for the task that is due at `at`, and the removal of the task.
 * Records no event if the service account was revoked or has expired, or if a later notice is due too. The event is
 * recorded at most once for each task.
 */
export async function planExpiryNotice(
  table: Reader,
  accountId: string,
  id: string,
  at: string,
  now: Date,
): Promise<Pick<ChangePlan<void>, "writes" | "changes">> {
  const due = dueKey(grantQueue, noticeTask({ account_id: accountId, id }), at);
  const [task, stored] = await Promise.all([
    table.get(due, z.object({})),
    table.get(serviceAccountKey(accountId, id), Stored),
  ]);
  if (!task) return { writes: [], changes: [] };
  const end = stored?.revoked_at === null ? stored.expires_at : null;
  const dates = end === null ? [] : [...noticeDays, 0].map((days) => later(new Date(end), -days * dayMs));
  const isOvertaken = dates.some((date) => date > at && date <= now.toISOString());
  const isNews = stored !== undefined && end !== null && !isOvertaken;
  return {
    writes: [{ delete: due, if: "present" }],
    changes: isNews ? [change(serviceAccountKind, "expiring", id, { after: stored })] : [],
  };
}

/** Creates a service account without permissions. Only this answer has its token; the table stores only a hash. */
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

/** The range of the service accounts of an account. */
export const serviceAccountRange = (accountId: string): Range => ({
  partition: serviceAccountKey(accountId, "").PK,
  from: serviceAccountKey(accountId, "").SK,
  to: serviceAccountKey(accountId, "~").SK,
});

/** The items that `listServiceAccounts` reads first. */
export const aheadOfServiceAccounts = (accountId: string): Ahead => ({ ranges: [serviceAccountRange(accountId)] });

/**
 * The items that `rotateServiceAccount` and `revokeServiceAccount` read first. The access record is listed three times,
 * because `revokeServiceAccount` reads it several times.
 */
export const aheadOfServiceAccount = (accountId: string, id: string): Ahead => ({
  keys: [serviceAccountKey(accountId, id), ...aheadOfHolder(accountId, { type: "service_account", id }, { times: 3 })],
});

/**
 * All service accounts of an account, oldest first, including the service accounts that were revoked in the last 400
 * days.
 */
export async function listServiceAccounts(accountId: string, { table }: Context): Promise<ServiceAccountView[]> {
  const { partition, from, to } = serviceAccountRange(accountId);
  const items = await table.between(partition, from, to);
  const stored = items.map((item) => Stored.parse(item));
  const used = await lastUses(
    table,
    stored.flatMap(({ public_ids }) => public_ids),
  );
  return stored.map((account) => ({ ...account, last_used_at: lastUse(account, used) }));
}

/** When a token of a service account was last used; null if never. `used` has the last uses of the present tokens. */
function lastUse({ public_ids, last_used_at }: Stored, used: ReadonlyMap<string, string>): string | null {
  const uses = [...(last_used_at === null ? [] : [last_used_at]), ...public_ids.flatMap((id) => used.get(id) ?? [])];
  return uses.toSorted().at(-1) ?? null;
}

/** The item that `renameServiceAccount` reads first. */
export const aheadOfRenaming = (accountId: string, id: string): Ahead => ({ keys: [serviceAccountKey(accountId, id)] });

/** Renames a service account. Throws 404 if the service account is unknown or revoked. */
export function renameServiceAccount(
  accountId: string,
  id: string,
  name: string,
  { table, commit }: Context,
): Promise<ServiceAccountView> {
  return commit(async () => {
    const before = await readServiceAccount(table, accountId, id);
    if (before.revoked_at !== null) throw notFound();
    const last_used_at = lastUse(before, await lastUses(table, before.public_ids));
    if (before.name === name) return { value: { ...before, last_used_at }, writes: [], changes: [] };
    const after = { ...before, name, version: before.version + 1 };
    return {
      value: { ...after, last_used_at },
      writes: [putWrite(after)],
      changes: [change(serviceAccountKind, "updated", id, { before, after })],
    };
  });
}

/** The most tokens of a service account that work at the same time. One transaction must be able to end all of them. */
export const liveLimit = 20;

/**
 * Creates a new token. The old tokens stay valid for at most `overlapSeconds`; with 0 they end at once. Throws:
 * - 403 `would_escalate` unless the caller holds all permissions of the service account;
 * - 404 for an unknown or revoked service account;
 * - 409 `limit_reached` while too many old tokens still work;
 * - 409 `service_account_expired` if the service account has expired.
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
    const { permissions, unchanged } = await permissionsOfServiceAccount(table, accountId, id, now());
    await requireToHold(context, accountId, permissions);
    const at = now();
    if (hasExpired(old, at)) {
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
        `The service account already has ${liveLimit} working tokens. Rotate with overlap_seconds 0 to end the old tokens.`,
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
      writes: [putWrite(rotated), token, ...writes, ...unchanged, ...taskWrites(rotated, at)],
      changes: [change(serviceAccountKind, "rotated", id, { before: old, after: rotated })],
    };
  });
}

/**
 * Revokes a service account, its tokens, its grants and its memberships. The revocation applies from the next request
 * on. Throws:
 * - 403 `would_escalate` if the service account owns the account, directly or through a group, and the caller is
 *   neither an owner nor a super admin;
 * - 404 for an unknown service account, and for a service account that is completely revoked.
 */
export async function revokeServiceAccount(accountId: string, id: string, context: Context): Promise<void> {
  const { table, now } = context;
  const held = await readHeld(table, accountId, { type: "service_account", id });
  if (held) {
    const { permissions } = await permissionsOfServiceAccount(table, accountId, id, now());
    await requireToHold(context, accountId, ownershipIn(permissions, now()));
  }
  await revokeAll(context, accountId, id, held !== undefined);
}

type Revoking = Pick<Context, "table" | "commit" | "now">;

/**
 * Revokes a service account that expired 400 days ago, for the task that is due at `at`, and removes the task. If the
 * service account is completely revoked already, only removes the task.
 */
export async function revokeExpired(context: Revoking, accountId: string, id: string, at: string): Promise<void> {
  const { table, commit } = context;
  const [stored, held] = await Promise.all([
    table.get(serviceAccountKey(accountId, id), Stored),
    readHeld(table, accountId, { type: "service_account", id }),
  ]);
  const isDue = stored?.expires_at != null && revocationOf(stored.expires_at) === at;
  if (isDue && (stored.revoked_at === null || held)) await revokeAll(context, accountId, id, held !== undefined);
  const due = dueKey(grantQueue, revocationTask({ account_id: accountId, id }), at);
  await commit(async () => ({ value: undefined, writes: [{ delete: due }], changes: [], housekeeping: true }));
}

/**
 * Revokes a service account with everything that it holds. `hasRecord` tells whether the service account had an access
 * record before this call. Throws 404 if it had no access record and is revoked already.
 */
async function revokeAll(context: Revoking, accountId: string, id: string, hasRecord: boolean): Promise<void> {
  const { table, commit, now } = context;
  const isPurged = await commit(async () => {
    const old = await readServiceAccount(table, accountId, id);
    // If a revoked service account still has an access record, an earlier revocation stopped half-way. This call
    // removes the rest.
    if (old.revoked_at !== null && hasRecord) return { value: false, writes: [], changes: [], partial: true };
    if (old.revoked_at !== null) throw notFound();
    const revoked = { ...old, revoked_at: now().toISOString(), version: old.version + 1 };
    const [{ writes }, purge] = await Promise.all([
      planTokenEnds(table, old.public_ids, { revoked: now() }, now()),
      planPurge(table, accountId, id, now()),
    ]);
    return {
      value: purge !== undefined,
      writes: [putWrite(revoked), ...writes, ...(purge?.writes ?? [])],
      changes: [change(serviceAccountKind, "revoked", id, { before: old, after: revoked }), ...(purge?.changes ?? [])],
      partial: purge === undefined,
    };
  });
  if (!isPurged) await purgeServiceAccount(context, accountId, id);
}

/**
 * The most assignments that one transaction revokes. One revocation takes up to four of the 100 writes of a
 * transaction.
 */
const revocationsPerTransaction = 20;

/** The most grants and groups that one transaction removes together with the service account itself. */
const [maxPurgedGrants, maxPurgedGroups] = [12, 4];

/**
 * Plans the revocation of all permissions of a service account, its removal from its groups, and the deletion of its
 * access record. Undefined if the plan does not fit into one transaction.
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
  if (grants.length > maxPurgedGrants || groups.length > maxPurgedGroups) return undefined;
  const ids = [...grants.map((grant) => grant.id), ...(owner_grant_id === undefined ? [] : [owner_grant_id])];
  const [leaving, assignments] = await Promise.all([
    planLeaving(table, accountId, subject, groups),
    getAssignments(table, accountId, ids),
  ]);
  const recordChange: HolderChange = { subject, change: leaving.holder, forget: true };
  const revocation = await planRevocation(table, accountId, assignments, now, [recordChange]);
  const { SK } = accessKey(accountId, subject);
  // `planRevocation` reads the access record again. If a grant was added in between, the record is not deleted.
  if (!revocation.writes.some((write) => "delete" in write && write.delete.SK === SK)) return undefined;
  return { writes: [...leaving.writes, ...revocation.writes], changes: [...leaving.changes, ...revocation.changes] };
}

/**
 * Revokes all permissions of a service account, removes the service account from its groups, and deletes its access
 * record. Takes one or more transactions. The tokens of the service account are revoked already, so its remaining
 * grants give no access.
 */
async function purgeServiceAccount({ table, commit, now }: Revoking, accountId: string, id: string): Promise<void> {
  const subject = { type: "service_account" as const, id };
  for (let isForgotten = false; !isForgotten;) {
    isForgotten = await commit(async () => {
      const held = await readHeld(table, accountId, subject);
      if (!held) return { value: true, writes: [], changes: [] };
      const grants = held.grants.map((grant) => grant.id);
      const ids = held.owner_grant_id === undefined ? grants : [...grants, held.owner_grant_id];
      const batch = await getAssignments(table, accountId, ids.slice(0, revocationsPerTransaction));
      if (batch.length > 0) {
        return { value: false, ...(await planRevocation(table, accountId, batch, now())), partial: true };
      }
      const writes = await planForgotten(table, accountId, subject);
      const isGone = writes.length > 0;
      return { value: isGone, writes, changes: [], housekeeping: true, partial: !isGone };
    });
    const held = isForgotten ? undefined : await readHeld(table, accountId, subject);
    // Leaves the groups last, because leaving a group rewrites the access record, and a short record costs less.
    if (held?.grants.length === 0) await leaveGroups({ table, commit }, accountId, subject, held.groups);
  }
}
