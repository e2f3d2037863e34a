import * as z from "zod";

import { ActorType, changeJournalOf, StoredChange } from "../changes/record.ts";
import { csvOf } from "../core/csv.ts";
import { invalidAt } from "../core/errors.ts";
import { Id } from "../core/ids.ts";
import { isTooLarge, orderQuery, spanOf, timeQuery, timesOf, type OrderedPage } from "../core/page.ts";
import { Timestamp } from "../core/time.ts";
import type { Context } from "../http/route.ts";
import { aheadOfEntries, readEntries } from "../table/journal.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Item } from "../table/writes.ts";

const StoredView = z.record(z.string(), z.unknown()).nullable();

export const AuditEntry = z
  .object({
    id: Id.meta({
      description:
        "The entry's id. Ids sort by `occurred_at`. The log can get an entry shortly after it got an entry with a greater id.",
    }),
    account_id: Id.meta({ description: "The account in which something changed." }),
    occurred_at: Timestamp.meta({ description: "When the change happened." }),
    action: z.string().meta({
      description:
        "The function that was called, such as `workspaces.add`, or an action of an operator or of the product, such as `operator: restore account`.",
    }),
    event_type: z.string().meta({ description: "The type of the event, such as `workspace.created`." }),
    actor: z
      .object({
        type: ActorType.meta({ description: "The type of the actor." }),
        id: z.string().meta({ description: "The actor's id." }),
        email: z.string().nullable().meta({ description: "The actor's e-mail address at that time, if known." }),
      })
      .meta({ description: "The author of the change." }),
    resource: z
      .object({
        type: z.string().meta({ description: "The type of the resource, such as `workspace`." }),
        id: z.string().meta({ description: "The resource's id." }),
      })
      .meta({ description: "The resource that changed." }),
    before: StoredView.meta({
      description: "The resource before the change. Null if it was created, or if the event has no earlier state.",
    }),
    after: StoredView.meta({
      description: "The resource after the change. Null if it was deleted, or if the event has no later state.",
    }),
    source_ip: z
      .string()
      .nullable()
      .meta({ description: "The IP address of the client that sent the request, if known." }),
    user_agent: z.string().nullable().meta({ description: "The `User-Agent` of the client that sent the request." }),
    request_id: z.string().meta({
      description:
        "The id of the request, as in the `X-Request-Id` of its answer. A change without a request has an id of its own.",
    }),
  })
  .meta({ id: "AuditEntry", description: "One change of one resource: who changed what, when and from where." });
export type AuditEntry = z.output<typeof AuditEntry>;

/** The filters and the order of the audit log. An entry has to match all filters that the query has. */
export const auditQuery = {
  actor_id: Id.optional().meta({ description: "Only changes by this user or service account." }),
  action: z.string().min(1).max(100).optional().meta({
    description: "Only changes with this `action`, such as `workspaces.add`.",
  }),
  resource_id: z.string().min(1).max(100).optional().meta({
    description: "Only changes of the resource with this id, spelled as in the entries.",
  }),
  ...timeQuery("changes"),
  ...orderQuery("desc"),
};
type AuditQuery = OrderedPage & z.output<z.ZodObject<typeof auditQuery>>;

const entryOf = (change: StoredChange): AuditEntry => ({
  id: change.id,
  account_id: change.account_id,
  occurred_at: change.at,
  action: change.action,
  event_type: change.type,
  actor: { type: change.actor_type, id: change.actor_id, email: change.actor_email ?? null },
  resource: { type: change.resource_type, id: change.resource_id },
  before: change.before ?? null,
  after: change.after ?? null,
  source_ip: change.source_ip ?? null,
  user_agent: change.user_agent || null,
  request_id: change.request_id,
});

/** The items that `listAuditEntries` and `auditEntriesForFile` read first. */
export const aheadOfAudit = (accountId: string, query: AuditQuery): Ahead =>
  aheadOfEntries(changeJournalOf(accountId), timesOf(query));

/**
 * A page of the account's changes, by default newest first. Throws 422 if a filter would have to search more than
 * 20,000 changes.
 */
export async function listAuditEntries(
  accountId: string,
  { page, page_size, order, since, until, ...filter }: AuditQuery,
  { table, now }: Context,
): Promise<{ items: AuditEntry[]; total: number }> {
  const conditions = Object.entries(filter).filter(([, value]) => value !== undefined);
  const keep = (row: Item): boolean => conditions.every(([name, value]) => row[name] === value);
  const options = {
    ...spanOf({ page, page_size, order }),
    ...timesOf({ since, until }),
    ...(conditions.length === 0 ? {} : { keep }),
  };
  const { rows, total } = await readEntries(table, changeJournalOf(accountId), options, now());
  return { items: rows.map((row) => entryOf(StoredChange.parse(row))), total };
}

/** How many entries a file can have. All entries of a file are in memory together. */
const mostInFile = 1_000;

/**
 * All changes that match the query, for a file. Throws 422 if more than 1,000 changes match, or if the file is too
 * large for an answer. Also throws the errors of `listAuditEntries`.
 */
export async function auditEntriesForFile(
  accountId: string,
  query: AuditQuery,
  context: Context,
): Promise<{ items: AuditEntry[]; total: number }> {
  const found = await listAuditEntries(accountId, { ...query, page: 1, page_size: mostInFile }, context);
  const isTooMany = found.total > mostInFile;
  if (!isTooMany && !isTooLarge(auditFile(found.items).text)) return found;
  const limit = isTooMany ? `a file has at most ${mostInFile}` : "together they are too large for a file";
  const msg = `${found.total} entries match, and ${limit}. Choose \`since\` and \`until\` closer together`;
  throw invalidAt(["query", "since"], msg, "too_many");
}

const columns = [
  "occurred_at",
  "action",
  "event_type",
  "actor_type",
  "actor_id",
  "actor_email",
  "resource_type",
  "resource_id",
  "before",
  "after",
  "source_ip",
  "user_agent",
  "request_id",
  "id",
];

const jsonCell = (view: object | null): string => (view === null ? "" : JSON.stringify(view));

/** Audit entries as a CSV file, with a header. `before` and `after` are JSON. */
export function auditFile(entries: readonly AuditEntry[]): { name: string; text: string } {
  const rows = entries.map((entry) => [
    entry.occurred_at,
    entry.action,
    entry.event_type,
    entry.actor.type,
    entry.actor.id,
    entry.actor.email ?? "",
    entry.resource.type,
    entry.resource.id,
    jsonCell(entry.before),
    jsonCell(entry.after),
    entry.source_ip ?? "",
    entry.user_agent ?? "",
    entry.request_id,
    entry.id,
  ]);
  return { name: "audit-log.csv", text: csvOf([columns, ...rows]) };
}
