import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { getWebhook, Webhook, webhookKind, WebhookParams, webhookKey } from "../../shared/webhooks/webhook.ts";

export const route = defineRoute({
  name: "webhooks.get",
  http: { method: "GET", path: "/v1/public/accounts/{account_id}/webhooks/{webhook_id}", etag: webhookKind },
  summary: "Get a webhook",
  synonyms: ["notification", "callback", "show", "details"],
  capability: "webhook.manage",
  access: "read",
  // The URL of a webhook can contain a credential.
  codeMode: { storesAnswer: false },
  params: WebhookParams,
  output: Webhook,
  ahead: ({ params }) => ({ keys: [webhookKey(params.account_id, params.webhook_id)] }),
  run: ({ params }, { table }) => getWebhook(table, params.account_id, params.webhook_id),
});

export const handler = http(route);
