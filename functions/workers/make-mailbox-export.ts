import { randomUUID } from "node:crypto";

import { isLive, type Permissions } from "../../shared/auth/permissions.ts";
import { filesHere } from "../../shared/billing/services.ts";
import { change } from "../../shared/changes/kind.ts";
import { systemAuthor } from "../../shared/changes/record.ts";
import { recorder } from "../../shared/changes/recorder.ts";
import { type BusEvent, ResourceEvent, workerContext } from "../../shared/http/worker.ts";
import { csvHeader, csvLines } from "../../shared/mail/mailboxes/bulk.ts";
import { eachMailbox } from "../../shared/mail/mailboxes/each.ts";
import { StoredExport, exportKey, exportKind, mostRuns } from "../../shared/mail/mailboxes/export.ts";
import type { Files } from "../../shared/providers/files/files.ts";
import type { Table } from "../../shared/table/table.ts";

/** The permissions at the time of the request, without the grants whose `expires_at` has passed since. */
const permissionsOf = ({ everything, grants }: StoredExport["permissions"], now: Date): Permissions => ({
  member: true,
  everything,
  superAdmin: false,
  grants: grants.filter(({ expires_at }) => isLive(expires_at, now.toISOString())),
});

/** The least number of rows between two updates of the progress. */
const progressEvery = 5_000;

/**
 * The CSV of an export. Counts its rows in `counted`. Stores the progress after the first rows, and then after each
 * further `progressEvery` rows or more.
 */
async function* csvOf(
  stored: StoredExport,
  reader: { table: Table; permissions: Permissions },
  counted: { rows: number },
): AsyncGenerator<Buffer> {
  const { account_id, id, filter } = stored;
  yield Buffer.from(csvHeader());
  let storedRows = Number.NEGATIVE_INFINITY;
  for await (const mailboxes of eachMailbox(account_id, filter, reader)) {
    counted.rows += mailboxes.length;
    yield Buffer.from(csvLines(mailboxes));
    if (counted.rows - storedRows < progressEvery) continue;
    storedRows = counted.rows;
    await reader.table.attempt({
      update: exportKey(account_id, id),
      set: { row_count: storedRows, status: "running" },
      // Stores nothing if another worker has finished the same export meanwhile, which changes the export's version.
      if: { id, version: stored.version },
    });
  }
}

type ExportServices = { table: Table; files: Files; now: () => Date };

/**
 * Runs an export, which writes its file. Does nothing if the export does not exist or is done. A run after a failure
 * starts from the beginning. If a run fails after `mostRuns` runs have begun, the export gets the status `failed`. A
 * later run can still finish such an export.
 */
export async function runExport(accountId: string, id: string, services: ExportServices): Promise<void> {
  const { table, now } = services;
  const stored = await table.get(exportKey(accountId, id), StoredExport);
  if (!stored || stored.status === "done") return;
  const runs = (stored.runs ?? 0) + 1;
  const set = { runs, run_started_at: now().toISOString() };
  await table.attempt({ update: exportKey(accountId, id), set, if: { id, version: stored.version } });
  try {
    await makeFile(stored, services);
  } catch (error) {
    if (runs >= mostRuns) await endExport(stored, "failed", { status: "failed" }, services);
    throw error;
  }
}

async function makeFile(stored: StoredExport, { table, files, now }: ExportServices): Promise<void> {
  const { account_id, id } = stored;
  // Each run has a file of its own, so a slower run cannot replace the file of a finished export.
  const file_key = `exports/${account_id}/${id}/${randomUUID()}.csv`;
  const counted = { rows: 0 };
  const permissions = permissionsOf(stored.permissions, now());
  const csv = csvOf(stored, { table, permissions }, counted);
  await files.putStream(file_key, csv, "text/csv; charset=utf-8");
  const set = {
    status: "done",
    row_count: counted.rows,
    file_key,
    // The permissions by which the file was made. Only a caller who still holds them may have the file.
    permissions: { everything: permissions.everything, grants: [...permissions.grants] },
    finished_at: now().toISOString(),
  } as const;
  await endExport(stored, "finished", set, { table, now });
}

/** Stores and records the end of an export. Does nothing if the export is gone or done, or has the status of `set`. */
async function endExport(
  { account_id, id }: StoredExport,
  verb: "finished" | "failed",
  set: { status: StoredExport["status"]; row_count?: number; [member: string]: unknown },
  { table, now }: Pick<ExportServices, "table" | "now">,
): Promise<void> {
  const author = systemAuthor("mailbox export", "exports", id);
  const commit = recorder({ table, accountId: account_id, author, now });
  await commit(async () => {
    const current = await table.get(exportKey(account_id, id), StoredExport);
    if (!current || current.status === "done" || current.status === set.status) {
      return { value: undefined, writes: [], changes: [] };
    }
    const { row_count, version } = { ...current, ...set };
    return {
      value: undefined,
      writes: [{ update: exportKey(account_id, id), set: { ...set, version: version + 1 }, if: { version } }],
      changes: [change(exportKind, verb, id, { after: { id, row_count } })],
    };
  });
}

/** Makes the file of a requested mailbox export. Triggered by the export's event from the bus. */
export async function handler({ detail }: BusEvent): Promise<void> {
  const { account_id, resource } = ResourceEvent.parse(detail);
  const work = workerContext("make_mailbox_export");
  await runExport(account_id, resource.id, { ...work, files: filesHere() });
  work.log.info("export made", { account_id, export_id: resource.id });
}
