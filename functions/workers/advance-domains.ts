import { domainWork } from "../../shared/domains/setup/services.ts";
import { sweepDomains } from "./sweep.ts";

/** Does what is due of purchases, domains and zones; for a schedule of every minute. */
export async function handler(): Promise<void> {
  const work = domainWork("advance_domains");
  const startedMs = performance.now();
  const swept = await sweepDomains(work);
  work.log[swept.due > 0 ? "info" : "debug"]("swept", {
    ...swept,
    duration_ms: Math.round(performance.now() - startedMs),
  });
}
