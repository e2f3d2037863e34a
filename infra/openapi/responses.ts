import * as z from "zod";
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject } from "zod-openapi";

import { problemCodes, problemOf, type ProblemCode } from "../../shared/core/errors.ts";
import type { Route } from "../../shared/http/route.ts";
import { mayReplay } from "../../shared/http/shown-once.ts";
import { headersBesideGateway, headersOf, rateLimit } from "./headers.ts";
import { linksOf } from "./links.ts";

/** API Gateway's own answer, if a request reaches no function or gets no answer from it. */
const GatewayAnswer = z.object({ message: z.string().meta({ description: "What the gateway has to say." }) }).meta({
  id: "GatewayAnswer",
  description:
    "An answer of the gateway in front of the API, which has neither `X-Request-Id` nor the form of our problems.",
});

const notes: Record<string, string> = {
  400: "for a path or query with malformed percent-escapes",
  413: "for a body that is too large to be handed on",
  429: "for more requests than the whole API takes",
  500: "for an answer that could not be handed on",
  503: "for a request that took too long: it may have been done, so read before you repeat it, or repeat it with its `Idempotency-Key`",
};

/** A sentence about when the gateway answers with this status; undefined if it never does. */
const gatewayNote = (status: string): string | undefined =>
  notes[status] && `Or \`{"message": …}\` by the gateway, ${notes[status]}.`;

const Problem = z
  .object({
    type: z.string().meta({ description: "Where the problem is explained, relative to the API's address." }),
    title: z.string().meta({ description: "What kind of problem it is; the same for every occurrence." }),
    status: z.int().meta({ description: "The HTTP status again." }),
    detail: z.string().meta({ description: "One plain sentence about this occurrence." }),
    code: z.enum(problemCodes).meta({ description: "The stable code to decide on." }),
    request_id: z.string().meta({ description: "Quote it when you ask us about the request." }),
  })
  .catchall(z.unknown())
  .meta({ id: "Problem", description: "RFC 9457 problem details, with members that help to mend the request." });

const HTTPValidationError = z
  .object({
    detail: z
      .array(
        z
          .object({
            loc: z
              .array(z.union([z.string(), z.int()]))
              .meta({ description: "The place: path, query, header or body first, then the way in." }),
            msg: z.string().meta({ description: "What is wrong there." }),
            type: z.string().meta({ description: "A stable name of the kind of error." }),
          })
          .meta({ id: "ValidationError", description: "One thing that is wrong with the request." }),
      )
      .optional()
      .meta({ description: "Everything that is wrong with the request." }),
  })
  .meta({ id: "HTTPValidationError", description: "The request does not fit the schema." });

/** Facts about an operation besides its route. */
type Door = {
  /** Whether the route is a function; the endpoints of code mode are not. */
  isFunction: boolean;
  /** Whether it speaks JSON-RPC, answers notifications with 202 and checks `Origin`. */
  isRpc: boolean;
  /** All functions, as targets of links. */
  functions: readonly Route[];
};

const takesKey = ({ method }: Route, isRpc: boolean): boolean => method === "POST" && !isRpc;

/** The problem codes that a route may answer besides 422. */
function problemsOf(route: Route, { isFunction, isRpc }: Door): ProblemCode[] {
  const inAccount = !route.public && "account_id" in route.params.shape;
  const always: ProblemCode[] = [
    ...(route.public ? [] : (["unauthenticated", "token_expired", "token_revoked"] as const)),
    ...(["malformed_json", "body_too_large", "unsupported_media_type", "precondition_failed"] as const),
    ...(["rate_limited", "internal", "busy", "upstream_unavailable"] as const),
  ];
  const when: [boolean, ProblemCode][] = [
    [route.capability !== null && route.capability !== "account.view", "forbidden"],
    [inAccount && route.access === "write", "account_suspended"],
    [inAccount, "not_found"],
    [route.access === "write", "read_only"],
    [isRpc, "origin_not_allowed"],
    [takesKey(route, isRpc), "idempotency_in_flight"],
    [takesKey(route, isRpc) && (route.shownOnce.length > 0 || !isFunction), "secret_already_shown"],
  ];
  const codes = new Set([...always, ...when.flatMap(([holds, code]) => (holds ? [code] : [])), ...route.problems]);
  return problemCodes.filter((code) => codes.has(code));
}

