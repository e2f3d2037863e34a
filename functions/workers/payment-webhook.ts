import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { failureResponse, json, requestIdOf, sealed, type Response } from "../../shared/answer.ts";
import { handlePayment } from "../../shared/billing/payments.ts";
import { clock } from "../../shared/clock.ts";
import { Problem } from "../../shared/errors.ts";
import { createLog, type Log, type LogFields } from "../../shared/log.ts";
import { payments } from "../../shared/providers/payments.ts";
import { runtime } from "../../shared/runtime.ts";
import type { Usage } from "../../shared/table/connection.ts";
import { openTable, type Table } from "../../shared/table/table.ts";

const bodyLimitBytes = 262_144;

/** The body as it was sent: what was signed are its bytes. */
function rawBody({ body = "", isBase64Encoded }: APIGatewayProxyEventV2): string {
  if (Buffer.byteLength(body, isBase64Encoded ? "base64" : "utf8") > bodyLimitBytes) {
    throw new Problem("body_too_large", `A webhook may hold ${bodyLimitBytes} bytes at most.`, {
      limit_bytes: bodyLimitBytes,
    });
  }
  return isBase64Encoded ? Buffer.from(body, "base64").toString("utf8") : body;
}

const again = (): Problem =>
  new Problem("upstream_unavailable", "This event could not be taken now. Send it again.", { retry_after: 30 });

/** Whatever is not the sender's fault is 503: the provider then sends the event again, for up to three days. */
function meantForSender(error: unknown, log: Log): Problem {
  if (error instanceof Problem && (error.status === 400 || error.status === 413)) return error;
  const expected = error instanceof Problem && error.status === 503;
  if (!expected) log.error("unexpected error", { error: error instanceof Error ? error.stack : String(error) });
  return expected ? error : again();
}

type Work = { table: Table; log: Log; now: () => Date };

/** What became of the event: what to answer, and what to log. */
async function take(event: APIGatewayProxyEventV2, work: Work): Promise<LogFields & { outcome: string }> {
  const payment = await payments(work.table).readEvent(rawBody(event), event.headers, work.now());
  if (payment === undefined) return { outcome: "ignored" };
  const { id, type, checkoutId, accountId } = payment;
  const outcome = await handlePayment(payment, work);
  return { outcome, event_id: id, event_type: type, checkout_id: checkoutId, account_id: accountId };
}

/**
 * Takes the payment provider's webhooks; their signature is the credential. 200 once an event is dealt with, also
 * before or of no interest; 400 when it is not the provider's; 503 when it has to come again.
 */
export const handler = async (event: APIGatewayProxyEventV2): Promise<Response> => {
  const startedMs = performance.now();
  const { env, client } = runtime();
  const requestId = requestIdOf(event);
  const log = createLog(env.LOG_LEVEL, { request_id: requestId, route: "workers.payment_webhook" }, env.LOG_FORMAT);
  const usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  const work = { table: openTable(client, env.TABLE_NAME, usage), log, now: clock };
  let taken: LogFields = {};
  let response: Response;
  try {
    taken = await take(event, work);
    response = json(200, { received: true, outcome: taken["outcome"] });
  } catch (error) {
    response = failureResponse(meantForSender(error, log), requestId);
  }
  log.info("request", {
    method: event.requestContext.http.method,
    path: event.routeKey.split(" ").at(-1),
    status: response.statusCode,
    duration_ms: Math.round((performance.now() - startedMs) * 10) / 10,
    ...taken,
    read_units: usage.readUnits,
    write_units: usage.writeUnits,
    table_calls: usage.calls,
  });
  return sealed(response, requestId);
};
