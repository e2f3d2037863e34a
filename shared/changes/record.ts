import { randomUUID } from "node:crypto";

import * as z from "zod";

import { timeOrderedId } from "../core/ids.ts";
import { dayMs, Timestamp } from "../core/time.ts";
import { entryKey, type Journal } from "../table/journal-keys.ts";
import { appendEntries } from "../table/journal.ts";
import type { Key, Write } from "../table/writes.ts";
import type { Change } from "./kind.ts";

/*
 * Every recorded change in an account is one entry of the account's journal, written by the transaction that makes the
 * change. A transaction whose writes change no resource for callers can leave the record out (`housekeeping` of
 * `ChangePlan`). The audit log reads the journal, and a worker publishes each entry from the table's stream
 * (transactional outbox).
 *
 * Access patterns
 *   changes of an account, newest first, and one by id   ACCOUNT#<id> / JOURNAL#changes (shared/table/journal.ts)
 */

/** How long the changes of an account are kept, in days. */
const retentionDays = 400;

/** The journal of an account's changes. */
export const changeJournalOf = (accountId: string): Journal => ({
  partition: `ACCOUNT#${accountId}`,
  name: "changes",
  retentionDays,
});

/**
 * The `ttl`, in seconds since 1970, of the row of a grant or service account that was revoked or has expired at `now`.
 * The row is kept about as long as a change that is made at `now`.
 */
export const ttlOfEnded = (now: Date): number => Math.ceil((now.getTime() + retentionDays * dayMs) / 1_000);

/** The key of a change in its journal. */
export const changeKey = (accountId: string, id: string): Key => entryKey(changeJournalOf(accountId), id);

export const ActorType = z.enum(["user", "service_account", "operator", "system"]);

/** The action and the actor of a change, and the origin of the request. */
export type Author = {
  /** The name of the function that was called, or the action of the operator or the system. */
  action: string;
  actor: { type: z.output<typeof ActorType>; id: string; email?: string };
  requestId: string;
  sourceIp?: string | undefined;
  userAgent?: string | undefined;
};

/**
 * The product itself as the author of changes without a caller. `id` names the part of the product that makes the
 * changes. Without `requestId`, the changes get a new request id.
 */
export const systemAuthor = (action: string, id: string, requestId: string = randomUUID()): Author => ({
  action: `system: ${action}`,
  actor: { type: "system", id },
  requestId,
});

const StoredView = z.record(z.string(), z.unknown());

export const StoredChange = z.object({
  id: z.string(),
  type: z.string(),
  account_id: z.string(),
  at: z.string(),
  action: z.string(),
  actor_type: ActorType,
  actor_id: z.string(),
  actor_email: z.string().optional(),
  source_ip: z.string().optional(),
  user_agent: z.string().optional(),
  request_id: z.string(),
  resource_type: z.string(),
  resource_id: z.string(),
  /** JSON text, because a DynamoDB map has limits on depth and numbers that JSON does not have. */
  before: z
    .string()
    .transform((text) => StoredView.parse(JSON.parse(text)))
    .optional(),
  after: z
    .string()
    .transform((text) => StoredView.parse(JSON.parse(text)))
    .optional(),
});
export type StoredChange = z.output<typeof StoredChange>;

/**
 * The writes that record the changes of one transaction in one account. Call this function at most once for each
 * account of a transaction, because a transaction cannot write the counters of a journal twice.
 */
export function recordWrites(accountId: string, changes: readonly Change[], author: Author, now: Date): Write[] {
  const rows = changes.map(({ type, resource, before, after }, index): z.input<typeof StoredChange> => ({
    id: timeOrderedId(now, index),
    type,
    account_id: accountId,
    at: now.toISOString(),
    action: author.action,
    actor_type: author.actor.type,
    actor_id: author.actor.id,
    actor_email: author.actor.email,
    source_ip: author.sourceIp,
    user_agent: author.userAgent,
    request_id: author.requestId,
    resource_type: resource.type,
    resource_id: resource.id,
    ...(before ? { before: JSON.stringify(before) } : {}),
    ...(after ? { after: JSON.stringify(after) } : {}),
  }));
  return appendEntries(changeJournalOf(accountId), rows, now);
}

/** A change as EventBridge and webhooks get it. To protect personal data, the actor has no e-mail or IP address. */
export type Event = {
  id: string;
  type: string;
  timestamp: string;
  account_id: string;
  actor: { type: string; id: string };
  resource: { type: string; id: string };
  /** The resource after the change, or before it if the resource was deleted. */
  data: Record<string, unknown>;
  /** The resource before the change. Absent if the resource was created or deleted. */
  previous_data?: Record<string, unknown>;
};

/** The members of an event from the bus that workers read. A truncated event has no `data`. */
export const EventDetail = z.object({
  id: z.string(),
  type: z.string(),
  timestamp: Timestamp,
  account_id: z.string(),
  resource: z.object({ id: z.string() }),
  data: z.record(z.string(), z.unknown()).default({}),
  previous_data: z.record(z.string(), z.unknown()).default({}),
});
export type EventDetail = z.output<typeof EventDetail>;

/** Converts a recorded change into its event. */
export const eventOf = (change: StoredChange): Event => ({
  id: change.id,
  type: change.type,
  timestamp: change.at,
  account_id: change.account_id,
  actor: { type: change.actor_type, id: change.actor_id },
  resource: { type: change.resource_type, id: change.resource_id },
  data: change.after ?? change.before ?? {},
  ...(change.before && change.after ? { previous_data: change.before } : {}),
});
