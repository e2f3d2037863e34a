import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { outside } from "../../shared/webhooks/services.ts";
import { EventTypes, eventTypesNote, WebhookDescription, WebhookUrl } from "../../shared/webhooks/subscription.ts";
import { addWebhook } from "../../shared/webhooks/webhook-changes.ts";
import { WebhookWithSecret } from "../../shared/webhooks/webhook.ts";

export const route = defineRoute({
  name: "webhooks.add",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/webhooks",
  summary: "Subscribe a URL to events",
  description: `Each event is posted as JSON, signed as Standard Webhooks 1.0 says, at least once and in no promised order; what is not accepted with a 2xx is tried again for three days. The signing secret is in this answer and never again. The caller must be allowed to see, in the whole account, what the events are about. An account has at most 20 webhooks. ${eventTypesNote}`,
  capability: "webhook.manage",
  access: "write",
  uses: ["secrets"],
  shownOnce: ["secret"],
  limit: "sensitive",
  params: AccountParams,
  body: z
    .strictObject({ url: WebhookUrl, event_types: EventTypes, description: WebhookDescription })
    .meta({ id: "WebhookCreate", description: "A webhook to create." }),
  status: 201,
  output: WebhookWithSecret,
  location: "/v1/public/accounts/{account_id}/webhooks/{id}",
  problems: ["would_escalate", "limit_reached", "upstream_unavailable"],
  run: ({ params, body }, context) => addWebhook(params.account_id, body, context, outside()),
});

export const handler = http(route);
