import { handler as advanceDedicatedIps } from "../../../functions/workers/advance-dedicated-ips.ts";
import { handler as advanceDomains } from "../../../functions/workers/advance-domains.ts";
import { handler as askCheckouts } from "../../../functions/workers/ask-checkouts.ts";
import { handler as indexJournals } from "../../../functions/workers/index-journals.ts";
import { handler as runBillingDay } from "../../../functions/workers/run-billing-day.ts";
import { hourMs, minuteMs } from "../../../shared/core/time.ts";
import type { Table } from "../../../shared/table/table.ts";
import { startPoller, type Poller } from "./poller.ts";
import { startPublishing } from "./publish.ts";
import { startWebhooks } from "./webhooks.ts";

/** The running workers. After a move of the clock, `onClockMoved` makes them do the work that became due. */
export type Workers = Poller & { onClockMoved: () => void };

type WorkersOptions = { table: Table; dataDir: string; onError: (what: string, error: unknown) => void };

/** The interval is short because registrations take seconds, and users wait for the delegation of a domain. */
const domainsEveryMs = 2_000;

const checkoutsEveryMs = 15_000;

/**
 * Starts the worker that asks the payment provider about open checkouts. Its first run asks about all of them, because
 * webhooks that were sent while the product was down are lost.
 */
function startCheckoutPoller(onError: WorkersOptions["onError"]): Poller {
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
 * Starts the product's workers. They:
 * - publish events, and do the work that events start: webhook deliveries, mails and exports;
 * - close billing days, and ask the payment provider about open checkouts;
 * - advance domains and dedicated IPs, and index journals.
 */
export async function startWorkers({ table, dataDir, onError }: WorkersOptions): Promise<Workers> {
  const webhooks = startWebhooks({ dataDir, onError });
  // Closing a day twice changes nothing, so an hourly run is enough.
  const billing = startPoller({
    work: runBillingDay,
    idleMs: hourMs,
    restRatio: 0,
    onError: (error) => onError("billing day", error),
  });
  const checkouts = startCheckoutPoller(onError);
  const journals = startPoller({
    work: indexJournals,
    idleMs: minuteMs,
    onError: (error) => onError("indexes of journals", error),
  });
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
      journals.wake();
      domains.wake();
      dedicatedIps.wake();
      webhooks.retry();
    },
    stop: async () => {
      await Promise.all([billing, checkouts, journals, domains, dedicatedIps].map((poller) => poller.stop()));
      await publishing.stop();
      await webhooks.stop();
    },
  };
}
