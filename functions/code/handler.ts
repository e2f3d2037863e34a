import { type InvocationContext, requireHonoured } from "../../shared/http/invoke.ts";
import { type Handler, type LambdaHandler, type Request, lambda } from "../../shared/http/lambda.ts";
import type { Response } from "../../shared/http/response.ts";
import { http } from "../../shared/http/rest.ts";
import { catalogue } from "./catalogue.ts";
import { a2a } from "./protocols/a2a/route.ts";
import { checkPage, mcp, unreadable } from "./protocols/mcp/server.ts";

const listed = catalogue.get("functions.list");
if (!listed) throw new Error("functions.list is missing from the catalogue");

/** `functions.list`, which is also a REST route. */
export const functionsRoute = listed.route;

const isMcp = ({ rawPath }: { rawPath: string }): boolean => rawPath.endsWith("/mcp");

const run = lambda("code", answer, {
  guard: (request) => isMcp(request) && checkPage(request),
  failure: (problem, request) => (isMcp(request) ? unreadable(problem) : undefined),
});

/** Charges 1 for every request, even an invalid one. The rest of a program's score is charged once it is known. */
async function answer(request: Request, context: InvocationContext): Promise<Response> {
  await context.charge({ principalId: (await context.authenticate()).id, class: "default", cost: 1 });
  requireHonoured(undefined, request);
  return isMcp(request) ? mcp(request, context) : a2a(request, context);
}
const listFunctions = http(functionsRoute);

/** Serves MCP, A2A, and the list of callable functions. */
export const handler: LambdaHandler = Object.assign(
  (event: Parameters<Handler>[0], context?: unknown) =>
    event.rawPath === functionsRoute.http.path ? listFunctions(event) : run(event, context),
  { prime: run.prime },
);
