import { stat } from "node:fs/promises";
import { join } from "node:path";

import { runExport } from "../../functions/workers/make-mailbox-export.ts";
import { exportKey, StoredExport } from "../../shared/mail/mailboxes/export.ts";
import { filesOf } from "../../shared/providers/files/factory.ts";
import { TableClient } from "../../shared/table/client.ts";
import { openTable } from "../../shared/table/table.ts";

// Runs the export with the id in the arguments. Prints its milliseconds, the bytes of the file, and the peak memory.
const [accountId = "", id = ""] = process.argv.slice(2);
const { TABLE_NAME = "", FILES_DIR = "" } = process.env;
const table = openTable(new TableClient(), TABLE_NAME);
const startedAt = performance.now();
await runExport(accountId, id, { table, files: filesOf(process.env), now: () => new Date() });
const ms = performance.now() - startedAt;
const stored = await table.get(exportKey(accountId, id), StoredExport);
const { size: bytes } = await stat(join(FILES_DIR, stored?.file_key ?? ""));
process.stdout.write(JSON.stringify({ ms, bytes, kibibytes: process.resourceUsage().maxRSS }));
