import { sweepRecharges } from "../../shared/billing/recharges/provider-events.ts";
import { rechargingHere } from "../../shared/billing/services.ts";
import { createLog } from "../../shared/core/log.ts";
import { runtime } from "../../shared/http/runtime.ts";

/**
 * Charges saved cards, and asks the payment provider about charges and about pages for saving a card. Scheduled every
 * minute.
 */
export async function handler(): Promise<void> {
  const { env } = runtime();
  const log = createLog(env.LOG_LEVEL, { worker: "advance_recharges" }, env.LOG_FORMAT);
  const swept = await sweepRecharges(rechargingHere(log));
  log[swept.due > 0 ? "info" : "debug"]("swept", { ...swept });
}
