import { createHash, timingSafeEqual } from "node:crypto";

import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { failureResponse, requestIdOf, sealed, type Response } from "../answer.ts";
import { clock } from "../clock.ts";
import { Problem } from "../errors.ts";
import type { LimiterMemory } from "../limits/limiter.ts";
import { createLog, type Log, type LogFields } from "../log.ts";
import { mailSecret } from "../providers/mail-secret.ts";
import { secretsHere } from "../providers/secrets-here.ts";
import { runtime } from "../runtime.ts";
import type { Usage } from "../table/connection.ts";
import { openTable } from "../table/table.ts";
import type { LoginWork } from "./log-in.ts";

export type MailWork = LoginWork & { memory: LimiterMemory };
export type MailRequest = Pick<APIGatewayProxyEventV2, "headers" | "rawQueryString">;

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** 401 unless the request shows what the deployment's mail servers share. */
async function requireMailServer({ headers }: MailRequest): Promise<void> {
  const shown = headers["x-mail-key"] ?? "";
  if (timingSafeEqual(digest(shown), digest(await mailSecret()))) return;
  throw new Problem("unauthenticated", "This is for the mail servers of the deployment.");
}

function problemOf(error: unknown, log: Log): Problem {
  if (error instanceof Problem) return error;
  log.error("unexpected error", { error: error instanceof Error ? error.stack : String(error) });
  return new Problem("internal", "Something went wrong on our side. The request id helps us find it.");
}

/**
 * The Lambda handler of a question that only the deployment's mail servers ask, with their shared key in `X-Mail-Key`.
 * `answer` says what to answer and what of it to log; what it throws goes through `failure`.
 */
export function mailDoor(
  name: string,
  answer: (request: MailRequest, work: MailWork) => Promise<{ response: Response; fields: LogFields }>,
  failure: (problem: Problem, requestId: string) => Response = failureResponse,
) {
  return async (event: APIGatewayProxyEventV2): Promise<Response> => {
    const startedMs = performance.now();
    const { env, client, limiterMemory } = runtime();
    const requestId = requestIdOf(event);
    const log = createLog(env.LOG_LEVEL, { request_id: requestId, route: name }, env.LOG_FORMAT);
    const usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 };
    let fields: LogFields = {};
    let response: Response;
    try {
      await requireMailServer(event);
      const table = openTable(client, env.TABLE_NAME, usage);
      const work = { table, secrets: secretsHere(), now: clock, log, memory: limiterMemory };
      ({ response, fields } = await answer(event, work));
    } catch (error) {
      response = failure(problemOf(error, log), requestId);
    }
    log.info("request", {
      method: event.requestContext.http.method,
      path: event.routeKey.split(" ").at(-1),
      status: response.statusCode,
      duration_ms: Math.round((performance.now() - startedMs) * 10) / 10,
      ...fields,
      read_units: usage.readUnits,
      write_units: usage.writeUnits,
      table_calls: usage.calls,
    });
    return sealed(response, requestId);
  };
}
