import { createLog } from "../core/log.ts";
import { clock } from "../core/time.ts";
import { resolverHere } from "../dns/services.ts";
import { runtime } from "../http/runtime.ts";
import { openTable } from "../table/table.ts";
import type { IpWork } from "./work.ts";

/** What a worker of this process moves dedicated IPs on with. Needs the environment when it is called, not at import. */
export function ipWork(worker: string): IpWork {
  const { env, client } = runtime();
  return {
    table: openTable(client, env.TABLE_NAME),
    now: clock,
    log: createLog(env.LOG_LEVEL, { worker }, env.LOG_FORMAT),
    resolver: resolverHere(),
  };
}
