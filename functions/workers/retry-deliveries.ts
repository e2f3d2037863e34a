import { sweep } from "../../shared/webhooks/sweep.ts";
import { openWork } from "../../shared/webhooks/work.ts";

/** Tries the webhook deliveries that are due; for a schedule of every minute. */
export async function handler(): Promise<void> {
  const work = openWork("retry_deliveries");
  const startedMs = performance.now();
  const swept = await sweep(work);
  work.log[swept.due > 0 ? "info" : "debug"]("swept", {
    ...swept,
    duration_ms: Math.round(performance.now() - startedMs),
  });
}
