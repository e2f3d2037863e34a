import { runtime } from "../../shared/http/runtime.ts";
import { workerContext } from "../../shared/http/worker.ts";
import { sweepJournals } from "../../shared/webhooks/index-journals.ts";

/** Indexes new entries of audit logs and of lists of deliveries. Scheduled every minute. */
export async function handler(): Promise<void> {
  const work = workerContext("index_journals");
  const swept = await sweepJournals(work);
  // At a terminal, lines about the indexing would hide the lines that a person looks for.
  work.log[swept.due > 0 && runtime().env.LOG_FORMAT !== "text" ? "info" : "debug"]("swept", { ...swept });
}
