import * as z from "zod";
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject } from "zod-openapi";

import { problemCodes, problemOf, type ProblemCode } from "../../shared/core/errors.ts";
import { type Route, canAnswerWithoutSecret } from "../../shared/http/route.ts";
import { headersBesideGateway, headersWith, rateLimit } from "./headers.ts";

/** API Gateway's own answer to a request that reaches no function, or whose function does not answer. */
const GatewayAnswer = z.object({ message: z.string().meta({ description: "The gateway's message." }) }).meta({
  id: "GatewayAnswer",
  description:
    "An answer of the gateway in front of the API. The answer has no `X-Request-Id`, and is not in the format of a problem.",
});

const gatewayCases: Record<string, string> = {
  400: "for a path or query with malformed percent-escapes",
  413: "for a body that is too large for the gateway",
  429: "when all callers together send too many requests",
  500: "when the answer of the API is not valid",
  503: "when a request takes too long. The request may have taken effect: before you repeat it, read the resource, or use the same `Idempotency-Key`",
};

/**
 * A sentence about the case in which the gateway answers with a status. Undefined if the gateway never answers with
 * this status.
 */
const gatewayNote = (status: string): string | undefined =>
  gatewayCases[status] && `The gateway answers \`{"message": …}\` ${gatewayCases[status]}.`;

const Problem = z
  .object({
    type: z.string().meta({ description: "The page that explains the problem, relative to the API's address." }),
    title: z.string().meta({ description: "The kind of problem. It is the same for every occurrence of the code." }),
    status: z.int().meta({ description: "The HTTP status of the answer." }),
    detail: z.string().meta({ description: "The reason of this error, in words for people." }),
    code: z.enum(problemCodes).meta({ description: "The stable code of the problem, for decisions in your code." }),
    request_id: z.string().meta({ description: "The request's id. Quote the id when you ask us about the request." }),
  })
  .catchall(z.unknown())
  .meta({ id: "Problem", description: "RFC 9457 problem details. Further members help to correct the request." });

const HTTPValidationError = z
  .object({
    detail: z
      .array(
        z
          .object({
            loc: z.array(z.union([z.string(), z.int()])).meta({
              description:
                "The path to the error: `path`, `query`, `header` or `body`, then the names of members and the indexes in lists.",
            }),
            msg: z.string().meta({ description: "The mistake at this place." }),
            type: z.string().meta({ description: "The stable name of this kind of error." }),
          })
          .meta({ id: "ValidationError", description: "One error in the request." }),
      )
      .optional()
      .meta({ description: "The errors in the request, at most 100." }),
  })
  .meta({ id: "HTTPValidationError", description: "The errors of a request that does not match the schema." });

/** Facts about an operation besides its route. */
type OperationFacts = {
  /** Whether the route is a function. The endpoints of code mode are not functions. */
  isFunction: boolean;
  /** Whether the route is the MCP endpoint, which answers notifications with 202 and checks `Origin`. */
  isMcp: boolean;
  /** All functions. Links can point to them. */
  functions: readonly Route[];
};

const takesKey = ({ http: { method } }: Route, isMcp: boolean): boolean => method === "POST" && !isMcp;

/** The problem codes with which a route can answer. A 422 has no problem code. */
function problemsOf(route: Route, { isFunction, isMcp }: OperationFacts): ProblemCode[] {
  const inAccount = !route.public && "account_id" in route.params.shape;
  const always: ProblemCode[] = [
    ...(route.public ? [] : (["unauthenticated", "token_expired", "token_revoked"] as const)),
    ...(["malformed_json", "body_too_large", "unsupported_media_type", "precondition_failed"] as const),
    ...(["rate_limited", "internal", "busy", "upstream_unavailable"] as const),
  ];
  const conditional: [boolean, ProblemCode][] = [
    [route.capability !== null && route.capability !== "account.view", "forbidden"],
    [inAccount && route.access === "write", "account_suspended"],
    [inAccount, "not_found"],
    [route.access === "write", "read_only"],
    [isMcp, "origin_not_allowed"],
    [takesKey(route, isMcp), "idempotency_in_flight"],
    [takesKey(route, isMcp) && (route.shownOnce.length > 0 || !isFunction), "secret_already_shown"],
  ];
  const codes = new Set([
    ...always,
    ...conditional.flatMap(([holds, code]) => (holds ? [code] : [])),
    ...route.problems,
    ...(route.requires ? [route.requires.code] : []),
  ]);
  return problemCodes.filter((code) => codes.has(code));
}

function failureHeaders(status: string, codes: readonly ProblemCode[]): ZodOpenApiResponseObject["headers"] {
  switch (status) {
    case "400":
    case "413":
    case "500":
      return headersBesideGateway(rateLimit);
    case "415":
      return headersWith([], rateLimit);
    case "401":
      return headersWith(["WWW-Authenticate"]);
    case "409":
      return headersWith(rateLimit, codes.includes("idempotency_in_flight") ? ["Retry-After"] : []);
    case "429":
    case "503":
      return headersBesideGateway([...rateLimit, "Retry-After"]);
    default:
      // MCP checks the origin before it counts the request. So a 403 for the origin has no headers about the limit.
      return codes.includes("origin_not_allowed") ? headersWith([]) : headersWith(rateLimit);
  }
}

const invalid = (): ZodOpenApiResponseObject => ({
  description: "The request is not valid. `detail` names each invalid place.",
  headers: headersWith([], rateLimit),
  content: { "application/json": { schema: HTTPValidationError } },
});

