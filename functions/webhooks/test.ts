import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { Delivery } from "../../shared/webhooks/delivery.ts";
import { testWebhook } from "../../shared/webhooks/redeliver.ts";
import { webhookServices } from "../../shared/webhooks/services.ts";
import { getWebhook, WebhookParams, webhookKey } from "../../shared/webhooks/webhook.ts";

export const route = defineRoute({
  name: "webhooks.test",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/webhooks/{webhook_id}/test" },
  summary: "Send a test event to a webhook",
  synonyms: ["try", "ping", "check", "notification", "callback"],
  description:
    "Sends a `webhook.test` event with the webhook as its data, and returns the delivery. The webhook gets the event whatever its event types are, and also while the webhook is disabled. If the receiver does not accept the event, the delivery's status is `failed`. A test is not retried.",
  capability: "webhook.manage",
  access: "write",
  lambda: { uses: ["secrets"] },
  limit: "outbound",
  params: WebhookParams,
  output: Delivery,
  ahead: ({ params }) => ({ keys: [webhookKey(params.account_id, params.webhook_id)] }),
  requireExists: ({ params }, { table }) => getWebhook(table, params.account_id, params.webhook_id),
  run: ({ params }, context) => testWebhook(params.account_id, params.webhook_id, context, webhookServices()),
});

export const handler = http(route);
