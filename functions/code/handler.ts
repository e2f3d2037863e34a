import { json } from "../../shared/answer.ts";
import { lambda } from "../../shared/lambda.ts";
import { a2a } from "./a2a.ts";
import { mcp } from "./mcp.ts";

/** Both doors of code mode. */
export const handler = lambda("code", async (request, door) => {
  if (request.rawPath.endsWith("/mcp")) return mcp(request, door);
  const { envelope, replayed } = await a2a(request, door);
  return json(200, envelope, replayed ? { "idempotency-replayed": "true" } : {});
});
