import * as z from "zod";

import { covers, HeldGrant, type Permissions, type Scope } from "../auth/permissions.ts";
import { change } from "../changes/kind.ts";
import { recorder } from "../changes/recorder.ts";
import { noSuchDomain } from "../domains/domain.ts";
import { domainByRef, scopesOfDomain } from "../domains/find.ts";
import { InvalidInput, notFound } from "../errors.ts";
import { Id, timeOrderedId } from "../ids.ts";
import type { Files } from "../providers/files.ts";
import type { Context } from "../route.ts";
import type { Reader, Table } from "../table/table.ts";
import type { Key } from "../table/writes.ts";
import { Timestamp } from "../time.ts";
import { findWorkspace, noSuchWorkspace } from "../workspaces.ts";
import { csvHeader, csvLines } from "./csv.ts";
import { eachMailbox } from "./each.ts";
import { exportKind } from "./export-kind.ts";
import { mailboxQuery, type MailboxFilter } from "./list.ts";

/*
 * Access patterns
 *   an export by its id   ACCOUNT#<id> / MAILBOX_EXPORT#<id>
 */
const keyOf = (accountId: string, id: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: `MAILBOX_EXPORT#${id}` });

const inlineRows = 500;
const keptDays = 7;
const downloadSeconds = 3_600;

export const MailboxExport = z
  .object({
    id: Id.nullable().meta({ description: "What to ask by how it goes on; null when it is all here." }),
    status: z.enum(["queued", "running", "done"]).meta({ description: "How it stands." }),
    row_count: z.int().min(0).meta({ description: "How many mailboxes are in it so far." }),
    csv: z
      .string()
      .nullable()
      .meta({ description: `The file itself, when it has ${inlineRows} mailboxes at most.` }),
    download_url: z
      .string()
      .nullable()
      .meta({ description: "Where to download a larger one, for an hour, once it is done." }),
    created_at: Timestamp.meta({ description: "When it was asked for." }),
    finished_at: Timestamp.nullable().meta({ description: "When it was done; null before." }),
    expires_at: Timestamp.nullable().meta({ description: "Until when it is kept; null when it is all here." }),
  })
  .meta({ id: "MailboxExport", description: "Mailboxes as a CSV file (RFC 4180, with a header)." });
export type MailboxExport = z.output<typeof MailboxExport>;

const Filter = z.object(mailboxQuery);

const StoredExport = MailboxExport.omit({ csv: true, download_url: true }).extend({
  id: z.string(),
  account_id: z.string(),
  requested_by: z.string(),
  filter: Filter,
  /** What whoever asked may export: what they see is what they get. */
  permissions: z.object({ everything: z.boolean(), grants: z.array(HeldGrant) }),
  file_key: z.string().nullable(),
  version: z.int(),
});
type StoredExport = z.output<typeof StoredExport>;

const permissionsOf = ({ everything, grants }: StoredExport["permissions"]): Permissions => ({
  member: true,
  everything,
  superAdmin: false,
  grants,
});

/** The first mailboxes of an export, and whether those are all. */
async function firstOf(accountId: string, filter: MailboxFilter, asker: { table: Reader; permissions: Permissions }) {
  const lines = [csvHeader()];
  let count = 0;
  for await (const mailboxes of eachMailbox(accountId, filter, asker)) {
    count += mailboxes.length;
    if (count > inlineRows) return { isAll: false as const };
    lines.push(csvLines(mailboxes));
  }
  return { isAll: true as const, csv: lines.join(""), count };
}

const missing = (member: string, msg: string): InvalidInput =>
  new InvalidInput([{ loc: ["body", member], msg, type: "not_found" }]);

/** 422 where a domain or workspace is named that is not there, or nothing of which the caller may export. */
async function requirePlace(
  accountId: string,
  { domain: ref, workspace_id }: MailboxFilter,
  { table, permissions }: Context,
): Promise<void> {
  const mayExport = (scopes: Scope[]): boolean => covers(permissions, "mailbox.export", scopes);
  if (ref !== undefined) {
    const domain = await domainByRef(table, accountId, ref);
    if (!domain || !mayExport(scopesOfDomain(domain))) throw missing("domain", noSuchDomain);
  }
  if (workspace_id === undefined) return;
  const isThere = await findWorkspace(table, accountId, workspace_id);
  if (!isThere || !mayExport([{ type: "workspace", id: workspace_id }])) throw missing("workspace_id", noSuchWorkspace);
}

