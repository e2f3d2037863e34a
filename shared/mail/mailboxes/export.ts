import * as z from "zod";

import { capabilitiesOf, covers, EffectiveGrant, type Permissions, type Scope } from "../../auth/permissions.ts";
import { change, defineKind } from "../../changes/kind.ts";
import { invalidAt, notFound } from "../../core/errors.ts";
import { Id, timeOrderedId } from "../../core/ids.ts";
import { mostStoredBytes } from "../../core/page.ts";
import { later, Timestamp } from "../../core/time.ts";
import { noSuchDomain } from "../../domains/domain.ts";
import { domainById, domainByRef, scopesOfDomain } from "../../domains/find.ts";
import type { Context } from "../../http/route.ts";
import type { Files } from "../../providers/files/files.ts";
import type { Reader } from "../../table/table.ts";
import type { Key } from "../../table/writes.ts";
import { workspaceCheck, noSuchWorkspace } from "../../workspaces/workspace.ts";
import { csvHeader, csvLines } from "./bulk.ts";
import { deletedOrRestored } from "./deleted.ts";
import { eachMailbox } from "./each.ts";
import { scopesOfMailbox } from "./find.ts";
import { type MailboxFilter, mailboxQuery } from "./list.ts";

export const exportKind = defineKind({
  name: "mailbox_export",
  verbs: ["requested", "finished", "failed"],
  view: z.object({
    id: Id.meta({
      description: "The export's id. An export that was answered at once gets an id for this event only.",
    }),
    row_count: z.int().min(0).meta({ description: "The number of mailboxes in the export so far." }),
  }),
  seenWith: "mailbox.export",
});

/*
 * Access patterns
 *   an export by its id   ACCOUNT#<id> / MAILBOX_EXPORT#<id>
 */
export const exportKey = (accountId: string, id: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `MAILBOX_EXPORT#${id}`,
});

export const MailboxExport = z
  .object({
    id: Id.nullable().meta({
      description: "The export's id, for `mailboxes.exports.get`; null when this answer holds the whole export.",
    }),
    status: z.enum(["queued", "running", "done", "failed"]).meta({
      description: "The state of the export. `failed`: the file could not be made. Request a new export.",
    }),
    row_count: z.int().min(0).meta({ description: "The number of mailboxes in the export so far." }),
    csv: z.string().nullable().meta({
      description: "The CSV file, if this answer holds the whole export (500 mailboxes at most); otherwise null.",
    }),
    download_url: z.string().nullable().meta({
      description:
        "The address to download a larger export, valid for an hour. Null until the export is done, and if this answer holds the whole export.",
    }),
    created_at: Timestamp.meta({ description: "When the export was requested." }),
    finished_at: Timestamp.nullable().meta({ description: "When the export was done; null until then." }),
    expires_at: Timestamp.nullable().meta({
      description: "When the export is deleted; null when this answer holds the whole export.",
    }),
  })
  .meta({ id: "MailboxExport", description: "An export of mailboxes as a CSV file (RFC 4180, with a header line)." });
export type MailboxExport = z.output<typeof MailboxExport>;

const Filter = z.object(mailboxQuery);

export const StoredExport = MailboxExport.omit({ csv: true, download_url: true }).extend({
  id: z.string(),
  account_id: z.string(),
  requested_by: z.string(),
  filter: Filter,
  /**
   * The permissions of the principal that requested the export. The file has only rows that these permissions allow.
   */
  permissions: z.object({ everything: z.boolean(), grants: z.array(EffectiveGrant) }),
  file_key: z.string().nullable(),
  /**
   * How many runs have begun, and when the last run began. Absent before the first run, and in rows of earlier
   * versions.
   */
  runs: z.int().optional(),
  run_started_at: z.string().optional(),
  version: z.int(),
});
export type StoredExport = z.output<typeof StoredExport>;

/** The most mailboxes of an export that the answer itself holds. */
const inlineRows = 500;
/** The most chunks that are read while the caller waits. Each chunk takes a few round trips. */
const inlineChunks = 100;
const keptDays = 7;
const downloadSeconds = 3_600;

