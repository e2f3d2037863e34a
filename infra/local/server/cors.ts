import { corsRules } from "../../constructs/api.ts";
import type { Answer } from "./http-message.ts";

type RequestHeaders = ReadonlyMap<string, string>;

/** What every answer to an allowed origin carries; nothing for any other. */
function originHeaders(allowOrigins: readonly string[], origin: string | undefined): Record<string, string> {
  if (origin === undefined) return {};
  const wildcard = allowOrigins.includes("*");
  if (!wildcard && !allowOrigins.includes(origin)) return {};
  return {
    "access-control-allow-origin": wildcard ? "*" : origin,
    "access-control-expose-headers": corsRules.exposeHeaders.join(","),
  };
}

/** A preflight request (Fetch standard, CORS-preflight fetch). */
export const isPreflight = (method: string | undefined, headers: RequestHeaders): boolean =>
  method === "OPTIONS" && headers.has("origin") && headers.has("access-control-request-method");

/** 204 to every preflight; the CORS headers are there only for an allowed origin. */
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
 * The answer with the CORS headers of an allowed origin. A handler's own CORS headers are dropped, as
 * API Gateway does once CORS is configured; with no origins configured the answer is left alone.
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

/** The host of an authority, without its port, in lower case. */
const hostOf = (authority: string): string => authority.replace(/:\d*$/, "").toLowerCase();

/**
 * Whether a request names a host that can only be meant for this machine. A page of another site can
 * point a name of its own at 127.0.0.1 and then read our answers (DNS rebinding), but its browser still
 * sends that name.
 */
export const isAllowedHost = (authority: string | undefined, configured: readonly string[]): boolean =>
  authority !== undefined && (loopback.has(hostOf(authority)) || configured.includes(hostOf(authority)));
