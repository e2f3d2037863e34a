import * as z from "zod";

import type { EventDetail } from "../../changes/record.ts";
import { invalidAt } from "../../core/errors.ts";
import { dayMs, hourMs, minuteMs, Timestamp } from "../../core/time.ts";
import type { Reader, Table } from "../../table/table.ts";
import type { Item, Key } from "../../table/writes.ts";
import { deletedById } from "../mailboxes/deleted.ts";
import { mailboxesByIds } from "../mailboxes/lookup.ts";

/*
 * Mail servers keep sessions and mail. A revocation tells mail servers to end the sessions of a mailbox, a domain or an
 * account, or to purge the mail of a mailbox, or that a mailbox was restored. A worker makes revocations from events.
 * Mail servers read the revocations after a cursor.
 *
 * Access patterns
 *   the revocations that were stored in an hour, oldest first   REVOCATIONS#<hour> / <time>#<id of the event>
 */
const partitionOf = (at: Date): string => `REVOCATIONS#${at.toISOString().slice(0, 13)}`;
const revocationKey = (at: Date, id: string): Key => ({ PK: partitionOf(at), SK: `${at.toISOString()}#${id}` });

const Action = z.enum(["disconnect", "purge", "restore"]);
const Scope = z.enum(["mailbox", "domain", "account"]);

/** An order to mail servers: an action, and the mailbox, the domain or the account that it concerns. */
export const Revocation = z.object({
  /** The id of the event. A revocation that is stored twice has the same id. */
  id: z.string(),
  /** When the change happened. Sessions that began later are not concerned. */
  at: Timestamp,
  action: Action,
  scope: Scope,
  account_id: z.string(),
  /** The id of the mailbox, the domain or the account. */
  id_of_scope: z.string(),
  /** The address of the mailbox. */
  address: z.string().optional(),
  /** The name of the domain, or of the mailbox's domain. */
  domain: z.string().optional(),
  reason: z.string(),
});
export type Revocation = z.output<typeof Revocation>;

/** The members of a revocation that depend on the kind of event. */
type Effect = Omit<Revocation, "id" | "at" | "account_id">;

const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

const ofMailbox =
  (action: Revocation["action"], reason: string) =>
  ({ resource: { id }, data }: EventDetail): Effect => ({
    action,
    scope: "mailbox",
    id_of_scope: id,
    address: text(data["primary_email"]),
    domain: text(data["domain_name"]),
    reason,
  });

/** The statuses of a domain that end the sessions of its mailboxes. */
const endedDomain = new Set<unknown>(["expired", "suspended", "releasing", "failed"]);

/** The statuses of an account that end the sessions of its mailboxes. */
const endedAccount = new Set<unknown>(["suspended", "closed"]);

const ofDomain =
  (reason: string) =>
  ({ resource: { id }, data }: EventDetail): Effect => ({
    action: "disconnect",
    scope: "domain",
    id_of_scope: id,
    domain: text(data["name"]),
    reason,
  });

const ofAccount = (accountId: string, reason: string): Effect => ({
  action: "disconnect",
  scope: "account",
  id_of_scope: accountId,
  reason,
});

/**
 * Ends the sessions that a master password may have begun. Mail servers know no workspaces, so the end of a workspace's
 * master password ends the sessions of the whole account.
 */
function ofMaster({ account_id, data }: EventDetail): Effect {
  const reason = "master_password_ended";
  const scopeId = text(data["scope_id"]);
  if (data["scope_type"] !== "domain" || scopeId === undefined) return ofAccount(account_id, reason);
  return { action: "disconnect", scope: "domain", id_of_scope: scopeId, reason };
}

/** Whether an event changed the member `name` to a value that fulfils a condition. */
const became = ({ data, previous_data }: EventDetail, name: string, isWanted: (value: unknown) => boolean): boolean =>
  isWanted(data[name]) && !isWanted(previous_data[name]);

/** The revocation that an event makes, by the type of the event; undefined if this event makes none. */
const effects: Record<string, (event: EventDetail) => Effect | undefined> = {
  "mailbox.paused": ofMailbox("disconnect", "mailbox_paused"),
  "mailbox.deleted": ofMailbox("disconnect", "mailbox_deleted"),
  "mailbox.password_rotated": ofMailbox("disconnect", "password_rotated"),
  "mailbox.purged": ofMailbox("purge", "mailbox_purged"),
  "mailbox.restored": ofMailbox("restore", "mailbox_restored"),
  "app_password.deleted": ({ data }) => {
    const id = text(data["mailbox_id"]);
    const reason = "app_password_deleted";
    return id === undefined ? undefined : { action: "disconnect", scope: "mailbox", id_of_scope: id, reason };
  },
  "credential.deleted": ofMaster,
  "credential.updated": (event) => (became(event, "active", (value) => value === false) ? ofMaster(event) : undefined),
  "domain.releasing": ofDomain("domain_deleted"),
  "domain.deleted": ofDomain("domain_deleted"),
  "domain.expired": ofDomain("domain_expired"),
  "domain.released": ofDomain("domain_expired"),
  "domain.taken_over": ofDomain("domain_taken_over"),
  // The master passwords of the former workspace cannot be used for the domain any more.
  "domain.moved": ofDomain("master_password_ended"),
  "domain.updated": (event) => {
    if (!became(event, "status", (value) => endedDomain.has(value))) return undefined;
    const { status } = event.data;
    return ofDomain(status === "releasing" ? "domain_deleted" : `domain_${String(status)}`)(event);
  },
  "billing.plan.lapsed": ({ account_id }) => ofAccount(account_id, "plan_lapsed"),
  "account.updated": (event) => {
    return became(event, "status", (value) => endedAccount.has(value))
      ? ofAccount(event.account_id, `account_${String(event.data["status"])}`)
      : undefined;
  },
};