/** The CSV of an export and the number of its mailboxes; undefined if the file is too large or takes too long. */
async function inlineCsvOf(
  accountId: string,
  filter: MailboxFilter,
  exporter: { table: Reader; permissions: Permissions },
): Promise<{ csv: string; count: number } | undefined> {
  const lines = [csvHeader()];
  let [count, chunks, bytes] = [0, 0, 0];
  for await (const mailboxes of eachMailbox(accountId, filter, exporter)) {
    count += mailboxes.length;
    chunks += 1;
    const some = csvLines(mailboxes);
    bytes += Buffer.byteLength(some);
    if (count > inlineRows || chunks > inlineChunks || bytes > mostStoredBytes) return undefined;
    lines.push(some);
  }
  return { csv: lines.join(""), count };
}

/** Whether the caller may export at least one mailbox in a domain or workspace. */
async function hasAny(accountId: string, place: MailboxFilter, context: Context): Promise<boolean> {
  // One mailbox is enough, so only one domain is read at a time.
  for await (const mailboxes of eachMailbox(accountId, place, context, 1)) if (mailboxes.length > 0) return true;
  return false;
}

/**
 * Throws 422 when the filter names a domain or workspace that does not exist, or in which the caller may export
 * nothing.
 */
async function requirePlace(accountId: string, filter: MailboxFilter, context: Context): Promise<void> {
  const { domain: ref, workspace_id } = filter;
  const { table, permissions } = context;
  const mayExport = async (scopes: Scope[], place: MailboxFilter): Promise<boolean> =>
    covers(permissions, "mailbox.export", scopes) || hasAny(accountId, place, context);
  if (ref !== undefined) {
    const domain = await domainByRef(table, accountId, ref);
    const isTheirs = domain && (await mayExport(scopesOfDomain(domain), { domain: ref }));
    if (!isTheirs) throw invalidAt(["body", "domain"], noSuchDomain, "not_found");
  }
  if (workspace_id === undefined) return;
  const isThere = await workspaceCheck(table, accountId, workspace_id);
  const isTheirs = isThere && (await mayExport([{ type: "workspace", id: workspace_id }], { workspace_id }));
  if (!isTheirs) throw invalidAt(["body", "workspace_id"], noSuchWorkspace, "not_found");
}

/**
 * Exports mailboxes. If the file is small, the answer holds the file. Otherwise a worker makes the file, and
 * `getExport` shows the progress. Throws 422 when the filter names a domain or workspace that does not exist, or in
 * which the caller may export nothing. Throws 422 `too_broad` if more than 100,000 domains would have to be searched.
 */
export async function exportMailboxes(
  accountId: string,
  filter: MailboxFilter,
  context: Context,
): Promise<MailboxExport> {
  const { commit, now, principal, permissions } = context;
  await requirePlace(accountId, filter, context);
  const inline = await inlineCsvOf(accountId, filter, context);
  const at = now();
  const id = timeOrderedId(at);
  const created_at = at.toISOString();
  if (inline) {
    const row_count = inline.count;
    const value = {
      id: null,
      status: "done" as const,
      row_count,
      csv: inline.csv,
      download_url: null,
      created_at,
      finished_at: created_at,
      expires_at: null,
    };
    const finished = change(exportKind, "finished", id, { after: { id, row_count } });
    return commit(async () => ({ value, writes: [], changes: [finished] }));
  }
  const grants = permissions.grants.filter((grant) => capabilitiesOf(grant).includes("mailbox.export"));
  const stored: StoredExport = {
    id,
    account_id: accountId,
    status: "queued",
    row_count: 0,
    requested_by: principal.id,
    filter,
    permissions: { everything: permissions.everything, grants },
    file_key: null,
    created_at,
    finished_at: null,
    expires_at: new Date(at.getTime() + keptDays * 86_400_000).toISOString(),
    version: 1,
  };
  const ttl = Math.ceil(at.getTime() / 1_000) + keptDays * 86_400;
  return commit(async () => ({
    value: { ...exportView(stored, at), csv: null, download_url: null },
    writes: [{ put: { ...exportKey(accountId, id), ...stored, ttl }, if: "absent" }],
    changes: [change(exportKind, "requested", id, { after: { id, row_count: 0 } })],
  }));
}

