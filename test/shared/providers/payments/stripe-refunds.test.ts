import { expect, test } from "vitest";

import { stripeSignature } from "../../../../shared/providers/payments/embedded.ts";
import { stripePayments } from "../../../../shared/providers/payments/stripe.ts";
import { startLoopback } from "../loopback.ts";

const secret = { apiKey: "sk_test_1", webhookSecrets: ["whsec_1"] };

/** Stripe with one of our payments, and with its refunds, newest first. */
async function scene(refunds: object[]) {
  const { url, recorded } = await startLoopback(
    ({ path }) => ({
      status: 200,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(
        path.startsWith("/v1/refunds")
          ? { object: "list", url: "/v1/refunds", has_more: false, data: refunds }
          : { id: "pi_1", object: "payment_intent", metadata: { account_id: "a1", recharge_id: "r1" } },
      ),
    }),
    () => undefined,
  );
  return { payments: stripePayments(async () => secret, { endpoint: new URL(url) }), recorded };
}

const refund = (id: string, amount: number, status: string | null) => ({ id, object: "refund", amount, status });

test.each(["charge.refunded", "charge.refund.updated", "refund.created", "refund.updated", "refund.failed"])(
  "an event %s is read with all refunds of the payment, oldest first, including failed refunds",
  async (type) => {
    const statuses = ["failed", "canceled", "pending", "requires_action", "succeeded", null];
    const { payments, recorded } = await scene(statuses.map((status, index) => refund(`re_${index}`, 100, status)));
    const object = { id: "re_0", payment_intent: "pi_1", currency: "usd" };
    const now = new Date();
    const body = JSON.stringify({ id: "evt_1", object: "event", created: 1, type, data: { object } });
    const headers = { "stripe-signature": stripeSignature(body, "whsec_1", now) };
    const event = await payments.readEvent(body, headers, now);
    const all = statuses.map((_, index) => ({ id: `re_${index}`, amount: 100, isFailed: index < 2 }));
    expect(event).toEqual({
      id: "evt_1",
      type: "refund",
      paymentId: "pi_1",
      accountId: "a1",
      currency: "USD",
      refunds: all.toReversed(),
    });
    expect(recorded.map(({ path }) => path).join()).toContain("/v1/refunds?payment_intent=pi_1");
  },
);
