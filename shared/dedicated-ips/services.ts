import { createLog } from "../core/log.ts";
import { clock } from "../core/time.ts";
import { resolverHere } from "../dns/services.ts";
import { runtime } from "../http/runtime.ts";
import { openTable } from "../table/table.ts";
import type { IpContext } from "./change.ts";

/** The services of the workers for dedicated IPs in this process. Reads the environment when called, not at import. */
export function ipContext(worker: string): IpContext {
  const { env, client } = runtime();
  return {
    table: openTable(client, env.TABLE_NAME),
    now: clock,
    log: createLog(env.LOG_LEVEL, { worker }, env.LOG_FORMAT),
    resolver: resolverHere(),
  };
}
