import { mapConcurrently, roundRobin } from "../core/concurrency.ts";
import { deliver, type DeliverResult, type DeliveryContext } from "./deliver.ts";
import { loadDelivery } from "./delivery.ts";
import { failingAmong } from "./outcome.ts";
import { dueKey, firstOfEach, readDue, type Due } from "./schedule.ts";
import { StoredWebhook, webhookKey } from "./webhook.ts";

type Bounds = { limit?: number; atOnce?: number; budgetMs?: number };
type AttemptOutcome = DeliverResult | "stale" | "error";

/** The number of due deliveries, and the number of attempts by result. */
export type SweepResult = { due: number } & Partial<Record<AttemptOutcome, number>>;

/** The most deliveries of one run, at a hundred a second. */
const runLimit = 4_000;

/** The deliveries of a failing webhook that are tried before the others. The first one that fails ends its run. */
const failingLimit = 3;

/** The most deliveries of one webhook that count as due, so that a receiver that is down raises no alarm by itself. */
const countedPerWebhook = 200;

/**
 * Tries the due deliveries.
 * - It takes turns between the accounts, and between the webhooks of each account, so that many deliveries of one
 *   webhook do not delay the others.
 * - It tries up to `limit` deliveries in a run, `atOnce` at the same time, and begins none after `budgetMs`.
 * - In addition it tries up to `limit` failing webhooks: a few deliveries of each, one after another. If they are
 *   accepted, it tries up to `limit` of the others too.
 * - After an attempt fails, the other deliveries of its webhook wait for the next run.
 * - A failure on our side is logged, and the delivery stays due.
 */
export async function sweep(work: DeliveryContext, bounds: Bounds = {}): Promise<SweepResult> {
  const { limit = runLimit, atOnce = 20, budgetMs = 40_000 } = bounds;
  const startedMs = performance.now();
  const isOver = (): boolean => performance.now() - startedMs > budgetMs;
  const due = await readDue(work.table, work.now(), runLimit);
  const failing = await activeAndFailing(due, work);
  const healthy = due.filter(({ webhook_id }) => !failing.has(webhook_id));
  const waiting = due.filter(({ webhook_id }) => failing.has(webhook_id));
  const probes = firstOfEach(failingLimit, waiting);
  const seen: Seen = { failed: new Set(), accepted: new Set() };
  const run = (items: Due[][]) =>
    mapConcurrently(items.slice(0, limit), atOnce, (sequence) => tryInOrder(sequence, seen, isOver, work), isOver);
  const each = (items: readonly Due[]) => run(inFairTurns(items).map((one) => [one]));
  const probed = run(perWebhook(inFairTurns(probes))).then(async (ran) => {
    const first = new Set(probes);
    const others = waiting.filter((one) => seen.accepted.has(one.webhook_id) && !first.has(one));
    return [...ran, ...(await each(others))];
  });
  const ran = await Promise.all([each(healthy), probed]);
  const swept: SweepResult = { due: firstOfEach(countedPerWebhook, due).length };
  for (const outcomes of ran.flat()) {
    if (outcomes.status === "rejected") throw outcomes.reason;
    for (const name of outcomes.value) swept[name] = (swept[name] ?? 0) + 1;
  }
  return swept;
}

/**
 * The ids of the webhooks that are active and failing. A disabled or deleted webhook does not count as failing, because
 * its deliveries end without an attempt.
 */
async function activeAndFailing(due: readonly Due[], { table }: DeliveryContext): Promise<Set<string>> {
  const webhooks = [...new Map(due.map((one) => [one.webhook_id, one])).values()];
  const failing = await failingAmong(table, webhooks);
  const candidates = webhooks.filter(({ webhook_id }) => failing.has(webhook_id));
  const rows = await table.getMany(candidates.map((one) => webhookKey(one.account_id, one.webhook_id)));
  const active = StoredWebhook.pick({ id: true, status: true });
  const isActive = (one: Due, index: number): boolean => {
    const { data } = active.safeParse(rows[index]);
    return data?.id === one.webhook_id && data.status === "active";
  };
  return new Set(candidates.filter(isActive).map(({ webhook_id }) => webhook_id));
}

const inFairTurns = (due: readonly Due[]): Due[] =>
  roundRobin(
    roundRobin(due, ({ webhook_id }) => webhook_id),
    ({ account_id }) => account_id,
  );

/** The deliveries of each webhook, ordered by each webhook's first delivery. */
const perWebhook = (due: readonly Due[]): Due[][] => [...Map.groupBy(due, ({ webhook_id }) => webhook_id).values()];

/** The webhooks of which an attempt failed in this run, and those of which one was accepted. */
type Seen = { failed: Set<string>; accepted: Set<string> };

async function tryInOrder(
  sequence: readonly Due[],
  { failed, accepted }: Seen,
  isOver: () => boolean,
  work: DeliveryContext,
): Promise<AttemptOutcome[]> {
  const outcomes: AttemptOutcome[] = [];
  for (const due of sequence) {
    if (failed.has(due.webhook_id) || isOver()) break;
    const outcome = await tryDue(due, work);
    outcomes.push(outcome);
    if (outcome === "pending") failed.add(due.webhook_id);
    if (outcome === "succeeded") accepted.add(due.webhook_id);
  }
  return outcomes;
}

async function tryDue(due: Due, work: DeliveryContext): Promise<AttemptOutcome> {
  try {
    const loaded = await loadDelivery(work.table, due, work.now());
    if (loaded?.delivery.next_attempt_at === due.at) return await deliver(loaded, work);
    await work.table.attempt({ delete: dueKey(due, due.at) });
    return "stale";
  } catch (error) {
    work.log.error("delivery not tried", { reason: String(error) });
    return "error";
  }
}
