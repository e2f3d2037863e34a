import { mapConcurrently } from "../core/concurrency.ts";
import { deliver, type Turn, type Work } from "./deliver.ts";
import { createWrites, deliveryKey, newDelivery, type Loaded } from "./delivery.ts";
import { matches } from "./filters.ts";
import { failingAmong } from "./outcome.ts";
import { bodyOf, type PublishedEvent } from "./signing.ts";
import { listWebhooks, type StoredWebhook, webhookLimit } from "./webhook.ts";

const atOnce = 5;
/** When the sweep looks after a new delivery: well after its first attempt is over. */
const firstDueMs = 120_000;

/**
 * Creates the deliveries of an event, one for each active webhook that wants it, unless they are there already,
 * and tries the new ones once, but leaves those of a failing webhook to the next sweep: it holds up no other then.
 * Every delivery that this promises is written before the first one is sent. Throws when one could not be written:
 * the same event dispatched again makes what is missing. Answers what came of the new ones.
 */
export async function dispatch(event: PublishedEvent, work: Work): Promise<Turn[]> {
  const { items } = await listWebhooks(work.table, event.account_id, { page: 1, page_size: webhookLimit });
  const wanting = items.filter(
    ({ status, event_types, created_at }) =>
      status === "active" &&
      created_at <= event.timestamp &&
      event_types.some((pattern) => matches(pattern, event.type)),
  );
  const failing = await failingAmong(
    work.table,
    wanting.map(({ id, account_id }) => ({ account_id, webhook_id: id })),
  );
  const dueMs = ({ id }: StoredWebhook): number => (failing.has(id) ? 0 : firstDueMs);
  const created = await mapConcurrently(wanting, atOnce, (webhook) =>
    createDelivery(event, webhook, work, dueMs(webhook)),
  );
  const fresh = created.flatMap((one) => (one.status === "fulfilled" && one.value ? [one.value] : []));
  const tried = await mapConcurrently(fresh, atOnce, async (loaded) =>
    failing.has(loaded.delivery.webhook_id) ? loaded.delivery.status : deliver(loaded, work),
  );
  for (const one of tried)
    if (one.status === "rejected") work.log.error("delivery not tried", { reason: String(one.reason) });
  for (const one of created) if (one.status === "rejected") throw one.reason;
  return tried.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
}

/** Writes the delivery of an event to a webhook, for the sweep to try after `dueMs`; undefined when it was there. */
export function createDelivery(
  event: PublishedEvent,
  webhook: StoredWebhook,
  { table, now }: Pick<Work, "table" | "now">,
  dueMs: number = firstDueMs,
): Promise<Loaded | undefined> {
  const body = bodyOf(event);
  const place = { id: event.id, account_id: event.account_id, webhook_id: webhook.id, event_type: event.type };
  return table.commit(async () => {
    const [there] = await table.getMany([deliveryKey(place)]);
    if (there) return { value: undefined, writes: [] };
    const at = now();
    const delivery = newDelivery(place, new Date(at.getTime() + dueMs), at);
    return { value: { delivery, body, webhook }, writes: createWrites(delivery, body, at) };
  });
}
