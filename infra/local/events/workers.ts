import { handler as advanceDedicatedIps } from "../../../functions/workers/advance-dedicated-ips.ts";
import { handler as advanceDomains } from "../../../functions/workers/advance-domains.ts";
import { handler as askCheckouts } from "../../../functions/workers/ask-checkouts.ts";
import { handler as runBillingDay } from "../../../functions/workers/run-billing-day.ts";
import type { Table } from "../../../shared/table/table.ts";
import { startPoller, type Poller } from "./poller.ts";
import { startPublishing } from "./publish.ts";
import { startWebhooks } from "./webhooks.ts";

/** `onClockMoved` has what waits for a time looked at. */
export type Workers = Poller & { onClockMoved: () => void };

type WorkersOptions = { table: Table; dataDir: string; onError: (what: string, error: unknown) => void };

const hourMs = 3_600_000;

/** Registrations take seconds, and whoever delegates a domain waits. */
const domainsEveryMs = 2_000;

const checkoutsEveryMs = 15_000;

/** Asks about checkouts: at the start about all that are open, as the webhooks of a killed product are lost. */
function startAsking(onError: WorkersOptions["onError"]): Poller {
  let early = true;
  return startPoller({
    work: async () => {
      await askCheckouts({ early });
      early = false;
    },
    idleMs: checkoutsEveryMs,
    onError: (error) => onError("checkouts", error),
  });
}

/**
 * The product's workers: changes become events, events become deliveries and files, days become invoices, open checkouts
 * are asked about, and domains and dedicated IPs become what they are to be.
 */
export async function startWorkers({ table, dataDir, onError }: WorkersOptions): Promise<Workers> {
  const webhooks = startWebhooks({ dataDir, onError });
  // Closing a day that is closed changes nothing, so it need not be known when one ended.
  const billing = startPoller({
    work: runBillingDay,
    idleMs: hourMs,
    restRatio: 0,
    onError: (error) => onError("billing day", error),
  });
  const checkouts = startAsking(onError);
  const domains = startPoller({
    work: advanceDomains,
    idleMs: domainsEveryMs,
    onError: (error) => onError("domains", error),
  });
  const dedicatedIps = startPoller({
    work: advanceDedicatedIps,
    idleMs: domainsEveryMs,
    onError: (error) => onError("dedicated IPs", error),
  });
  const publishing = await startPublishing({ table, dataDir, onEvent: webhooks.onEvent, onError });
  return {
    wake: () => {
      publishing.wake();
      domains.wake();
      dedicatedIps.wake();
    },
    onClockMoved: () => {
      billing.wake();
      checkouts.wake();
      domains.wake();
      dedicatedIps.wake();
      webhooks.retry();
    },
    stop: async () => {
      await Promise.all([billing.stop(), checkouts.stop(), domains.stop(), dedicatedIps.stop()]);
      await publishing.stop();
      await webhooks.stop();
    },
  };
}
