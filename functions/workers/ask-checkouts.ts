import { sweepCheckouts } from "../../shared/billing/ask.ts";
import { askingHere } from "../../shared/billing/services.ts";
import { workerContext } from "../../shared/http/worker.ts";

/**
 * Asks the payment provider about due checkouts, in case a webhook was lost. Scheduled every minute. With `early`, also
 * asks about open checkouts that are not due yet, which helps after an outage. One call asks about 500 checkouts at
 * most.
 */
export async function handler({ early = false }: { early?: boolean } = {}): Promise<void> {
  const { log } = workerContext("ask_checkouts");
  const swept = await sweepCheckouts(askingHere(log), { early });
  log[swept.due > 0 ? "info" : "debug"]("swept", { ...swept });
}
