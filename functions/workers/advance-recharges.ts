import { sweepRecharges } from "../../shared/billing/recharges/provider-events.ts";
import { rechargingHere } from "../../shared/billing/services.ts";
import { workerContext } from "../../shared/http/worker.ts";

/**
 * Charges saved cards, and asks the payment provider about charges and about pages for saving a card. Scheduled every
 * minute.
 */
export async function handler(): Promise<void> {
  const { log } = workerContext("advance_recharges");
  const swept = await sweepRecharges(rechargingHere(log));
  log[swept.due > 0 ? "info" : "debug"]("swept", { ...swept });
}
