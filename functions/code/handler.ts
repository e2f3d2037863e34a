import { Problem } from "../../shared/core/errors.ts";
import { type InvocationContext, requireHonoured } from "../../shared/http/invoke.ts";
import { type Handler, type LambdaHandler, type Request, lambda } from "../../shared/http/lambda.ts";
import type { Response } from "../../shared/http/response.ts";
import { http } from "../../shared/http/rest.ts";
import { catalogue } from "./catalogue.ts";
import { a2a } from "./protocols/a2a/route.ts";
import { unreadableRpc } from "./protocols/a2a/rpc.ts";
import { checkPage, mcp, unreadableBody } from "./protocols/mcp/server.ts";

const listFunction = catalogue.get("functions.list");
if (!listFunction) throw new Error("functions.list is missing from the catalogue");

/** `functions.list`, which is also a REST route. */
export const functionsRoute = listFunction.route;

const isMcp = ({ rawPath }: { rawPath: string }): boolean => rawPath.endsWith("/mcp");

const run = lambda("code", answer, {
  guard: (request) => isMcp(request) && checkPage(request),
  failure: (problem, request) => (isMcp(request) ? unreadableBody(problem) : unreadableRpc(problem, request)),
});

/**
 * Charges 1 for every request, even an invalid one. The rest of a program's score is charged when the score is known.
 * If an MCP request exceeds the rate limit, only a tool call is refused, with a tool error. MCP clients can therefore
 * connect, and cancel a program, at any time.
 */
async function answer(request: Request, context: InvocationContext): Promise<Response> {
  const { id: principalId } = await context.authenticate();
  const refused = await context.charge({ principalId, class: "default", cost: 1 }).then(() => undefined, rateLimited);
  if (refused && !isMcp(request)) throw refused;
  // Programs and tool calls have no entity tag, so a request with `If-Match` is refused.
  requireHonoured(undefined, request);
  return isMcp(request) ? mcp(request, context, refused) : a2a(request, context);
}

/** Returns a refusal by the rate limit; throws any other error. */
function rateLimited(error: unknown): Problem {
  if (error instanceof Problem && error.code === "rate_limited") return error;
  throw error;
}

const listFunctions = http(functionsRoute);

/** Serves MCP, A2A, and the list of callable functions. */
export const handler: LambdaHandler = Object.assign(
  (event: Parameters<Handler>[0], context?: unknown) =>
    event.rawPath === functionsRoute.http.path ? listFunctions(event) : run(event, context),
  { prime: run.prime },
);
