import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { Delivery } from "../../shared/webhooks/delivery.ts";
import { testWebhook } from "../../shared/webhooks/redeliver.ts";
import { outside } from "../../shared/webhooks/services.ts";
import { WebhookParams } from "../../shared/webhooks/webhook.ts";

export const route = defineRoute({
  name: "webhooks.test",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/webhooks/{webhook_id}/test",
  summary: "Send a test event to a webhook",
  description:
    "Sends a `webhook.test` event with the webhook as its data, whatever event types it has and also while it is disabled, and answers what came of it: a receiver that fails is a delivery that `failed`. It is not tried again.",
  capability: "webhook.manage",
  access: "write",
  uses: ["secrets"],
  limit: "outbound",
  params: WebhookParams,
  output: Delivery,
  run: ({ params }, context) => testWebhook(params.account_id, params.webhook_id, context, outside()),
});

export const handler = http(route);
