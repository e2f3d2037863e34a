import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { runExport } from "../../shared/mail/mailboxes/run-export.ts";
import { embeddedFiles } from "../../shared/providers/files/embedded.ts";
import { documentClient, openTable } from "../../shared/table/table.ts";

const [accountId = "", id = ""] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), "export-"));
try {
  const table = openTable(documentClient(), "bench");
  const files = embeddedFiles({ folder, key: Buffer.alloc(32), baseUrl: "http://127.0.0.1" });
  let memory = process.memoryUsage().rss;
  const timer = setInterval(() => (memory = Math.max(memory, process.memoryUsage().rss)), 20);
  const startedAt = performance.now();
  await runExport(accountId, id, { table, files, now: () => new Date() });
  clearInterval(timer);
  const ms = performance.now() - startedAt;
  const { size } = await stat(join(folder, `exports/${accountId}/${id}.csv`));
  process.stdout.write(JSON.stringify({ ms, mebibytes: size / 2 ** 20, memory: memory / 2 ** 20 }));
} finally {
  await rm(folder, { recursive: true, force: true });
}