function failureHeaders(status: string, codes: readonly ProblemCode[]): ZodOpenApiResponseObject["headers"] {
  switch (status) {
    case "400":
    case "413":
    case "500":
      return headersBesideGateway(rateLimit);
    case "415":
      return headersOf([], rateLimit);
    case "401":
      return headersOf(["WWW-Authenticate"]);
    case "409":
      return headersOf(rateLimit, codes.includes("idempotency_in_flight") ? ["Retry-After"] : []);
    case "429":
    case "503":
      return headersBesideGateway([...rateLimit, "Retry-After"]);
    default:
      return codes.includes("origin_not_allowed") ? headersOf([]) : headersOf(rateLimit);
  }
}

const invalid = {
  description: "Something in the request does not fit; `detail` names each place.",
  headers: headersOf([], rateLimit),
  content: { "application/json": { schema: HTTPValidationError } },
};

function failures(route: Route, door: Door): ZodOpenApiOperationObject["responses"] {
  const byStatus = Map.groupBy(problemsOf(route, door), (code) => String(problemOf(code).status));
  const responses = [...byStatus].map(([status, codes]) => {
    const ours = codes.map((code) => `\`${code}\`: ${problemOf(code).title}.`);
    return [
      status,
      {
        description: [...ours, gatewayNote(status) ?? []].flat().join(" "),
        headers: failureHeaders(status, codes),
        content: { "application/problem+json": { schema: Problem }, ...besideProblems(route, door, status) },
      },
    ];
  });
  return Object.fromEntries([...responses, ["422", invalid]]);
}

/** The formats of a failure besides a problem: the gateway's answer, or a JSON-RPC answer. */
function besideProblems(route: Route, { isRpc }: Door, status: string): ZodOpenApiResponseObject["content"] {
  const schemas = [
    ...(isRpc && status === "400" ? [route.output] : []),
    ...(gatewayNote(status) === undefined ? [] : [GatewayAnswer]),
  ];
  const [only, ...more] = schemas;
  if (!only) return {};
  return { "application/json": { schema: more.length > 0 ? z.union(schemas) : only } };
}

function success(route: Route, { isRpc, functions }: Door): ZodOpenApiResponseObject {
  const hasTag = route.etag && route.method !== "DELETE";
  const always = [
    ...rateLimit,
    ...(route.location === undefined ? [] : (["Location"] as const)),
    ...(hasTag ? (["ETag"] as const) : []),
  ];
  const maybe = [
    ...(takesKey(route, isRpc) && mayReplay(route) ? (["Idempotency-Replayed"] as const) : []),
    ...(route.file ? (["Content-Disposition"] as const) : []),
  ];
  return {
    description: "Done.",
    headers: headersOf(always, maybe),
    content: {
      ...(route.file ? { [route.file.type]: { schema: z.string() } } : {}),
      "application/json": { schema: route.output },
    },
    ...(route.location === undefined ? {} : { links: linksOf(route, functions) }),
  };
}

const later = (route: Route): ZodOpenApiResponseObject => ({
  description: "It is done after this answer; `Location` leads to how that goes on.",
  headers: headersOf([...rateLimit, "Location"], ["Idempotency-Replayed"]),
  content: { "application/json": { schema: route.output } },
});

/** Everything a route may answer with, by status. */
export function responsesOf(route: Route, door: Door): ZodOpenApiOperationObject["responses"] {
  return {
    [String(route.status)]: success(route, door),
    ...(route.later ? { "202": later(route) } : {}),
    ...(door.isRpc
      ? { "202": { description: "A notification: taken, not answered.", headers: headersOf(rateLimit) } }
      : {}),
    ...(route.etag && route.method === "GET"
      ? { "304": { description: "Its own state is as you know it.", headers: headersOf([...rateLimit, "ETag"]) } }
      : {}),
    ...failures(route, door),
    ...(door.isRpc ? { "404": unknownMethod(route) } : {}),
  };
}

const unknownMethod = (route: Route): ZodOpenApiResponseObject => ({
  description: "Revision 2026-07-28 has no such method: the JSON-RPC error -32601.",
  headers: headersOf(rateLimit),
  content: { "application/json": { schema: route.output } },
});
