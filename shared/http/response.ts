import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from "aws-lambda";

import { InvalidInput, Problem, problemBody } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { compressed } from "./negotiation.ts";

export type Response = APIGatewayProxyStructuredResultV2;

const securityHeaders = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "strict-transport-security": "max-age=63072000; includeSubDomains",
  "x-content-type-options": "nosniff",
};

/** Makes a JSON answer. The body ends with a newline, so that a terminal shows the next prompt on a line of its own. */
export const json = (statusCode: number, body: unknown, headers: Record<string, string> = {}): Response => ({
  statusCode,
  headers: { "content-type": "application/json", ...headers },
  body: `${JSON.stringify(body)}\n`,
});

/**
 * Completes an answer. Adds the request id and the security headers, unless the answer has set them. Compresses the
 * body if the client accepts this. The answer to HEAD has a body too, but the gateway does not send it (RFC 9110
 * §9.3.2).
 */
export const withStandardHeaders = (response: Response, event: APIGatewayProxyEventV2): Response =>
  compressed(
    { ...response, headers: { ...securityHeaders, "x-request-id": requestIdOf(event), ...response.headers } },
    event.headers["accept-encoding"],
  );

const readableId = /^[\x21-\x7e]{1,128}$/;

/** The caller's `X-Request-Id` if it has 1 to 128 visible ASCII characters, or else the gateway's id. */
export function requestIdOf({ headers, requestContext }: APIGatewayProxyEventV2): string {
  const sent = headers["x-request-id"] ?? "";
  return readableId.test(sent) ? sent : requestContext.requestId;
}

/** Logs an error that is not for the caller. Returns the problem that the caller gets instead. */
export function logUnexpected(error: unknown, log: Log): Problem {
  log.error("unexpected error", { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  return new Problem("internal", "Something went wrong on our side. The request id helps us find it.");
}

/**
 * Makes the answer to a failure: `HTTPValidationError` for invalid input, or problem details (RFC 9457) for a problem.
 * `challenge` is the `WWW-Authenticate` field of a 401.
 */
export function failureResponse(
  failure: Problem | InvalidInput,
  requestId: string,
  challenge = bearerChallenge(),
): Response {
  if (failure instanceof InvalidInput) return json(422, { detail: failure.errors });
  return json(failure.status, problemBody(failure, requestId), {
    "content-type": "application/problem+json",
    ...problemHeaders(failure, challenge),
  });
}

function problemHeaders({ status, extras }: Problem, challenge: string): Record<string, string> {
  return {
    ...(status === 401 ? { "www-authenticate": challenge } : {}),
    ...(Array.isArray(extras["allow"]) ? { allow: extras["allow"].join(", ") } : {}),
    ...(typeof extras["accept_encoding"] === "string" ? { "accept-encoding": extras["accept_encoding"] } : {}),
    ...(extras["retry_after"] === undefined ? {} : { "retry-after": String(extras["retry_after"]) }),
  };
}

/**
 * The `WWW-Authenticate` field of a 401. A request without a credential gets no error code (RFC 6750 §3). `metadataUrl`
 * is the address of the metadata with the issuers of tokens (RFC 9728 §5.1).
 */
export const bearerChallenge = ({
  hadCredential = false,
  metadataUrl,
}: { hadCredential?: boolean; metadataUrl?: string } = {}): string =>
  [
    'Bearer realm="public-api"',
    ...(hadCredential ? ['error="invalid_token"'] : []),
    ...(metadataUrl === undefined ? [] : [`resource_metadata="${metadataUrl}"`]),
  ].join(", ");

/** The page to which the root redirects. */
const firstPage = "/docs/overview";

/**
 * Redirects a GET or HEAD of the root to the first page. If the address of a page has a slash at its end, redirects a
 * GET or HEAD to the address without the slash. Undefined for other paths and methods.
 */
export function redirectToDocs({ rawPath, requestContext }: APIGatewayProxyEventV2): Response | undefined {
  if (!["GET", "HEAD"].includes(requestContext.http.method)) return undefined;
  const page =
    rawPath === "/" ? firstPage : /^(\/docs(?:\/(?:reference\/)?[a-z0-9][a-z0-9._-]*)?)\/$/.exec(rawPath)?.[1];
  return page === undefined ? undefined : { statusCode: 302, headers: { location: page } };
}
