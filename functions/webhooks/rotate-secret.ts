import * as z from "zod";

import { gracePeriodSeconds } from "../../shared/core/fields.ts";
import { http } from "../../shared/http/rest.ts";
import { defineRoute } from "../../shared/http/route.ts";
import { outside } from "../../shared/webhooks/services.ts";
import { rotateSecret } from "../../shared/webhooks/webhook-changes.ts";
import { WebhookParams, WebhookWithSecret } from "../../shared/webhooks/webhook.ts";

export const route = defineRoute({
  name: "webhooks.rotate_secret",
  method: "POST",
  path: "/v1/public/accounts/{account_id}/webhooks/{webhook_id}/rotate-secret",
  summary: "Give a webhook a new signing secret",
  description:
    "For as long as `overlap_seconds` says, every delivery is signed with the new and with the old secret. The new one is in this answer and never again. The caller must be allowed to see what the webhook is told of.",
  capability: "webhook.manage",
  access: "write",
  uses: ["secrets"],
  shownOnce: ["secret"],
  limit: "sensitive",
  params: WebhookParams,
  body: z
    .strictObject({
      overlap_seconds: gracePeriodSeconds("How long the old secret still signs too"),
    })
    .meta({ id: "WebhookSecretRotate", description: "How to rotate." }),
  output: WebhookWithSecret,
  problems: ["would_escalate", "upstream_unavailable"],
  run: ({ params, body }, context) =>
    rotateSecret(params.account_id, params.webhook_id, body.overlap_seconds, context, outside()),
});

export const handler = http(route);
