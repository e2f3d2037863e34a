import { http } from "../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../shared/http/route.ts";
import { deleteWebhook } from "../../shared/webhooks/webhook-changes.ts";
import { webhookKind, WebhookParams } from "../../shared/webhooks/webhook.ts";

export const route = defineRoute({
  name: "webhooks.delete",
  method: "DELETE",
  path: "/v1/public/accounts/{account_id}/webhooks/{webhook_id}",
  summary: "Delete a webhook",
  description: "What is still to be delivered to it is not, and its deliveries can be seen no more.",
  capability: "webhook.manage",
  etag: webhookKind,
  access: "write",
  params: WebhookParams,
  output: Empty,
  run: async ({ params }, context) => {
    await deleteWebhook(params.account_id, params.webhook_id, context);
    return {};
  },
});

export const handler = http(route);
