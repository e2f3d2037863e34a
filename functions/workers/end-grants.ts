import { sweepGrants } from "../../shared/access/expiry.ts";
import { workerContext } from "../../shared/http/worker.ts";

/**
 * Records the end of grants and assigned roles that have ended by themselves, and announces service accounts that
 * expire soon. Scheduled every minute.
 */
export async function handler(): Promise<void> {
  const work = workerContext("end_grants");
  const swept = await sweepGrants(work);
  work.log[swept.due > 0 ? "info" : "debug"]("swept", { ...swept });
}
