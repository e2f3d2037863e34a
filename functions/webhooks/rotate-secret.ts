import * as z from "zod";

import { gracePeriodSeconds } from "../../shared/core/fields.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { webhookServices } from "../../shared/webhooks/services.ts";
import { rotateSecret } from "../../shared/webhooks/webhook-changes.ts";
import { getWebhook, webhookKey, WebhookParams, WebhookWithSecret } from "../../shared/webhooks/webhook.ts";

export const route = defineRoute({
  name: "webhooks.rotate_secret",
  http: { method: "POST", path: "/v1/public/accounts/{account_id}/webhooks/{webhook_id}/rotate-secret" },
  summary: "Give a webhook a new signing secret",
  synonyms: ["change", "replace", "leaked", "key", "signature"],
  description:
    "For `overlap_seconds`, every delivery is signed with the new secret and with the present one. Older secrets stop signing at once. With 0, only the new secret signs. This answer shows the new secret. The secret is not shown again. You must hold, in the whole account and without an end date, the capabilities to see the resources of the webhook's events.",
  capability: "webhook.manage",
  access: "write",
  lambda: { uses: ["secrets"] },
  shownOnce: ["secret"],
  limit: "sensitive",
  params: WebhookParams,
  body: z
    .strictObject({
      overlap_seconds: gracePeriodSeconds("How long deliveries are also signed with the old secret, in seconds"),
    })
    .meta({ id: "WebhookSecretRotate", description: "How to rotate the secret." }),
  output: WebhookWithSecret,
  problems: ["would_escalate", "upstream_unavailable"],
  ahead: ({ params }) => ({ keys: [webhookKey(params.account_id, params.webhook_id)] }),
  requireExists: ({ params }, { table }) => getWebhook(table, params.account_id, params.webhook_id),
  run: ({ params, body }, context) =>
    rotateSecret(params.account_id, params.webhook_id, body.overlap_seconds, context, webhookServices()),
});

export const handler = http(route);
