import { createLog } from "../../core/log.ts";
import { clock } from "../../core/time.ts";
import { runtime } from "../../http/runtime.ts";
import { dns } from "../../providers/dns/factory.ts";
import { openTable } from "../../table/table.ts";
import type { ZoneWork } from "./sync.ts";

/** The services for syncing zones in this process. Reads the environment when it is called, not at import. */
export function zoneWork(name: string): ZoneWork {
  const { env, client } = runtime();
  const table = openTable(client, env.TABLE_NAME);
  return { table, dns: dns(table), now: clock, log: createLog(env.LOG_LEVEL, { work: name }, env.LOG_FORMAT) };
}
