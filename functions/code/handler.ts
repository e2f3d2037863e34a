import { type InvocationContext, requireHonoured } from "../../shared/http/invoke.ts";
import { type Handler, type Request, lambda } from "../../shared/http/lambda.ts";
import type { Response } from "../../shared/http/response.ts";
import { http } from "../../shared/http/rest.ts";
import { catalogue } from "./catalogue.ts";
import { a2a } from "./protocols/a2a/route.ts";
import { checkPage, mcp, unreadable } from "./protocols/mcp/server.ts";

const listed = catalogue.get("functions.list");
if (!listed) throw new Error("functions.list is gone");

/** `functions.list`, which is also a REST route. */
export const functionsRoute = listed.route;

const isMcp = ({ rawPath }: { rawPath: string }): boolean => rawPath.endsWith("/mcp");

const run = lambda("code", answer, {
  guard: (request) => isMcp(request) && checkPage(request),
  failure: (problem, request) => (isMcp(request) ? unreadable(problem) : undefined),
});

/** Charges 1 for every request, even an invalid one. The rest of a program's score is charged once it is known. */
async function answer(request: Request, door: InvocationContext): Promise<Response> {
  await door.charge({ principalId: (await door.authenticate()).id, class: "default", cost: 1 });
  requireHonoured({}, request);
  return isMcp(request) ? mcp(request, door) : a2a(request, door);
}
const listFunctions = http(functionsRoute);

/** Serves MCP, A2A, and the list of callable functions. */
export const handler: Handler = (event) => (event.rawPath === functionsRoute.path ? listFunctions(event) : run(event));
