import { json } from "../../shared/answer.ts";
import { fromStrings } from "../../shared/input.ts";
import { invoke } from "../../shared/invoke.ts";
import { lambda } from "../../shared/lambda.ts";
import { route } from "./a2a.ts";
import { mcp } from "./mcp.ts";

/** Both doors of code mode. */
export const handler = lambda("code", async (request, door) => {
  if (request.rawPath.endsWith("/mcp")) return mcp(request, door);
  const query = fromStrings(route.query, new URLSearchParams(request.rawQueryString));
  const { output } = await invoke(route, { params: {}, query, body: request.body }, door);
  return json(route.status, output);
});
