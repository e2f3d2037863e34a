import { setTimeout as delay } from "node:timers/promises";

import { handler as advanceDedicatedIps } from "../../../functions/workers/advance-dedicated-ips.ts";
import { handler as advanceDomains } from "../../../functions/workers/advance-domains.ts";
import { handler as advanceRecharges } from "../../../functions/workers/advance-recharges.ts";
import { handler as askCheckouts } from "../../../functions/workers/ask-checkouts.ts";
import { handler as endGrants } from "../../../functions/workers/end-grants.ts";
import { handler as indexJournals } from "../../../functions/workers/index-journals.ts";
import { handler as migrateRows } from "../../../functions/workers/migrate-rows.ts";
import { handler as purgeMailboxes } from "../../../functions/workers/purge-mailboxes.ts";
import { handler as runBillingDay } from "../../../functions/workers/run-billing-day.ts";
import { minuteMs } from "../../../shared/core/time.ts";
import type { Table } from "../../../shared/table/table.ts";
import { startPoller, type Poller } from "./poller.ts";
import { startPublishing } from "./publish.ts";
import { startWebhooks } from "./webhooks.ts";

/**
 * The running workers. `onClockMoved` runs the workers at once, because moving the clock can make work due.
 * `onClockMoved` resolves when each worker has run, but after 10 seconds at the latest. Workers that take longer
 * continue in the background.
 */
export type Workers = Omit<Poller, "run"> & { onClockMoved: () => Promise<void> };

type WorkersOptions = { table: Table; dataDir: string; onError: (source: string, error: unknown) => void };

/**
 * The pause between two runs of the workers that advance domains and dedicated IPs, in milliseconds. The pause is short
 * because registrations take seconds, and users wait for the delegation of a domain.
 */
const domainsEveryMs = 2_000;

const checkoutsEveryMs = 15_000;

/** The longest time that `onClockMoved` waits, in milliseconds. */
const longestWaitMs = 10_000;

/**
 * Starts the worker that asks the payment provider about open checkouts. The first run asks about all open checkouts,
 * because webhooks from the time when the product was stopped are lost.
 */
function startCheckoutPoller(onError: WorkersOptions["onError"]): Poller {
  let isFirstRun = true;
  return startPoller({
    work: async () => {
      await askCheckouts({ early: isFirstRun });
      isFirstRun = false;
    },
    idleMs: checkoutsEveryMs,
    onError: (error) => onError("checkouts", error),
  });
}

/**
 * Starts the product's workers, except the check of the ledgers. The workers:
 * - publish events, and do the work that events start: webhook deliveries, mails and exports;
 * - close the billing days that are over, charge saved cards, and ask the payment provider about open checkouts;
 * - advance domains and dedicated IPs, index journals, purge deleted mailboxes, end grants, and rewrite old rows.
 */
export async function startWorkers({ table, dataDir, onError }: WorkersOptions): Promise<Workers> {
  const webhooks = startWebhooks({ dataDir, onError });
  const every = (idleMs: number, subject: string, work: () => Promise<void>): Poller =>
    startPoller({ work, idleMs, onError: (error) => onError(subject, error) });
  const domains = every(domainsEveryMs, "domains", advanceDomains);
  const dedicatedIps = every(domainsEveryMs, "dedicated IPs", advanceDedicatedIps);
  const pollers = [
    every(minuteMs, "billing day", runBillingDay),
    startCheckoutPoller(onError),
    every(checkoutsEveryMs, "recharges", advanceRecharges),
    every(minuteMs, "indexes of journals", indexJournals),
    every(minuteMs, "deleted mailboxes", purgeMailboxes),
    every(minuteMs, "ended grants", endGrants),
    every(minuteMs, "migrations", migrateRows),
    domains,
    dedicatedIps,
  ];
  const publishing = await startPublishing({ table, dataDir, onEvent: webhooks.onEvent, onError });
  return {
    wake: () => {
      publishing.wake();
      domains.wake();
      dedicatedIps.wake();
    },
    onClockMoved: async () => {
      const waiting = new AbortController();
      const done = Promise.all([...pollers.map((poller) => poller.run()), webhooks.retry()]);
      const late = delay(longestWaitMs, undefined, { signal: waiting.signal }).catch(() => undefined);
      await Promise.race([done, late]);
      waiting.abort();
    },
    stop: async () => {
      await Promise.all(pollers.map((poller) => poller.stop()));
      await publishing.stop();
      await webhooks.stop();
    },
  };
}
