import { clock } from "../clock.ts";
import { resolverHere } from "../dns/outside.ts";
import { createLog } from "../log.ts";
import { runtime } from "../runtime.ts";
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
