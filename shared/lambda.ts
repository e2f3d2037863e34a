import middy from "@middy/core";
import jsonBodyParser from "@middy/http-json-body-parser";
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from "aws-lambda";
import { authenticate, type Principal } from "./auth/principal.ts";
import { InvalidInput, Problem, problemBody } from "./errors.ts";
import type { Door } from "./invoke.ts";
import { createLog } from "./log.ts";
import { runtime } from "./runtime.ts";
import { openTable, type Usage } from "./table/table.ts";

/** A request whose body is parsed already; undefined when there was none. */
export type Request = Omit<APIGatewayProxyEventV2, "body"> & { body?: unknown };
export type Response = APIGatewayProxyStructuredResultV2;
export type Handler = (event: APIGatewayProxyEventV2, context?: unknown) => Promise<Response>;

/** One request while it is served; middy carries it where Lambda's context would be. */
type Call = { name: string; startedAt: number; usage: Usage; door: Door; principal?: Principal };

export const bodyLimitBytes = 1_048_576;

const securityHeaders = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "strict-transport-security": "max-age=63072000; includeSubDomains",
  "x-content-type-options": "nosniff",
};

/** A JSON answer. */
export const json = (statusCode: number, body: unknown, headers: Record<string, string> = {}): Response => ({
  statusCode,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

/**
 * A Lambda handler around `answer`, by the only middy chain: body (size, media type, JSON), the answer,
 * whatever is thrown shaped as RFC 9457 or as the specified 422 body, headers, and one log line.
 */
export function lambda(name: string, answer: (request: Request, door: Door) => Promise<Response>): Handler {
  const parseBody = jsonBodyParser().before;
  const chain = middy((request: Request, call: Call) => answer(request, call.door))
    .before((run) => {
      const { body } = run.event;
      if (body === undefined || body === "") return;
      checkSize(String(body), run.event.isBase64Encoded);
      parseBody?.(run as never);
    })
    .onError((run) => {
      run.response = failure(run.error, run.context);
    });
  return async (event) => {
    const call = openCall(name, event);
    const response = await chain(event, call);
    logRequest(event, call, response);
    return { ...response, headers: { ...securityHeaders, "x-request-id": call.door.requestId, ...response.headers } };
  };
}

const readableId = /^[\x21-\x7e]{1,128}$/;

function openCall(name: string, event: APIGatewayProxyEventV2): Call {
  const { env, client, verifyUser } = runtime();
  const sent = event.headers["x-request-id"] ?? "";
  const requestId = readableId.test(sent) ? sent : event.requestContext.requestId;
  const usage: Usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  const table = openTable(client, env.TABLE_NAME, usage);
  const now = () => new Date();
  const log = createLog(env.LOG_LEVEL, { request_id: requestId, route: name });
  const call: Call = {
    name,
    startedAt: performance.now(),
    usage,
    door: {
      requestId,
      table,
      log,
      now,
      authenticate: async () =>
        (call.principal ??= await authenticate(event.headers["authorization"], verifyUser, table, now())),
    },
  };
  return call;
}

function checkSize(body: string, isBase64: boolean): void {
  const bytes = isBase64 ? Math.floor((body.length * 3) / 4) : Buffer.byteLength(body);
  if (bytes <= bodyLimitBytes) return;
  throw new Problem("body_too_large", `A body may hold ${bodyLimitBytes} bytes at most.`, { limit_bytes: bodyLimitBytes });
}

/** What a thrown error looks like to the caller; what was not meant for them is logged and leaves as `internal`. */
function failure(error: unknown, { door }: Call): Response {
  if (error instanceof InvalidInput) return json(422, { detail: error.errors });
  const problem = error instanceof Problem ? error : bodyProblem(error);
  if (!problem) {
    door.log.error("unexpected error", { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
  const shown = problem ?? new Problem("internal", "Something went wrong on our side. The request id helps us find it.");
  return json(shown.status, problemBody(shown, door.requestId), {
    "content-type": "application/problem+json",
    ...headersOf(shown),
  });
}

/** The body parser's own errors, by the status it gives them. */
function bodyProblem(error: unknown): Problem | undefined {
  if (!(error instanceof Error) || !("statusCode" in error)) return undefined;
  if (error.statusCode === 415) return new Problem("unsupported_media_type", "Send the body as `Content-Type: application/json`.");
  if (error.statusCode === 422) return new Problem("malformed_json", "The body is not valid JSON, or has a member that is never allowed.");
  return undefined;
}

function headersOf({ status, code, extras }: Problem): Record<string, string> {
  return {
    ...(status === 401 ? { "www-authenticate": challenge(code) } : {}),
    ...(Array.isArray(extras["allow"]) ? { allow: extras["allow"].join(", ") } : {}),
    ...(extras["retry_after"] === undefined ? {} : { "retry-after": String(extras["retry_after"]) }),
  };
}

/** RFC 6750 §3: a request without a credential gets no error code. */
const challenge = (code: string): string =>
  code === "unauthenticated" ? 'Bearer realm="public-api"' : 'Bearer realm="public-api", error="invalid_token"';

function logRequest(event: APIGatewayProxyEventV2, { startedAt, usage, door, principal }: Call, response: Response): void {
  const accountId = event.pathParameters?.["account_id"];
  door.log.info("request", {
    method: event.requestContext.http.method,
    path: event.rawPath,
    status: response.statusCode,
    duration_ms: Math.round((performance.now() - startedAt) * 10) / 10,
    ...(principal ? { principal_id: principal.id } : {}),
    ...(accountId === undefined ? {} : { account_id: accountId }),
    read_units: usage.readUnits,
    write_units: usage.writeUnits,
    table_calls: usage.calls,
  });
}
