import { http } from "../../shared/http/rest.ts";
import { defineRoute, Empty } from "../../shared/http/route.ts";
import { deleteWebhook, aheadOfDeletion } from "../../shared/webhooks/webhook-changes.ts";
import { webhookKind, WebhookParams } from "../../shared/webhooks/webhook.ts";

export const route = defineRoute({
  name: "webhooks.delete",
  http: { method: "DELETE", path: "/v1/public/accounts/{account_id}/webhooks/{webhook_id}", etag: webhookKind },
  summary: "Delete a webhook",
  synonyms: ["remove", "stop", "unsubscribe", "notification", "callback"],
  description: "Pending deliveries are not sent, and the webhook's deliveries cannot be read any more.",
  capability: "webhook.manage",
  access: "write",
  params: WebhookParams,
  output: Empty,
  ahead: ({ params }) => aheadOfDeletion(params.account_id, params.webhook_id),
  run: async ({ params }, context) => {
    await deleteWebhook(params.account_id, params.webhook_id, context);
    return {};
  },
});

export const handler = http(route);
