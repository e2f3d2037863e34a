import { workerContext } from "../../shared/http/worker.ts";
import { sweepMailboxes } from "../../shared/mail/mailboxes/purge.ts";

/** Purges the mailboxes that were deleted at least 7 days ago. Scheduled every minute. */
export async function handler(): Promise<void> {
  const work = workerContext("purge_mailboxes");
  const swept = await sweepMailboxes(work);
  work.log[swept.due > 0 ? "info" : "debug"]("swept", { ...swept });
}
