import type { EventBridgeEvent } from "aws-lambda";
import * as z from "zod";

import { watchWallet } from "../../shared/billing/recharges/watch.ts";
import { createLog } from "../../shared/core/log.ts";
import { clock } from "../../shared/core/time.ts";
import { runtime } from "../../shared/http/runtime.ts";
import { openTable } from "../../shared/table/table.ts";

const WatchedEvent = z.object({ account_id: z.string().min(1) });

/** Checks the wallet of an event's account. The bus calls this worker for the events that change a wallet. */
export async function handler({ detail }: Pick<EventBridgeEvent<string, unknown>, "detail">): Promise<void> {
  const { account_id } = WatchedEvent.parse(detail);
  const { env, client } = runtime();
  await watchWallet(account_id, { table: openTable(client, env.TABLE_NAME), now: clock });
  createLog(env.LOG_LEVEL, { worker: "watch_wallets" }, env.LOG_FORMAT).debug("watched", { account_id });
}