/** How many runs an export has at most: the event of an export is sent twice more after a failure. */
export const mostRuns = 3;
/** The longest time of a run, in milliseconds: the timeout of the worker's Lambda. */
const runMs = 900_000;

/**
 * Whether an export has begun all of its `mostRuns` runs, and no run is alive any more: the export is not done, and the
 * final run began longer ago than a run can last.
 */
function isLastRunDead({ status, runs = 0, run_started_at }: StoredExport, now: Date): boolean {
  if (status === "done" || runs < mostRuns || run_started_at === undefined) return false;
  return later(new Date(run_started_at), runMs) <= now.toISOString();
}

const exportView = (stored: StoredExport, now: Date) => {
  const { id, row_count, created_at, finished_at, expires_at } = stored;
  const status = isLastRunDead(stored, now) ? ("failed" as const) : stored.status;
  return { id, status, row_count, created_at, finished_at, expires_at };
};

/** The file name of an export that was created at a time. */
export const csvNameOf = (createdAt: string): string => `mailboxes-${createdAt.slice(0, 10)}.csv`;

/**
 * The scope with the scopes that contain it. Undefined if its resource was deleted for good. A deleted mailbox that can
 * be restored still has its scopes.
 */
async function containing(table: Reader, accountId: string, scope: Scope): Promise<Scope[] | undefined> {
  if (scope.type === "domain") {
    const domain = await domainById(table, accountId, scope.id);
    return domain && scopesOfDomain(domain);
  }
  if (scope.type !== "mailbox") return [scope];
  const found = await deletedOrRestored(table, accountId, scope.id);
  return found && scopesOfMailbox(found);
}

/**
 * Whether the principal still holds every permission by which the file was made, because the file may have mailboxes
 * that only one of these permissions allows. A permission on a resource that was deleted for good counts as held. The
 * caller of this function has found that the principal may not export the whole account now. So the result is false if
 * the principal had all permissions when the file was made.
 */
async function stillHolds(
  { account_id, permissions: { everything, grants } }: StoredExport,
  { table, permissions }: Pick<Context, "table" | "permissions">,
): Promise<boolean> {
  if (everything) return false;
  const needed = grants.filter((grant) => capabilitiesOf(grant).includes("mailbox.export"));
  const held = needed.map(async ({ scope }) => {
    const scopes = scope ? await containing(table, account_id, scope) : [];
    return scopes === undefined || covers(permissions, "mailbox.export", scopes);
  });
  return (await Promise.all(held)).every(Boolean);
}

/**
 * The state of an export. Throws 404:
 * - if there is no such export, or if the export has expired;
 * - if the principal did not request the export, and may not export the whole account;
 * - if the principal requested the export, but has lost a permission to export since, and may not export the whole
 *   account.
 */
export async function getExport(
  accountId: string,
  id: string,
  context: Context,
  files: () => Files,
): Promise<MailboxExport> {
  const { table, principal, permissions, now } = context;
  const stored = await table.get(exportKey(accountId, id), StoredExport);
  const isTheirs =
    covers(permissions, "mailbox.export", []) ||
    (stored?.requested_by === principal.id && (await stillHolds(stored, context)));
  if (!stored || !isTheirs || (stored.expires_at ?? "") <= now().toISOString()) throw notFound();
  const { file_key, created_at } = stored;
  const options = { filename: csvNameOf(created_at), expiresInSeconds: downloadSeconds, now: now() };
  const download_url = file_key === null ? null : await files().downloadUrl(file_key, options);
  return { ...exportView(stored, now()), csv: null, download_url };
}