/** Exports mailboxes: at once when they are few, and otherwise by the worker, which `getExport` tells of. */
export async function exportMailboxes(
  accountId: string,
  filter: MailboxFilter,
  context: Context,
): Promise<MailboxExport> {
  const { commit, now, principal, permissions } = context;
  await requirePlace(accountId, filter, context);
  const first = await firstOf(accountId, filter, context);
  const at = now();
  const id = timeOrderedId(at);
  const created_at = at.toISOString();
  if (first.isAll) {
    const row_count = first.count;
    const value = {
      id: null,
      status: "done" as const,
      row_count,
      csv: first.csv,
      download_url: null,
      created_at,
      finished_at: created_at,
      expires_at: null,
    };
    const told = change(exportKind, "finished", id, { after: { id, row_count } });
    return commit(async () => ({ value, writes: [], changes: [told] }));
  }
  const stored: StoredExport = {
    id,
    account_id: accountId,
    status: "queued",
    row_count: 0,
    requested_by: principal.id,
    filter,
    permissions: { everything: permissions.everything, grants: [...permissions.grants] },
    file_key: null,
    created_at,
    finished_at: null,
    expires_at: new Date(at.getTime() + keptDays * 86_400_000).toISOString(),
    version: 1,
  };
  const ttl = Math.ceil(at.getTime() / 1_000) + keptDays * 86_400;
  return commit(async () => ({
    value: { ...viewOf(stored), csv: null, download_url: null },
    writes: [{ put: { ...keyOf(accountId, id), ...stored, ttl }, if: "absent" }],
    changes: [change(exportKind, "requested", id, { after: { id, row_count: 0 } })],
  }));
}

const viewOf = ({ id, status, row_count, created_at, finished_at, expires_at }: StoredExport) => ({
  id,
  status,
  row_count,
  created_at,
  finished_at,
  expires_at,
});

/** How an export stands, for who asked for it or may export everything. 404. */
export async function getExport(
  accountId: string,
  id: string,
  { table, principal, permissions, now }: Context,
  files: () => Files,
): Promise<MailboxExport> {
  const stored = await table.get(keyOf(accountId, id), StoredExport);
  const isTheirs = stored?.requested_by === principal.id || covers(permissions, "mailbox.export", []);
  if (!stored || !isTheirs || (stored.expires_at ?? "") <= now().toISOString()) throw notFound();
  const { file_key, created_at } = stored;
  const filename = `mailboxes-${created_at.slice(0, 10)}.csv`;
  const options = { filename, expiresInSeconds: downloadSeconds, now: now() };
  const download_url = file_key === null ? null : await files().downloadUrl(file_key, options);
  return { ...viewOf(stored), csv: null, download_url };
}

const progressEvery = 5_000;

/** The lines of an export as bytes, noting its progress now and then. */
async function* content(stored: StoredExport, table: Table, counted: { rows: number }): AsyncGenerator<Buffer> {
  const { account_id, id, filter } = stored;
  yield Buffer.from(csvHeader());
  let noted = 0;
  const asker = { table, permissions: permissionsOf(stored.permissions) };
  for await (const mailboxes of eachMailbox(account_id, filter, asker)) {
    counted.rows += mailboxes.length;
    yield Buffer.from(csvLines(mailboxes));
    if (counted.rows - noted < progressEvery) continue;
    noted = counted.rows;
    await table.attempt({ update: keyOf(account_id, id), set: { row_count: noted, status: "running" }, if: { id } });
  }
}

/** Makes the file of an export; one that is made already stays. Done again after a failure it begins anew. */
export async function runExport(
  accountId: string,
  id: string,
  { table, files, now }: { table: Table; files: Files; now: () => Date },
): Promise<void> {
  const stored = await table.get(keyOf(accountId, id), StoredExport);
  if (!stored || stored.status === "done") return;
  const key = `exports/${accountId}/${id}.csv`;
  const counted = { rows: 0 };
  await files.putStream(key, content(stored, table, counted), "text/csv; charset=utf-8");
  const author = { action: "system: mailbox export", actor: { type: "system" as const, id: "exports" }, requestId: id };
  const commit = recorder({ table, accountId, author, now });
  await commit(async () => {
    const current = await table.get(keyOf(accountId, id), StoredExport);
    if (!current || current.status === "done") return { value: undefined, writes: [], changes: [] };
    const set = {
      status: "done",
      row_count: counted.rows,
      file_key: key,
      finished_at: now().toISOString(),
      version: current.version + 1,
    };
    return {
      value: undefined,
      writes: [{ update: keyOf(accountId, id), set, if: { version: current.version } }],
      changes: [change(exportKind, "finished", id, { after: { id, row_count: counted.rows } })],
    };
  });
}
