import { runtime } from "../../shared/http/runtime.ts";
import { openWork } from "../../shared/webhooks/deliver.ts";
import { sweep } from "../../shared/webhooks/sweep.ts";

/** Retries the webhook deliveries that are due. Scheduled every minute. */
export async function handler(): Promise<void> {
  const work = openWork("retry_deliveries");
  const startedMs = performance.now();
  const swept = await sweep(work);
  // A deployment logs every run with due deliveries, because metrics count these lines. A terminal shows only changes.
  const hasChanged = Object.keys(swept).some((name) => name !== "due" && name !== "pending");
  const isNews = runtime().env.LOG_FORMAT === "text" ? hasChanged : swept.due > 0;
  work.log[isNews ? "info" : "debug"]("swept", {
    ...swept,
    duration_ms: Math.round(performance.now() - startedMs),
  });
}
