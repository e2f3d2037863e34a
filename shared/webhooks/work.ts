import { clock } from "../core/clock.ts";
import { createLog } from "../core/log.ts";
import { runtime } from "../http/runtime.ts";
import { openTable } from "../table/table.ts";
import type { Work } from "./deliver.ts";
import { outside } from "./services.ts";

/** What a worker of this process delivers with. Needs the environment when it is called, not at import. */
export function openWork(worker: string): Work {
  const { env, client } = runtime();
  return {
    ...outside(),
    table: openTable(client, env.TABLE_NAME),
    log: createLog(env.LOG_LEVEL, { worker }, env.LOG_FORMAT),
    now: clock,
  };
}