/** The types of events that can revoke something. */
export const revokingTypes: readonly string[] = Object.keys(effects);

/** The revocation that an event makes; undefined if the event makes none. */
function revocationOf(event: EventDetail): Revocation | undefined {
  const { id, timestamp: at, account_id } = event;
  const effect = effects[event.type]?.(event);
  return effect && { id, at, account_id, ...effect };
}

/** How long a revocation is kept, in milliseconds. */
const keptMs = 30 * dayMs;

/**
 * Stores the revocation that an event makes, and returns the revocation. If the same event comes again, its revocation
 * is stored again. Undefined if the event makes no revocation, or if the revocation would purge a mailbox that exists:
 * the account may have been restored since the event, and the mailbox may have new mail.
 */
export async function noteRevocation(table: Table, event: EventDetail, now: Date): Promise<Revocation | undefined> {
  const revocation = revocationOf(event);
  if (!revocation || (await purgesExisting(table, revocation))) return undefined;
  const ttl = Math.ceil((now.getTime() + keptMs) / 1_000);
  await table.attempt({ put: { ...revocationKey(now, event.id), ...revocation, ttl } });
  return revocation;
}

/** Whether a revocation would purge a mailbox that exists, or that was deleted and can be restored. */
async function purgesExisting(table: Reader, revocation: Revocation): Promise<boolean> {
  const { action, account_id, id_of_scope: id } = revocation;
  if (action !== "purge") return false;
  const [[mailbox], deleted] = await Promise.all([
    mailboxesByIds(table, account_id, [id]),
    deletedById(table, account_id, id),
  ]);
  return mailbox !== undefined || deleted !== undefined;
}

/**
 * When the reader has read everything, the next cursor is this far in the past, in milliseconds. Revocations of the
 * same time are stored in any order, and the clocks of processes differ. So a revocation can be stored after the reader
 * has read a later one. The next page still has it.
 */
const overlapMs = minuteMs;

/** The most hours that one request reads. */
const mostHours = 48;

/** A cursor: the time from which to read, or the sort key of a revocation after which to read. */
const cursorForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z(?:#[0-9a-f-]{36})?$/;

const cursorTime = (cursor: string): Date => new Date(cursor.slice(0, 24));

/** Whether a text is a cursor of `readRevocations`. */
export const isCursor = (given: string): boolean =>
  cursorForm.test(given) && !Number.isNaN(cursorTime(given).getTime());

/** A page of revocations. `next` is the cursor of the next page. `has_more`: the next page can be read at once. */
export type RevocationPage = { items: Revocation[]; next: string; has_more: boolean };

/**
 * Reads up to `limit` revocations since a cursor, oldest first. A reader without a cursor begins a minute ago.
 * - When the reader has read everything, the next cursor is a minute in the past. So the revocations of the last minute
 *   come again, with the same ids.
 * - Throws 422 `cursor_expired` for a cursor that is older than the kept revocations.
 */
export async function readRevocations(
  table: Reader,
  { since, limit }: { since: string | undefined; limit: number },
  now: Date,
): Promise<RevocationPage> {
  const caughtUp = new Date(now.getTime() - overlapMs).toISOString();
  if (since === undefined) return { items: [], next: caughtUp, has_more: false };
  const begun = cursorTime(since);
  if (now.getTime() - begun.getTime() > keptMs) {
    const msg =
      "The cursor is older than 30 days, so revocations may be lost. End all sessions, and begin without a cursor";
    throw invalidAt(["query", "since"], msg, "cursor_expired");
  }
  const items: Item[] = [];
  const lastHour = hourOf(now);
  for (let hour = hourOf(begun), hours = 0; hour <= lastHour; hour += hourMs, hours += 1) {
    if (hours === mostHours) return pageOf(items, new Date(hour).toISOString(), true);
    const from = hours === 0 ? afterCursor(since) : "0";
    items.push(...(await table.between(partitionOf(new Date(hour)), from, "~", { limit: limit - items.length })));
    const last = items.at(-1);
    if (last && items.length === limit) return pageOf(items, last.SK, true);
  }
  return pageOf(items, caughtUp, false);
}

const hourOf = (at: Date): number => Math.floor(at.getTime() / hourMs) * hourMs;

/**
 * The sort key from which to read after a cursor. If the cursor is the sort key of a revocation, the `!` at the end
 * makes the range begin after this revocation.
 */
const afterCursor = (cursor: string): string => (cursor.includes("#") ? `${cursor}!` : cursor);

const pageOf = (items: readonly Item[], next: string, has_more: boolean): RevocationPage => ({
  items: items.map((item) => Revocation.parse(item)),
  next,
  has_more,
});
