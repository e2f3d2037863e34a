import { randomUUID } from "node:crypto";

import { runtime } from "../../shared/http/runtime.ts";
import { workerContext } from "../../shared/http/worker.ts";
import { sweepMigrations } from "../../shared/migrations/sweep.ts";

/**
 * Gives rows of earlier versions their present form. A run begins no further account after 40 seconds. Scheduled every
 * minute.
 */
export async function handler(): Promise<void> {
  const work = workerContext("migrate_rows");
  const swept = await sweepMigrations({ ...work, requestId: randomUUID() });
  // At a terminal, lines about migrations would hide the lines that a person looks for.
  work.log[swept.accounts > 0 && runtime().env.LOG_FORMAT !== "text" ? "info" : "debug"]("swept", { ...swept });
}
