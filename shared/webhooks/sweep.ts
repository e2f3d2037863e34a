import { deliver, type Turn, type Work } from "./deliver.ts";
import { loadDelivery } from "./delivery.ts";
import { dueKey, readDue, type Due } from "./due.ts";
import { inParallel } from "./parallel.ts";

type Bounds = { limit?: number; atOnce?: number; budgetMs?: number };

/** How many deliveries were due, and how often each thing came of their turns. */
export type Swept = { due: number } & Partial<Record<Turn | "stale" | "error", number>>;

/**
 * Tries the deliveries that are due, webhook by webhook in turns so that one with many holds up no other: up to
 * `limit` in a run, `atOnce` at the same time, and none is begun after `budgetMs`. What fails on our side is
 * logged and stays due.
 */
export async function sweep(work: Work, bounds: Bounds = {}): Promise<Swept> {
  const { limit = 200, atOnce = 10, budgetMs = 40_000 } = bounds;
  const startedMs = performance.now();
  const due = await readDue(work.table, work.now());
  const isOver = (): boolean => performance.now() - startedMs > budgetMs;
  const turns = await inParallel(inTurns(due).slice(0, limit), atOnce, (one) => turnOf(one, work), isOver);
  const swept: Swept = { due: due.length };
  for (const turn of turns) {
    const name = turn.status === "fulfilled" ? turn.value : "error";
    swept[name] = (swept[name] ?? 0) + 1;
    if (turn.status === "rejected") work.log.error("delivery not tried", { reason: String(turn.reason) });
  }
  return swept;
}

async function turnOf(due: Due, work: Work): Promise<Turn | "stale"> {
  const loaded = await loadDelivery(work.table, due, work.now());
  if (loaded?.delivery.next_attempt_at === due.at) return deliver(loaded, work);
  await work.table.attempt({ delete: dueKey(due, due.at) });
  return "stale";
}

/** The first of every webhook, then the second of each, and so on; each webhook's own in their order. */
function inTurns(due: readonly Due[]): Due[] {
  const places = new Map<string, number>();
  const placed = due.map((one) => {
    const place = places.get(one.webhook_id) ?? 0;
    places.set(one.webhook_id, place + 1);
    return { one, place };
  });
  return placed.toSorted((a, b) => a.place - b.place).map(({ one }) => one);
}
