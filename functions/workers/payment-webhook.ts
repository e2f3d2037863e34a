import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { handleProviderEvent } from "../../shared/billing/recharges/provider-events.ts";
import { paymentsHere } from "../../shared/billing/services.ts";
import { Problem } from "../../shared/core/errors.ts";
import type { Log, LogFields } from "../../shared/core/log.ts";
import { internalHandler, type InternalContext } from "../../shared/http/internal.ts";
import { failureResponse, json, logUnexpected } from "../../shared/http/response.ts";
import { payments } from "../../shared/providers/payments/factory.ts";

const bodyLimitBytes = 262_144;

/** The body exactly as sent, because the signature covers its bytes. Throws 413 if the body is too large. */
function rawBody({ body = "", isBase64Encoded }: APIGatewayProxyEventV2): string {
  if (Buffer.byteLength(body, isBase64Encoded ? "base64" : "utf8") > bodyLimitBytes) {
    throw new Problem("body_too_large", `The body is too large. It can have ${bodyLimitBytes} bytes at most.`, {
      limit_bytes: bodyLimitBytes,
    });
  }
  return isBase64Encoded ? Buffer.from(body, "base64").toString("utf8") : body;
}

const sendAgain = (): Problem =>
  new Problem("upstream_unavailable", "The event could not be handled. Send it again.", { retry_after: 30 });

/**
 * The problem with which an error is answered. An error that is not the sender's fault becomes a 503, so that the
 * provider sends the event again, for up to three days.
 */
function problemFor(error: unknown, log: Log): Problem {
  if (error instanceof Problem && (error.status === 400 || error.status === 413)) return error;
  const isUnavailable = error instanceof Problem && error.status === 503;
  if (!isUnavailable) logUnexpected(error, log);
  return isUnavailable ? error : sendAgain();
}

/** Handles an event of the payment provider. Returns its outcome, with fields for the log. */
async function handleEvent(
  event: APIGatewayProxyEventV2,
  work: InternalContext,
): Promise<LogFields & { outcome: string }> {
  const payment = await payments(work.table).readEvent(rawBody(event), event.headers, work.now());
  if (payment === undefined) return { outcome: "ignored" };
  const { id, type, accountId } = payment;
  const outcome = await handleProviderEvent(payment, { ...work, ...paymentsHere() });
  const ids = "checkoutId" in payment ? { checkout_id: payment.checkoutId } : {};
  return { outcome, event_id: id, event_type: type, ...ids, account_id: accountId };
}

/**
 * Receives the payment provider's webhooks, which are authenticated by their signature.
 * - 200: the event was handled, was handled before, or is of no interest.
 * - 400: the event has no recent signature of the provider.
 * - 413: the body is too large.
 * - 503: the provider must send the event again.
 */
export const handler = internalHandler({
  name: "workers.payment_webhook",
  answer: async (event, work) => {
    const fields = await handleEvent(event, work);
    return { response: json(200, { received: true, outcome: fields["outcome"] }), fields };
  },
  failure: (error, requestId, log) => failureResponse(problemFor(error, log), requestId),
});
