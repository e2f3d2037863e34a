import { createLog } from "../core/log.ts";
import { clock } from "../core/time.ts";
import { resolverHere } from "../dns/services.ts";
import { runtime } from "../http/runtime.ts";
import { openTable } from "../table/table.ts";
import type { IpWork } from "./work.ts";

/** The tools of the dedicated-IP workers in this process. Reads the environment when called, not at import. */
export function ipWork(worker: string): IpWork {
  const { env, client } = runtime();
  return {
    table: openTable(client, env.TABLE_NAME),
    now: clock,
    log: createLog(env.LOG_LEVEL, { worker }, env.LOG_FORMAT),
    resolver: resolverHere(),
  };
}
