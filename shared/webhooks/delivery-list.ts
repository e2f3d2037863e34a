import * as z from "zod";

import { spanOf, type PageQuery } from "../core/page.ts";
import type { Context } from "../http/route.ts";
import { readEntries } from "../table/journal.ts";
import { deliveriesOf, DeliveryStatus, StoredDelivery } from "./delivery.ts";
import { getWebhook } from "./webhook.ts";

const instant = z.iso.datetime({ offset: true }).optional();

/** What narrows the deliveries of a webhook; all that is given must hold. */
export const deliveryQuery = {
  status: DeliveryStatus.optional().meta({ description: "Only deliveries of this status." }),
  since: instant.meta({ description: "Only deliveries of events of this instant or later (RFC 3339)." }),
  until: instant.meta({ description: "Only deliveries of events before this instant (RFC 3339)." }),
};
type DeliveryQuery = PageQuery & z.output<z.ZodObject<typeof deliveryQuery>>;

/** A page of a webhook's deliveries, newest first; 404, and 422 when a status would be sought in more than 20,000. */
export async function listDeliveries(
  accountId: string,
  webhookId: string,
  { page, page_size, status, since, until }: DeliveryQuery,
  { table, now }: Context,
): Promise<{ items: StoredDelivery[]; total: number }> {
  await getWebhook(table, accountId, webhookId);
  const options = {
    ...spanOf({ page, page_size }),
    ...(since === undefined ? {} : { since: new Date(since) }),
    ...(until === undefined ? {} : { until: new Date(until) }),
    ...(status === undefined ? {} : { keep: (row: Record<string, unknown>) => row["status"] === status }),
  };
  const { rows, total } = await readEntries(table, deliveriesOf(accountId, webhookId), options, now());
  return { items: rows.map((row) => StoredDelivery.parse(row)), total };
}
