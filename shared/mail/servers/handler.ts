import { createHash, timingSafeEqual } from "node:crypto";

import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { Problem } from "../../core/errors.ts";
import type { Log, LogFields } from "../../core/log.ts";
import { internalHandler } from "../../http/internal.ts";
import { failureResponse, type Response } from "../../http/response.ts";
import { runtime } from "../../http/runtime.ts";
import { mailSecret } from "../../providers/mail/secret.ts";
import { secretsHere } from "../../providers/secrets/factory.ts";
import type { LimiterMemory } from "../../rate-limits/limiter.ts";
import type { LoginWork } from "./log-in.ts";

export type MailWork = LoginWork & { memory: LimiterMemory };
export type MailRequest = Pick<APIGatewayProxyEventV2, "headers" | "rawQueryString">;

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** 401 unless the request has the key that the deployment's mail servers share. */
async function requireMailServer({ headers }: MailRequest): Promise<void> {
  const shown = headers["x-mail-key"] ?? "";
  if (timingSafeEqual(digest(shown), digest(await mailSecret()))) return;
  throw new Problem(
    "unauthenticated",
    "Only the deployment's mail servers can call this route. Send its secret as X-Mail-Key.",
  );
}

function problemOf(error: unknown, log: Log): Problem {
  if (error instanceof Problem) return error;
  log.error("unexpected error", { error: error instanceof Error ? error.stack : String(error) });
  return new Problem("internal", "Something went wrong on our side. The request id helps us find it.");
}

/**
 * Makes the Lambda handler of a route for the deployment's mail servers, which send their shared key in `X-Mail-Key`.
 * `answer` gives the response and the fields to log; its errors go through `failure`.
 */
export function mailServerHandler(
  name: string,
  answer: (request: MailRequest, work: MailWork) => Promise<{ response: Response; fields: LogFields }>,
  failure: (problem: Problem, requestId: string) => Response = failureResponse,
) {
  return internalHandler({
    name,
    answer: async (event, work) => {
      await requireMailServer(event);
      return answer(event, { ...work, secrets: secretsHere(), memory: runtime().limiterMemory });
    },
    failure: (error, requestId, log) => failure(problemOf(error, log), requestId),
  });
}
