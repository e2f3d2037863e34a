import { json } from "../../shared/answer.ts";
import { lambda } from "../../shared/lambda.ts";
import { a2a } from "./a2a.ts";
import { mcp } from "./mcp.ts";

/** Both doors of code mode. */
export const handler = lambda("code", async (request, door) =>
  request.rawPath.endsWith("/mcp") ? mcp(request, door) : json(200, await a2a(request, door)),
);
