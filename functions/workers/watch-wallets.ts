import * as z from "zod";

import { watchWallet } from "../../shared/billing/recharges/watch.ts";
import { type BusEvent, workerContext } from "../../shared/http/worker.ts";

const WatchedEvent = z.object({ account_id: z.string().min(1) });

/**
 * Checks the wallet of an event's account: begins a recharge if the wallet needs one, and records a low balance. The
 * bus calls this worker for the events that change a wallet.
 */
export async function handler({ detail }: BusEvent): Promise<void> {
  const { account_id } = WatchedEvent.parse(detail);
  const work = workerContext("watch_wallets");
  await watchWallet(account_id, work);
  work.log.debug("watched", { account_id });
}
