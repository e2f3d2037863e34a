import { ipContext } from "../../shared/dedicated-ips/services.ts";
import { sweepIps } from "../../shared/dedicated-ips/sweep.ts";

/** Runs the due tasks of dedicated IPs and their assignments. Scheduled every minute. */
export async function handler(): Promise<void> {
  const work = ipContext("advance_dedicated_ips");
  const startedMs = performance.now();
  const swept = await sweepIps(work);
  work.log[swept.due > 0 ? "info" : "debug"]("swept", {
    ...swept,
    duration_ms: Math.round(performance.now() - startedMs),
  });
}
