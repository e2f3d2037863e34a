import type { Permissions } from "../../auth/permissions.ts";
import { change } from "../../changes/kind.ts";
import { recorder } from "../../changes/recorder.ts";
import type { Files } from "../../providers/files/files.ts";
import type { Table } from "../../table/table.ts";
import { csvHeader, csvLines } from "./bulk.ts";
import { eachMailbox } from "./each.ts";
import { StoredExport, exportKey, exportKind } from "./export.ts";

const permissionsOf = ({ everything, grants }: StoredExport["permissions"]): Permissions => ({
  member: true,
  everything,
  superAdmin: false,
  grants,
});

const progressEvery = 5_000;

/** The lines of an export as bytes. Stores the progress at the start and every 5,000 rows. */
async function* content(stored: StoredExport, table: Table, counted: { rows: number }): AsyncGenerator<Buffer> {
  const { account_id, id, filter } = stored;
  yield Buffer.from(csvHeader());
  let noted = Number.NEGATIVE_INFINITY;
  const asker = { table, permissions: permissionsOf(stored.permissions) };
  for await (const mailboxes of eachMailbox(account_id, filter, asker)) {
    counted.rows += mailboxes.length;
    yield Buffer.from(csvLines(mailboxes));
    if (counted.rows - noted < progressEvery) continue;
    noted = counted.rows;
    await table.attempt({
      update: exportKey(account_id, id),
      set: { row_count: noted, status: "running" },
      // Another worker with the same export may have finished it meanwhile.
      if: { id, version: stored.version },
    });
  }
}

/**
 * Writes the file of an export. Does nothing when the export is done already; after a failure it starts from the
 * beginning.
 */
export async function runExport(
  accountId: string,
  id: string,
  { table, files, now }: { table: Table; files: Files; now: () => Date },
): Promise<void> {
  const stored = await table.get(exportKey(accountId, id), StoredExport);
  if (!stored || stored.status === "done") return;
  const key = `exports/${accountId}/${id}.csv`;
  const counted = { rows: 0 };
  await files.putStream(key, content(stored, table, counted), "text/csv; charset=utf-8");
  const author = { action: "system: mailbox export", actor: { type: "system" as const, id: "exports" }, requestId: id };
  const commit = recorder({ table, accountId, author, now });
  await commit(async () => {
    const current = await table.get(exportKey(accountId, id), StoredExport);
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
      writes: [{ update: exportKey(accountId, id), set, if: { version: current.version } }],
      changes: [change(exportKind, "finished", id, { after: { id, row_count: counted.rows } })],
    };
  });
}
