import { mapConcurrently } from "../core/concurrency.ts";
import { deliver, type DeliverResult, type DeliveryContext } from "./deliver.ts";
import { createWrites, deliveryKey, newDelivery, type Loaded } from "./delivery.ts";
import { matches } from "./filters.ts";
import { noteEntries } from "./index-journals.ts";
import { failingAmong } from "./outcome.ts";
import { bodyOf, type PublishedEvent } from "./signing.ts";
import { listWebhooks, type StoredWebhook, webhookLimit } from "./webhook.ts";

const concurrency = 5;
/** The wait before the sweep tries a new delivery: longer than its first attempt, which follows at once. */
const firstDueMs = 120_000;

/**
 * Creates the missing deliveries of an event, one for each active webhook that subscribes to it, and returns the
 * statuses of the new deliveries.
 * - Every delivery is written before the first one is sent.
 * - New deliveries are tried once; those of a failing webhook wait for the next sweep, so that they do not delay
 *   others.
 * - Throws when a delivery could not be written; dispatching the same event again creates what is missing.
 */
export async function dispatch(event: PublishedEvent, work: DeliveryContext): Promise<DeliverResult[]> {
  const { items } = await listWebhooks(work.table, event.account_id, { page: 1, page_size: webhookLimit });
  const subscribed = items.filter(
    ({ status, event_types, created_at }) =>
      status === "active" &&
      created_at <= event.timestamp &&
      event_types.some((pattern) => matches(pattern, event.type)),
  );
  const failing = await failingAmong(
    work.table,
    subscribed.map(({ id, account_id }) => ({ account_id, webhook_id: id })),
  );
  const dueMs = ({ id }: StoredWebhook): number => (failing.has(id) ? 0 : firstDueMs);
  const created = await mapConcurrently(subscribed, concurrency, (webhook) =>
    createDelivery(event, webhook, work, dueMs(webhook)),
  );
  await noteEntries(
    event,
    subscribed.map(({ id }) => id),
    work,
  );
  const fresh = created.flatMap((one) => (one.status === "fulfilled" && one.value ? [one.value] : []));
  const tried = await mapConcurrently(fresh, concurrency, async (loaded) =>
    failing.has(loaded.delivery.webhook_id) ? loaded.delivery.status : deliver(loaded, work),
  );
  for (const one of tried)
    if (one.status === "rejected") work.log.error("delivery not tried", { reason: String(one.reason) });
  for (const one of created) if (one.status === "rejected") throw one.reason;
  return tried.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
}

/**
 * Writes the delivery of an event to a webhook, for the sweep to try after `dueMs`; undefined when it already exists.
 */
export function createDelivery(
  event: PublishedEvent,
  webhook: StoredWebhook,
  { table, now }: Pick<DeliveryContext, "table" | "now">,
  dueMs: number = firstDueMs,
): Promise<Loaded | undefined> {
  const body = bodyOf(event);
  const ref = { id: event.id, account_id: event.account_id, webhook_id: webhook.id, event_type: event.type };
  return table.commit(async () => {
    const [existing] = await table.getMany([deliveryKey(ref)]);
    if (existing) return { value: undefined, writes: [] };
    const at = now();
    const delivery = newDelivery(ref, new Date(at.getTime() + dueMs), at);
    return { value: { delivery, body, webhook }, writes: createWrites(delivery, body, at) };
  });
}
