import { mapConcurrently, roundRobin, allFulfilled } from "../core/concurrency.ts";
import { deliver, type DeliverResult, type DeliveryContext } from "./deliver.ts";
import { loadDelivery } from "./delivery.ts";
import { failingAmong } from "./outcome.ts";
import { dueKey, firstOfEach, readDue, type DueDelivery } from "./schedule.ts";
import { StoredWebhook, webhookKey } from "./webhook.ts";

type Bounds = { limit?: number; atOnce?: number; budgetMs?: number };
type AttemptOutcome = DeliverResult | "stale" | "error";

/**
 * `due` is the number of due deliveries that `readDue` returned. Of each webhook, at most 200 deliveries count. Every
 * other member is the number of results of one kind.
 */
export type SweepResult = { due: number } & Partial<Record<AttemptOutcome, number>>;

/**
 * The default of `limit`. A run takes about 40 seconds at most, and tries about a hundred deliveries a second. A run
 * also reads at most this many due deliveries of a webhook from each shard of the queue.
 */
const runLimit = 4_000;

/** A failing webhook is probed with this many deliveries before its other deliveries are tried. */
const probesPerWebhook = 3;

/** The most due deliveries of one webhook that count, so that one receiver that is down raises no alarm. */
const countedPerWebhook = 200;

/**
 * Tries the due deliveries.
 * - Takes the accounts in turn, and in each account the webhooks in turn, so that many deliveries of one webhook do not
 *   delay other webhooks.
 * - Tries up to `limit` deliveries of webhooks that are not failing, `atOnce` at the same time. Begins no delivery
 *   after `budgetMs`.
 * - At the same time, probes up to `limit` failing webhooks with up to three deliveries each, one after another. Then
 *   tries up to `limit` further deliveries of the webhooks that accepted a delivery.
 * - After an attempt that will be repeated, the other deliveries of the webhook wait for the next run.
 * - If the table fails during a delivery, the error is logged, and the delivery stays due.
 * - Rejects if the due deliveries or their webhooks cannot be read.
 */
export async function sweep(context: DeliveryContext, bounds: Bounds = {}): Promise<SweepResult> {
  const { limit = runLimit, atOnce = 20, budgetMs = 40_000 } = bounds;
  const startedMs = performance.now();
  const isOver = (): boolean => performance.now() - startedMs > budgetMs;
  const due = await readDue(context.table, context.now(), runLimit);
  const failing = await activeAndFailing(due, context);
  const healthy = due.filter(({ webhook_id }) => !failing.has(webhook_id));
  const toFailing = due.filter(({ webhook_id }) => failing.has(webhook_id));
  const probes = firstOfEach(probesPerWebhook, toFailing);
  const results: WebhookResults = { failed: new Set(), accepted: new Set() };
  const runSequences = (sequences: DueDelivery[][]) =>
    mapConcurrently(
      sequences.slice(0, limit),
      atOnce,
      (sequence) => tryInOrder(sequence, results, isOver, context),
      isOver,
    );
  const runEach = (deliveries: readonly DueDelivery[]) =>
    runSequences(inFairOrder(deliveries).map((delivery) => [delivery]));
  const probed = runSequences(perWebhook(inFairOrder(probes))).then(async (probeOutcomes) => {
    const alreadyTried = new Set(probes);
    const further = toFailing.filter(
      (delivery) => results.accepted.has(delivery.webhook_id) && !alreadyTried.has(delivery),
    );
    return [...probeOutcomes, ...(await runEach(further))];
  });
  const ran = await Promise.all([runEach(healthy), probed]);
  const counts: SweepResult = { due: firstOfEach(countedPerWebhook, due).length };
  for (const outcome of allFulfilled(ran.flat()).flat()) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

/**
 * The ids of the webhooks that are active and failing. Disabled and deleted webhooks need no probes, because their
 * deliveries end without an attempt.
 */
async function activeAndFailing(due: readonly DueDelivery[], { table }: DeliveryContext): Promise<Set<string>> {
  const webhooks = [...new Map(due.map((delivery) => [delivery.webhook_id, delivery])).values()];
  const failing = await failingAmong(table, webhooks);
  const candidates = webhooks.filter(({ webhook_id }) => failing.has(webhook_id));
  const rows = await table.getMany(candidates.map(({ account_id, webhook_id }) => webhookKey(account_id, webhook_id)));
  const WebhookStatus = StoredWebhook.pick({ id: true, status: true });
  const isActive = ({ webhook_id }: DueDelivery, index: number): boolean => {
    const { data } = WebhookStatus.safeParse(rows[index]);
    return data?.id === webhook_id && data.status === "active";
  };
  return new Set(candidates.filter(isActive).map(({ webhook_id }) => webhook_id));
}

/** Orders deliveries: takes the accounts in turn, and in each account the webhooks in turn. */
const inFairOrder = (due: readonly DueDelivery[]): DueDelivery[] =>
  roundRobin(
    roundRobin(due, ({ webhook_id }) => webhook_id),
    ({ account_id }) => account_id,
  );

/** Groups deliveries by webhook. The groups are in the order of their first deliveries. */
const perWebhook = (due: readonly DueDelivery[]): DueDelivery[][] => [
  ...Map.groupBy(due, ({ webhook_id }) => webhook_id).values(),
];

/**
 * The results of this run: the ids of the webhooks that failed, and the ids of the webhooks that accepted a delivery.
 */
type WebhookResults = { failed: Set<string>; accepted: Set<string> };

async function tryInOrder(
  sequence: readonly DueDelivery[],
  { failed, accepted }: WebhookResults,
  isOver: () => boolean,
  context: DeliveryContext,
): Promise<AttemptOutcome[]> {
  const outcomes: AttemptOutcome[] = [];
  for (const due of sequence) {
    if (failed.has(due.webhook_id) || isOver()) break;
    const outcome = await tryDue(due, context);
    outcomes.push(outcome);
    if (outcome === "pending") failed.add(due.webhook_id);
    if (outcome === "succeeded") accepted.add(due.webhook_id);
  }
  return outcomes;
}

/** Tries a due delivery. If the delivery is not due any more (`stale`), removes it from the queue. */
async function tryDue(due: DueDelivery, context: DeliveryContext): Promise<AttemptOutcome> {
  try {
    const loaded = await loadDelivery(context.table, due, context.now());
    if (loaded?.delivery.next_attempt_at === due.at) return await deliver(loaded, context);
    await context.table.attempt({ delete: dueKey(due, due.at) });
    return "stale";
  } catch (error) {
    context.log.error("delivery not tried", { reason: String(error) });
    return "error";
  }
}
