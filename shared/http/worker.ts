import type { EventBridgeEvent } from "aws-lambda";
import * as z from "zod";

import { createLog, type Log } from "../core/log.ts";
import { clock } from "../core/time.ts";
import { openTable, type Table } from "../table/table.ts";
import { runtime } from "./runtime.ts";

/** The table of this process. Reads the environment when it is called, not at import. */
export function tableHere(): Table {
  const { env, client } = runtime();
  return openTable(client, env.TABLE_NAME);
}

/** The table, the log and the clock of a worker. */
export type WorkerContext = { table: Table; log: Log; now: () => Date };

/**
 * The context of a worker in this process. Each line of its log has the worker's name. Reads the environment when it is
 * called, not at import.
 */
export function workerContext(worker: string): WorkerContext {
  const { env } = runtime();
  return { table: tableHere(), log: createLog(env.LOG_LEVEL, { worker }, env.LOG_FORMAT), now: clock };
}

/** An event from the bus, as a worker gets it. */
export type BusEvent = Pick<EventBridgeEvent<string, unknown>, "detail">;

/** The members of an event that name its account and its resource. */
export const ResourceEvent = z.object({ account_id: z.string(), resource: z.object({ id: z.string() }) });
