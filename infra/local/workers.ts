import type { Table } from "../../shared/table/table.ts";
import type { Poller } from "./poller.ts";
import { startPublishing } from "./publish.ts";
import { startWebhooks } from "./webhooks.ts";

type WorkersOptions = { table: Table; dataDir: string; onError: (what: string, error: unknown) => void };

/** The product's workers: changes become events, events become deliveries of webhooks. */
export async function startWorkers({ table, dataDir, onError }: WorkersOptions): Promise<Poller> {
  const webhooks = startWebhooks({ dataDir, onError });
  const publishing = await startPublishing({ table, dataDir, onEvent: webhooks.onEvent, onError });
  return {
    wake: publishing.wake,
    stop: async () => {
      await publishing.stop();
      await webhooks.stop();
    },
  };
}
