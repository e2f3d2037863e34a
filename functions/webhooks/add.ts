import * as z from "zod";

import { AccountParams } from "../../shared/accounts/account.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { aheadOfList } from "../../shared/table/ranked-list.ts";
import { webhookServices } from "../../shared/webhooks/services.ts";
import { EventTypes, eventTypesNote, WebhookDescription, WebhookUrl } from "../../shared/webhooks/subscription.ts";
import { addWebhook } from "../../shared/webhooks/webhook-changes.ts";
import { WebhookWithSecret, webhooksOf } from "../../shared/webhooks/webhook.ts";

export const route = defineRoute({
  name: "webhooks.add",
  http: {
    method: "POST",
    path: "/v1/public/accounts/{account_id}/webhooks",
    status: 201,
    location: "/v1/public/accounts/{account_id}/webhooks/{id}",
  },
  summary: "Subscribe a URL to events",
  synonyms: ["notify", "notification", "callback", "create", "new", "server", "tell", "happens", "alert"],
  description: `Each event is posted as JSON and signed according to Standard Webhooks 1.0. An event is delivered at least once, and the order of events is not guaranteed. Answer with a 2xx within 10 seconds. Redirects are not followed. A delivery without a 2xx is tried ten times, over about three days. If the receiver accepts nothing in this time, or answers 410, the webhook is disabled, and later events are lost. A body has at most 20,000 bytes: a longer event has \`truncated: true\` and no \`previous_data\`, and possibly no \`data\`. This answer shows the signing secret. The secret is not shown again. You must hold, in the whole account and without an end date, the capabilities to see the resources of all events that match \`event_types\`. An account has at most 20 webhooks. ${eventTypesNote}`,
  capability: "webhook.manage",
  access: "write",
  lambda: { uses: ["secrets"] },
  shownOnce: ["secret"],
  limit: "sensitive",
  params: AccountParams,
  body: z
    .strictObject({ url: WebhookUrl, event_types: EventTypes, description: WebhookDescription })
    .meta({ id: "WebhookCreate", description: "A webhook to create." }),
  output: WebhookWithSecret,
  problems: ["would_escalate", "limit_reached", "upstream_unavailable"],
  ahead: ({ params }) => aheadOfList(webhooksOf(params.account_id)),
  run: ({ params, body }, context) => addWebhook(params.account_id, body, context, webhookServices()),
});

export const handler = http(route);
