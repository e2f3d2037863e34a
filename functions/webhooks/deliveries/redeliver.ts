import { http } from "../../../shared/http/rest.ts";
import { defineRoute } from "../../../shared/http/route.ts";
import { Delivery, DeliveryParams, aheadOfDelivery } from "../../../shared/webhooks/delivery.ts";
import { loadToRedeliver, redeliver } from "../../../shared/webhooks/redeliver.ts";
import { webhookServices } from "../../../shared/webhooks/services.ts";

export const route = defineRoute({
  name: "webhooks.deliveries.redeliver",
  http: {
    method: "POST",
    path: "/v1/public/accounts/{account_id}/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver",
  },
  summary: "Send a delivery again",
  synonyms: ["resend", "retry", "repeat", "failed", "notification"],
  description:
    "Sends the same body with the same `webhook-id` now, and returns the delivery. This works in every status of the delivery, and also while the webhook is disabled. If this attempt fails, the status stays as it was. You must hold, in the whole account and without an end date, the capability to see the resources of the delivery's event.",
  capability: "webhook.manage",
  access: "write",
  lambda: { uses: ["secrets"] },
  limit: "outbound",
  params: DeliveryParams,
  output: Delivery,
  problems: ["would_escalate"],
  ahead: ({ params: { account_id, webhook_id, delivery_id: id } }) => aheadOfDelivery({ account_id, webhook_id, id }),
  requireExists: ({ params: { account_id, webhook_id, delivery_id: id } }, context) =>
    loadToRedeliver({ account_id, webhook_id, id }, context),
  run: ({ params: { account_id, webhook_id, delivery_id: id } }, context) =>
    redeliver({ account_id, webhook_id, id }, context, webhookServices()),
});

export const handler = http(route);
