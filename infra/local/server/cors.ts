import { corsRules } from "../../config/cors.ts";
import type { Answer } from "./http-message.ts";

type RequestHeaders = ReadonlyMap<string, string>;

/** The CORS headers of an answer to an allowed origin. Empty for other origins. */
function originHeaders(allowOrigins: readonly string[], origin: string | undefined): Record<string, string> {
  if (origin === undefined) return {};
  const isAnyAllowed = allowOrigins.includes("*");
  if (!isAnyAllowed && !allowOrigins.includes(origin)) return {};
  return {
    "access-control-allow-origin": isAnyAllowed ? "*" : origin,
    "access-control-expose-headers": corsRules.exposeHeaders.join(","),
  };
}

/** Whether a request is a preflight request (Fetch standard, CORS-preflight fetch). */
export const isPreflight = (method: string | undefined, headers: RequestHeaders): boolean =>
  method === "OPTIONS" && headers.has("origin") && headers.has("access-control-request-method");

/** Answers a preflight with 204. Only an allowed origin gets CORS headers. */
export function answerPreflight(allowOrigins: readonly string[], headers: RequestHeaders): Answer {
  const allowed = originHeaders(allowOrigins, headers.get("origin"));
  const rules = {
    "access-control-allow-methods": corsRules.allowMethods.join(","),
    "access-control-allow-headers": corsRules.allowHeaders.join(","),
    "access-control-max-age": String(corsRules.maxAgeSeconds),
  };
  return {
    status: 204,
    headers: { vary: "origin", ...allowed, ...("access-control-allow-origin" in allowed ? rules : {}) },
    body: Buffer.alloc(0),
  };
}

/**
 * Adds the CORS headers for an allowed origin. Removes the handler's own CORS headers, like API Gateway when CORS is
 * configured. Without configured origins, returns the answer unchanged.
 */
export function withCors(allowOrigins: readonly string[], headers: RequestHeaders, answer: Answer): Answer {
  if (allowOrigins.length === 0) return answer;
  const kept = Object.entries(answer.headers).filter(([name]) => !name.startsWith("access-control-"));
  return {
    ...answer,
    headers: {
      ...Object.fromEntries(kept),
      vary: [answer.headers["vary"] ?? [], "origin"].flat().join(", "),
      ...originHeaders(allowOrigins, headers.get("origin")),
    },
  };
}

const loopback: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** The host in an authority, in lower case and without the port. */
const hostOf = (authority: string): string => authority.replace(/:\d*$/, "").toLowerCase();

/**
 * Whether a request is for a host name of this machine. Another site can point its own name to 127.0.0.1. Without this
 * check, pages of that site could then read this server's answers (DNS rebinding). The check refuses these requests,
 * because the browser still sends the name of the other site.
 */
export const isAllowedHost = (authority: string | undefined, configured: readonly string[]): boolean =>
  authority !== undefined && (loopback.has(hostOf(authority)) || configured.includes(hostOf(authority)));
