import * as z from "zod";

import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { EventTypes, WebhookDescription, WebhookUrl } from "../../shared/webhooks/subscription.ts";
import { updateWebhook } from "../../shared/webhooks/webhook-changes.ts";
import { Webhook, webhookKind, WebhookParams } from "../../shared/webhooks/webhook.ts";

export const route = defineRoute({
  name: "webhooks.update",
  method: "PATCH",
  path: "/v1/public/accounts/{account_id}/webhooks/{webhook_id}",
  summary: "Change, disable or enable a webhook",
  description:
    "Only what is given changes. Who changes the URL or the event types, or enables it, must be allowed to see what all its events are about. Events of the time it was disabled are not sent later.",
  capability: "webhook.manage",
  etag: webhookKind,
  access: "write",
  kept: false,
  params: WebhookParams,
  body: z
    .strictObject({
      url: WebhookUrl.optional(),
      event_types: EventTypes.optional(),
      description: WebhookDescription,
      active: z.boolean().optional().meta({
        description: "false disables it; true enables it, whatever it was disabled for.",
      }),
    })
    .meta({ id: "WebhookUpdate", description: "What to change." }),
  output: Webhook,
  problems: ["would_escalate"],
  run: ({ params, body }, context) => updateWebhook(params.account_id, params.webhook_id, body, context),
});

export const handler = http(route);
