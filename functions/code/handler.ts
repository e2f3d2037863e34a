import { http } from "../../shared/http.ts";
import { lambda, type Handler } from "../../shared/lambda.ts";
import { a2a } from "./a2a.ts";
import { functionsRoute } from "./functions-route.ts";
import { checkPage, mcp, unreadable } from "./mcp.ts";

const isMcp = ({ rawPath }: { rawPath: string }): boolean => rawPath.endsWith("/mcp");

const run = lambda("code", (request, door) => (isMcp(request) ? mcp(request, door) : a2a(request, door)), {
  guard: (request) => isMcp(request) && checkPage(request),
  failure: (problem, request) => (isMcp(request) ? unreadable(problem) : undefined),
});
const listFunctions = http(functionsRoute);

/** The doors of code mode, and the list of what can be called there. */
export const handler: Handler = (event) => (event.rawPath === functionsRoute.path ? listFunctions(event) : run(event));
