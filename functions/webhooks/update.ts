import * as z from "zod";

import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { EventTypes, WebhookDescription, WebhookUrl } from "../../shared/webhooks/subscription.ts";
import { updateWebhook } from "../../shared/webhooks/webhook-changes.ts";
import { Webhook, webhookKind, WebhookParams, webhookKey } from "../../shared/webhooks/webhook.ts";

export const route = defineRoute({
  name: "webhooks.update",
  http: { method: "PATCH", path: "/v1/public/accounts/{account_id}/webhooks/{webhook_id}", etag: webhookKind },
  summary: "Change, disable or enable a webhook",
  synonyms: ["edit", "turn off", "turn on", "stop", "notification", "callback"],
  description:
    "Members of the body that you leave out stay as they are. If the body has `url`, `event_types` or `active: true`, you must hold the capabilities to see the resources of all its events, old and new, in the whole account and without an end date. Events that happen while the webhook is disabled are not sent later. Deliveries that were pending when it was disabled fail with `webhook_disabled`. Send them again with `webhooks.deliveries.redeliver`.",
  capability: "webhook.manage",
  access: "write",
  // The URL of a webhook can contain a credential.
  codeMode: { storesAnswer: false },
  params: WebhookParams,
  body: z
    .strictObject({
      url: WebhookUrl.optional(),
      event_types: EventTypes.optional(),
      description: WebhookDescription,
      active: z.boolean().optional().meta({
        description: "Whether the webhook gets events. True enables it, whatever the `disabled_reason` is.",
      }),
    })
    .meta({ id: "WebhookUpdate", description: "The changes to a webhook." }),
  output: Webhook,
  problems: ["would_escalate"],
  ahead: ({ params }) => ({ keys: [webhookKey(params.account_id, params.webhook_id)] }),
  run: ({ params, body }, context) => updateWebhook(params.account_id, params.webhook_id, body, context),
});

export const handler = http(route);
