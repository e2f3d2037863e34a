import { mapConcurrently, allFulfilled } from "../core/concurrency.ts";
import { deliverClaimed, type DeliverResult, type DeliveryContext } from "./deliver.ts";
import { createWrites, deliveryKey, leaseFrom, newDelivery, type LoadedDelivery } from "./delivery.ts";
import { scheduleIndexing } from "./index-journals.ts";
import { failingAmong } from "./outcome.ts";
import { bodyOf, type PublishedEvent } from "./signing.ts";
import { allWebhooks, matches, type StoredWebhook } from "./webhook.ts";

const concurrency = 5;
/**
 * The wait before the sweep tries a new delivery, in milliseconds. `dispatch` makes the first attempt at once, and the
 * wait is longer than this attempt.
 */
const firstDueMs = 120_000;

/**
 * Creates the missing deliveries of an event. Each active webhook that subscribes to the event gets a delivery, unless
 * the webhook was created or enabled again after the event. Returns the results of the new deliveries, without those
 * whose first attempt threw an error.
 * - All deliveries are written before the first delivery is sent.
 * - A new delivery is tried once. The delivery of a failing webhook waits for the next sweep, so that it does not delay
 *   the other deliveries.
 * - Throws if a delivery could not be written. If the same event is dispatched again, the missing deliveries are
 *   created.
 */
export async function dispatch(event: PublishedEvent, context: DeliveryContext): Promise<DeliverResult[]> {
  const subscribed = (await allWebhooks(context.table, event.account_id)).filter(
    ({ status, event_types, created_at, enabled_at = created_at }) =>
      status === "active" &&
      enabled_at <= event.timestamp &&
      event_types.some((pattern) => matches(pattern, event.type)),
  );
  const failing = await failingAmong(
    context.table,
    subscribed.map(({ id, account_id }) => ({ account_id, webhook_id: id })),
  );
  const created = await mapConcurrently(subscribed, concurrency, (webhook) =>
    createDelivery(event, webhook, context, failing.has(webhook.id)),
  );
  await scheduleIndexing(
    event,
    subscribed.map(({ id }) => id),
    context,
  );
  const fresh = created.flatMap((result) => (result.status === "fulfilled" && result.value ? [result.value] : []));
  const tried = await mapConcurrently(fresh, concurrency, async (loaded) =>
    failing.has(loaded.webhook.id) ? loaded.delivery.status : deliverClaimed(loaded, context),
  );
  for (const result of tried)
    if (result.status === "rejected") context.log.error("delivery not tried", { reason: String(result.reason) });
  allFulfilled(created);
  return tried.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}

/**
 * Writes the delivery of an event to a webhook. Returns undefined if the delivery already exists. The delivery is
 * claimed for this worker. If this worker dies, the sweep tries the delivery. With `isFailing` the delivery is not
 * claimed, and the next sweep tries it.
 */
export function createDelivery(
  event: PublishedEvent,
  webhook: StoredWebhook,
  { table, now }: Pick<DeliveryContext, "table" | "now">,
  isFailing = false,
): Promise<(LoadedDelivery & { webhook: StoredWebhook }) | undefined> {
  const body = bodyOf(event);
  const ref = { id: event.id, account_id: event.account_id, webhook_id: webhook.id, event_type: event.type };
  let isFirst = true;
  return table.commit(async () => {
    // Few events are dispatched twice, so the plan looks for the delivery only after the first transaction has failed.
    const [existing] = isFirst ? [] : await table.getMany([deliveryKey(ref)]);
    isFirst = false;
    if (existing) return { value: undefined, writes: [] };
    const at = now();
    const due = new Date(at.getTime() + (isFailing ? 0 : firstDueMs));
    const delivery = { ...newDelivery(ref, due, at), lease_until: isFailing ? null : leaseFrom(at) };
    return { value: { delivery, body, webhook }, writes: createWrites(delivery, body, at) };
  });
}
