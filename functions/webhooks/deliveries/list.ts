import * as z from "zod";

import { pageOf, pageQuery, spanCheck } from "../../../shared/core/page.ts";
import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { Delivery } from "../../../shared/webhooks/delivery.ts";
import { aheadOfDeliveries, deliveryQuery, listDeliveries } from "../../../shared/webhooks/list-deliveries.ts";
import { WebhookParams } from "../../../shared/webhooks/webhook.ts";

export const route = defineRoute({
  name: "webhooks.deliveries.list",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/webhooks/{webhook_id}/deliveries" },
  summary: "List the deliveries of a webhook",
  synonyms: ["notifications", "sent", "arrived", "received", "failed", "log", "history", "show"],
  description:
    "The deliveries of the webhook, newest event first. Deliveries are kept for 30 days. To filter by status, give a range of time that holds at most 20,000 deliveries.",
  capability: "webhook.manage",
  access: "read",
  limit: "search",
  params: WebhookParams,
  query: z.strictObject({ ...pageQuery, ...deliveryQuery }).refine(...spanCheck),
  output: pageOf(Delivery, "deliveries").meta({
    id: "WebhookDeliveryListResponse",
    description: "A page of a webhook's deliveries.",
  }),
  ahead: ({ params, query }) => aheadOfDeliveries(params.account_id, params.webhook_id, query),
  run: async ({ params, query }, context) => ({
    ...(await listDeliveries(params.account_id, params.webhook_id, query, context)),
    ...query,
  }),
});

export const handler = http(route);
