import { sweepGrants } from "../../shared/access/expiry.ts";
import { workerContext } from "../../shared/http/worker.ts";

/**
 * Records the end of grants and assigned roles that have ended by themselves, announces service accounts that expire
 * soon, and revokes service accounts that expired 400 days ago. Scheduled every minute.
 */
export async function handler(): Promise<void> {
  const work = workerContext("end_grants");
  const swept = await sweepGrants(work);
  work.log[swept.due > 0 ? "info" : "debug"]("swept", { ...swept });
}
