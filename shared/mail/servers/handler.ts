import { hash, timingSafeEqual } from "node:crypto";

import type { APIGatewayProxyEventV2 } from "aws-lambda";

import { invalidAt, InvalidInput, Problem } from "../../core/errors.ts";
import type { Log, LogFields } from "../../core/log.ts";
import { internalHandler } from "../../http/internal.ts";
import { failureResponse, logUnexpected, type Response } from "../../http/response.ts";
import { runtime } from "../../http/runtime.ts";
import { mailKeys } from "../../providers/mail/secret.ts";
import { secretsHere } from "../../providers/secrets/factory.ts";
import type { LimiterMemory } from "../../rate-limits/limiter.ts";
import type { LoginWork } from "./log-in.ts";

export type MailWork = LoginWork & { memory: LimiterMemory };
export type MailRequest = Pick<APIGatewayProxyEventV2, "headers" | "rawQueryString" | "body" | "isBase64Encoded">;

const digest = (text: string): Buffer => hash("sha256", text, "buffer");

/**
 * Throws 401 unless the request has a key of the deployment's mail servers. Throws 503 if no key is configured, or if
 * Secrets Manager does not answer.
 */
async function requireMailServer({ headers }: MailRequest): Promise<void> {
  const given = digest(headers["x-mail-key"] ?? "");
  const keys = await mailKeys();
  if (keys.some((key) => timingSafeEqual(given, digest(key)))) return;
  throw new Problem(
    "unauthenticated",
    "Only the deployment's mail servers can call this route. Send the secret of the mail servers as X-Mail-Key.",
  );
}

/** Whether this process has logged that the mail servers are off. */
let isOffLogged = false;

/** The problem with which to answer an error. Logs an unexpected error, and logs once that the mail servers are off. */
function problemOf(error: unknown, log: Log): Problem | InvalidInput {
  if (error instanceof Problem && error.code === "mail_servers_unavailable" && !isOffLogged) {
    log.info("mail servers are off, because no secret of the mail servers is configured");
    isOffLogged = true;
  }
  if (error instanceof Problem || error instanceof InvalidInput) return error;
  return logUnexpected(error, log);
}

/**
 * Reads the query of a request: the text members that `names` lists, undefined where the query lacks them. A plus sign
 * stays a plus sign, encoded or not, because addresses contain plus signs and no spaces. Throws 422 for other members,
 * and for a member that is there twice.
 */
export function queryOf<N extends string>(
  { rawQueryString }: Pick<MailRequest, "rawQueryString">,
  names: readonly N[],
): Record<N, string | undefined> {
  const query = new URLSearchParams(rawQueryString.replaceAll("+", "%2B"));
  const others = [...query.keys()].filter((key) => !names.some((name) => name === key));
  if (others.length > 0) {
    const msg = `This is not a parameter. The parameters are ${names.join(", ")}`;
    throw new InvalidInput(others.map((name) => ({ loc: ["query", name], msg, type: "extra_forbidden" })));
  }
  const repeated = names.find((name) => query.getAll(name).length > 1);
  if (repeated !== undefined) throw invalidAt(["query", repeated], "Give this parameter once", "string_type");
  return Object.fromEntries(names.map((name) => [name, query.get(name) ?? undefined])) as Record<N, string | undefined>;
}

/** The member `name` of a query. Throws 422 if the query lacks this member. */
export function requireMember<N extends string>(query: Record<N, string | undefined>, name: N): string {
  const text = query[name];
  if (text !== undefined) return text;
  throw invalidAt(["query", name], "This is required", "missing");
}

/**
 * How long a mail server may keep an answer, in seconds.
 * - `sender`: for up to this time a mailbox can still send after it was paused.
 * - `dkim`: for up to this time a mail server can still sign with a replaced key. The record of this key stays in the
 *   DNS for days.
 */
const keptSeconds = { recipient: 60, sender: 30, dkim: 300 } as const;

/** The header that tells a mail server how long it may keep the answer of an endpoint. */
export const keepHeader = (endpoint: keyof typeof keptSeconds): Record<string, string> => ({
  "cache-control": `private, max-age=${keptSeconds[endpoint]}`,
});

/**
 * Makes the Lambda handler of a route for the deployment's mail servers, which send their key in `X-Mail-Key`. `answer`
 * gives the response and the fields to log. If `answer` throws, `failure` makes the response from the error.
 */
export function mailServerHandler(
  name: string,
  answer: (request: MailRequest, work: MailWork) => Promise<{ response: Response; fields: LogFields }>,
  failure: (problem: Problem | InvalidInput, requestId: string, request: MailRequest) => Response = (
    problem,
    requestId,
  ) => failureResponse(problem, requestId),
) {
  return internalHandler({
    name,
    prepare: mailKeys,
    answer: async (event, work) => {
      await requireMailServer(event);
      return answer(event, { ...work, secrets: secretsHere(), memory: runtime().limiterMemory });
    },
    failure: (error, requestId, log, event) => failure(problemOf(error, log), requestId, event),
  });
}
