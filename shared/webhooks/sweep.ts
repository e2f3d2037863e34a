import { mapConcurrently, roundRobin } from "../core/concurrency.ts";
import { deliver, type Turn, type Work } from "./deliver.ts";
import { loadDelivery } from "./delivery.ts";
import { failingAmong } from "./outcome.ts";
import { dueKey, readDue, type Due } from "./schedule.ts";
import { StoredWebhook, webhookKey } from "./webhook.ts";

type Bounds = { limit?: number; atOnce?: number; budgetMs?: number };
type Outcome = Turn | "stale" | "error";

/** How many deliveries were due, and how many turns had each result. */
export type Swept = { due: number } & Partial<Record<Outcome, number>>;

/** The most deliveries of a failing webhook in one run; they are tried only as long as they are accepted. */
const failingLimit = 3;

/**
 * Tries the due deliveries.
 * - It takes turns over the accounts, and over the webhooks of each account, so that one with many deliveries delays no
 *   other.
 * - It tries up to `limit` deliveries in a run, `atOnce` at the same time, and begins none after `budgetMs`.
 * - Failing webhooks have the same number of places of their own; a few deliveries of each are tried, one after the
 *   other.
 * - After a webhook fails, its other deliveries wait for the next run.
 * - A failure on our side is logged, and the delivery stays due.
 */
export async function sweep(work: Work, bounds: Bounds = {}): Promise<Swept> {
  const { limit = 200, atOnce = 10, budgetMs = 40_000 } = bounds;
  const startedMs = performance.now();
  const isOver = (): boolean => performance.now() - startedMs > budgetMs;
  const due = await readDue(work.table, work.now());
  const failing = await activeAndFailing(due, work);
  const healthy = inFairTurns(due.filter(({ webhook_id }) => !failing.has(webhook_id)));
  const probes = inFairTurns(due.filter(({ webhook_id }) => failing.has(webhook_id)));
  const failed = new Set<string>();
  const run = (items: Due[][]) =>
    mapConcurrently(items.slice(0, limit), atOnce, (few) => tryInOrder(few, failed, isOver, work), isOver);
  const ran = await Promise.all([run(healthy.map((one) => [one])), run(perWebhook(probes))]);
  const swept: Swept = { due: due.length };
  for (const turns of ran.flat()) {
    if (turns.status === "rejected") throw turns.reason;
    for (const name of turns.value) swept[name] = (swept[name] ?? 0) + 1;
  }
  return swept;
}

/**
 * The ids of the webhooks that are active and failing. Deliveries of a disabled or deleted webhook are given up at
 * once, so such a webhook is not limited like a failing one.
 */
async function activeAndFailing(due: readonly Due[], { table }: Work): Promise<Set<string>> {
  const places = [...new Map(due.map((one) => [one.webhook_id, one])).values()];
  const failing = await failingAmong(table, places);
  const candidates = places.filter(({ webhook_id }) => failing.has(webhook_id));
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

/** The first few due deliveries of each webhook, ordered by each webhook's first delivery. */
function perWebhook(due: readonly Due[]): Due[][] {
  const webhooks = Map.groupBy(due, ({ webhook_id }) => webhook_id);
  return [...webhooks.values()].map((all) => all.slice(0, failingLimit));
}

async function tryInOrder(
  few: readonly Due[],
  failed: Set<string>,
  isOver: () => boolean,
  work: Work,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const due of few) {
    if (failed.has(due.webhook_id) || isOver()) break;
    const outcome = await turnOf(due, work);
    outcomes.push(outcome);
    if (outcome === "pending") failed.add(due.webhook_id);
  }
  return outcomes;
}

async function turnOf(due: Due, work: Work): Promise<Outcome> {
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
