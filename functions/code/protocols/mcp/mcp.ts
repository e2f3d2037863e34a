import type { Response } from "../../../../shared/answer.ts";
import { Problem, type InvalidInput } from "../../../../shared/errors.ts";
import type { Door } from "../../../../shared/invoke.ts";
import type { Request } from "../../../../shared/lambda.ts";
import { runtime } from "../../../../shared/runtime.ts";
import { clip } from "../../language/sentences.ts";
import { errorCodes, failure, idOf, readMessage, result, type Call } from "../json-rpc.ts";
import { eraOf, refuseByHeaders, revisions, type Era } from "./mcp-era.ts";
import { legacyMethods } from "./mcp-legacy.ts";
import { complete, modernMethods } from "./mcp-modern.ts";
import { callTool } from "./mcp-tools.ts";
import { checkOrigin } from "./origin.ts";

const eras = {
  legacy: { methods: legacyMethods, respond: result },
  modern: { methods: modernMethods, respond: complete },
};

/**
 * The MCP endpoint (Streamable HTTP), without sessions and streams: one message per POST, answered by one JSON
 * object, whatever the client's `Accept` says. It speaks revision 2026-07-28, and 2025-11-25, 2025-06-18 and
 * 2025-03-26, which begin with `initialize`.
 */
export async function mcp(request: Request, door: Door): Promise<Response> {
  const message = readMessage(request.body);
  if (!message) return failure(idOf(request.body), errorCodes.invalidRequest, shape, 400);
  const { id, method } = message;
  const refused = refuseByHeaders(message, request.headers);
  if (id === undefined) return refused ?? { statusCode: 202 };
  const call: Call = { ...message, id };
  const era = eraOf(message, request.headers);
  if (refused) return refused;
  if (method === "tools/call") return callTool(call, door, eras[era].respond);
  return eras[era].methods.get(method)?.(call) ?? unknownMethod(call, era);
}

/** Refuses pages of web origins that are not allowed, before anything else: whose browser it is does not matter. */
export const checkPage = ({ headers }: Pick<Request, "headers">): void =>
  checkOrigin(headers, runtime().env.ALLOWED_ORIGINS);

/** The answer to a body that is no JSON, in the words of JSON-RPC; undefined for what HTTP itself refuses. */
export const unreadable = (problem: Problem | InvalidInput): Response | undefined =>
  problem instanceof Problem && problem.code === "malformed_json"
    ? failure(null, errorCodes.parseError, problem.message, problem.status)
    : undefined;

const shape =
  "Send one JSON-RPC 2.0 message: jsonrpc, method, an id that is a string or integer, params that are an object";

/** Revision 2026-07-28 has a status for it; a client of an earlier one reads here which revisions there are. */
function unknownMethod({ id, method }: Call, era: Era): Response {
  const message = `There is no method ${clip(method)}; the MCP revisions here are ${revisions.join(", ")}`;
  return failure(id, errorCodes.methodNotFound, message, era === "modern" ? 404 : 200);
}