function failures(route: Route, facts: OperationFacts): ZodOpenApiOperationObject["responses"] {
  const byStatus = Map.groupBy(problemsOf(route, facts), (code) => String(problemOf(code).status));
  const responses = [...byStatus].map(([status, codes]) => {
    const titles = codes.map((code) => `\`${code}\`: ${problemOf(code).title}.`);
    const note = gatewayNote(status);
    return [
      status,
      {
        description: [...titles, ...(note === undefined ? [] : [note])].join(" "),
        headers: failureHeaders(status, codes),
        content: { "application/problem+json": { schema: Problem }, ...otherFormats(route, facts, status) },
      },
    ];
  });
  return Object.fromEntries([...responses, ["422", invalid()]]);
}

/** The other formats of a failure besides a problem: an answer of the gateway, or a JSON-RPC answer. */
function otherFormats(route: Route, { isMcp }: OperationFacts, status: string): ZodOpenApiResponseObject["content"] {
  const schemas = [
    ...(isMcp && status === "400" ? [route.output] : []),
    ...(gatewayNote(status) === undefined ? [] : [GatewayAnswer]),
  ];
  const [only, ...more] = schemas;
  if (!only) return {};
  return { "application/json": { schema: more.length > 0 ? z.union(schemas) : only } };
}

function success(route: Route, { isMcp, functions }: OperationFacts): ZodOpenApiResponseObject {
  const hasTag = route.http.etag && route.http.method !== "DELETE";
  const always = [
    ...rateLimit,
    ...(route.http.location === undefined ? [] : (["Location"] as const)),
    ...(hasTag ? (["ETag"] as const) : []),
  ];
  const maybe = [
    ...(takesKey(route, isMcp) && canAnswerWithoutSecret(route) ? (["Idempotency-Replayed"] as const) : []),
    ...(route.http.file ? (["Content-Disposition"] as const) : []),
  ];
  return {
    description: "Done.",
    headers: headersWith(always, maybe),
    content: {
      ...(route.http.file ? { [route.http.file.type]: { schema: z.string() } } : {}),
      ...(isMcp ? { "text/event-stream": { schema: z.string() } } : {}),
      "application/json": { schema: route.output },
    },
    ...(route.http.location === undefined ? {} : { links: linksOf(route, functions) }),
  };
}

const acceptedResponse = (route: Route): ZodOpenApiResponseObject => ({
  description: "Accepted. The task runs after this answer. `Location` leads to its state.",
  headers: headersWith([...rateLimit, "Location"], ["Idempotency-Replayed"]),
  content: { "application/json": { schema: route.output } },
});

const dryRunResponse = (route: Route): ZodOpenApiResponseObject => ({
  description: "The answer of a dry run. Nothing was changed.",
  headers: headersWith(rateLimit, ["Idempotency-Replayed"]),
  content: { "application/json": { schema: route.output } },
});

/** All responses of a route, by status. */
export function responsesOf(route: Route, facts: OperationFacts): ZodOpenApiOperationObject["responses"] {
  return {
    [String(route.http.status)]: success(route, facts),
    ...(route.http.later ? { "202": acceptedResponse(route) } : {}),
    ...(route.http.isDryRun ? { "200": dryRunResponse(route) } : {}),
    ...(facts.isMcp
      ? { "202": { description: "The notification was accepted. It gets no answer.", headers: headersWith(rateLimit) } }
      : {}),
    ...(route.http.etag && route.http.method === "GET"
      ? {
          "304": {
            description: "The resource's own state has not changed.",
            headers: headersWith([...rateLimit, "ETag"]),
          },
        }
      : {}),
    ...failures(route, facts),
    ...(facts.isMcp ? { "404": unknownMethod(route) } : {}),
  };
}

const unknownMethod = (route: Route): ZodOpenApiResponseObject => ({
  description:
    "Revision 2026-07-28 of MCP does not have the method of the message. The answer is the JSON-RPC error -32601.",
  headers: headersWith(rateLimit),
  content: { "application/json": { schema: route.output } },
});

type Link = { operationId: string; description: string; parameters: Record<string, string> };

const placeholder = /\{(\w+)\}/g;

const namesIn = (path: string): string[] => [...path.matchAll(placeholder)].map(([, name = ""]) => name);

/** A path without the names of its parameters, to compare paths that name their parameters differently. */
const shapeOf = (path: string): string => path.replaceAll(placeholder, "{}");

/**
 * The OpenAPI link from a route that creates a resource to the route that reads the resource. The name of the link is
 * the name of the reading route.
 */
function linksOf(created: Route, routes: readonly Route[]): Record<string, Link> {
  const { location } = created.http;
  if (location === undefined) return {};
  const reading = routes.find(({ http: { method, path } }) => method === "GET" && shapeOf(path) === shapeOf(location));
  if (!reading) throw new Error(`No route reads the location ${location} of ${created.name}`);
  const sources = namesIn(location).map((name) =>
    name in created.params.shape ? `$request.path.${name}` : `$response.body#/${name}`,
  );
  const parameters = Object.fromEntries(namesIn(reading.http.path).map((name, index) => [name, sources[index] ?? ""]));
  const description = `${reading.summary}. \`Location\` has the same path.`;
  return { [reading.name]: { operationId: reading.name, description, parameters } };
}
