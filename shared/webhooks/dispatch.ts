import { mapConcurrently } from "../core/concurrency.ts";
import { deliverClaimed, type DeliverResult, type DeliveryContext } from "./deliver.ts";
import { createWrites, deliveryKey, leaseFrom, newDelivery, type Loaded } from "./delivery.ts";
import { matches } from "./filters.ts";
import { noteEntries } from "./index-journals.ts";
import { failingAmong } from "./outcome.ts";
import { bodyOf, type PublishedEvent } from "./signing.ts";
import { allWebhooks, type StoredWebhook } from "./webhook.ts";

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
  const subscribed = (await allWebhooks(work.table, event.account_id)).filter(
    ({ status, event_types, created_at }) =>
      status === "active" &&
      created_at <= event.timestamp &&
      event_types.some((pattern) => matches(pattern, event.type)),
  );
  const failing = await failingAmong(
    work.table,
    subscribed.map(({ id, account_id }) => ({ account_id, webhook_id: id })),
  );
  const created = await mapConcurrently(subscribed, concurrency, (webhook) =>
    createDelivery(event, webhook, work, failing.has(webhook.id)),
  );
  await noteEntries(
    event,
    subscribed.map(({ id }) => id),
    work,
  );
  const fresh = created.flatMap((one) => (one.status === "fulfilled" && one.value ? [one.value] : []));
  const tried = await mapConcurrently(fresh, concurrency, async (loaded) =>
    failing.has(loaded.webhook.id) ? loaded.delivery.status : deliverClaimed(loaded, work),
  );
  for (const one of tried)
    if (one.status === "rejected") work.log.error("delivery not tried", { reason: String(one.reason) });
  for (const one of created) if (one.status === "rejected") throw one.reason;
  return tried.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
}

/**
 * Writes the delivery of an event to a webhook; undefined when it already exists. It is claimed for this worker, and the
 * sweep tries it if this worker dies. With `isFailing` it is not claimed, and the next sweep tries it.
 */
export function createDelivery(
  event: PublishedEvent,
  webhook: StoredWebhook,
  { table, now }: Pick<DeliveryContext, "table" | "now">,
  isFailing = false,
): Promise<(Loaded & { webhook: StoredWebhook }) | undefined> {
  const body = bodyOf(event);
  const ref = { id: event.id, account_id: event.account_id, webhook_id: webhook.id, event_type: event.type };
  let isFirst = true;
  return table.commit(async () => {
    // Few events are dispatched twice, so the delivery is looked for only after the first transaction met it.
    const [existing] = isFirst ? [] : await table.getMany([deliveryKey(ref)]);
    isFirst = false;
    if (existing) return { value: undefined, writes: [] };
    const at = now();
    const due = new Date(at.getTime() + (isFailing ? 0 : firstDueMs));
    const delivery = { ...newDelivery(ref, due, at), lease_until: isFailing ? null : leaseFrom(at) };
    return { value: { delivery, body, webhook }, writes: createWrites(delivery, body, at) };
  });
}
