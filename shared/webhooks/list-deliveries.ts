import type * as z from "zod";

import { type PageQuery, spanOf, timeQuery, timesOf } from "../core/page.ts";
import type { Context } from "../http/route.ts";
import { aheadOfEntries, readEntries } from "../table/journal.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Item } from "../table/writes.ts";
import { DeliveryStatus, StoredDelivery, deliveriesOf } from "./delivery.ts";
import { isCancelled, shownDelivery } from "./outcome.ts";
import { type StoredWebhook, getWebhook, webhookKey } from "./webhook.ts";

/** The filters of a webhook's deliveries. A delivery has to match all filters that the query has. */
export const deliveryQuery = {
  status: DeliveryStatus.optional().meta({ description: "Only deliveries with this status." }),
  ...timeQuery("deliveries of events"),
};
type DeliveryQuery = PageQuery & z.output<z.ZodObject<typeof deliveryQuery>>;

/** The items that `listDeliveries` reads first. */
export const aheadOfDeliveries = (accountId: string, webhookId: string, query: DeliveryQuery): Ahead => ({
  keys: [webhookKey(accountId, webhookId)],
  ...aheadOfEntries(deliveriesOf(accountId, webhookId), timesOf(query)),
});

/**
 * A page of a webhook's deliveries, newest first. A cancelled delivery is shown as failed. Throws 404 if there is no
 * such webhook. Throws 422 if a filter by status would have to search more than 20,000 deliveries.
 */
export async function listDeliveries(
  accountId: string,
  webhookId: string,
  { page, page_size, status, since, until }: DeliveryQuery,
  { table, now }: Context,
): Promise<{ items: StoredDelivery[]; total: number }> {
  const webhook = await getWebhook(table, accountId, webhookId);
  const at = now();
  const options = {
    ...spanOf({ page, page_size, order: "desc" }),
    ...timesOf({ since, until }),
    ...(status === undefined ? {} : { keep: (row: Item) => shownStatus(row, webhook, at) === status }),
  };
  const { rows, total } = await readEntries(table, deliveriesOf(accountId, webhookId), options, at);
  return { items: rows.map((row) => shownDelivery(StoredDelivery.parse(row), webhook, at)), total };
}

/** The status of a stored delivery, as lists show it. */
function shownStatus(row: Item, webhook: StoredWebhook, now: Date): unknown {
  // Most deliveries are not pending, and need no look at the webhook.
  if (row["status"] !== "pending") return row["status"];
  return isCancelled(CancellationFacts.parse(row), webhook, now) ? "failed" : "pending";
}

/** The members of a delivery that `isCancelled` needs. */
const CancellationFacts = StoredDelivery.pick({ status: true, created_at: true, lease_until: true });
