import * as z from "zod";

import { type InvalidInput, Problem } from "../../../../shared/core/errors.ts";
import { productName } from "../../../../shared/core/product.ts";
import type { InvocationContext } from "../../../../shared/http/invoke.ts";
import type { Request } from "../../../../shared/http/lambda.ts";
import type { Response } from "../../../../shared/http/response.ts";
import { runtime } from "../../../../shared/http/runtime.ts";
import { cancelRequest } from "../../execution/cancellation.ts";
import { clip } from "../../language/messages.ts";
import { Id, type Message, type RpcRequest, errorCodes, failure, idOf, readMessage, result } from "../json-rpc.ts";
import { callTool } from "./call-tool.ts";
import { executeName, queryName, tools } from "./tools.ts";
import { type Generation, protocolGeneration, legacyRevisions, refuseByHeaders, revisions } from "./versions.ts";

/** The server's identity in MCP terms. */
const serverInfo = { name: "hosted-mail-api", title: productName, version: "1.0.0" };
const capabilities = { tools: {} };
const instructions = `The ${productName}: accounts, workspaces, domains and DNS, mailboxes, forwarding, dedicated IPs, billing. ${queryName} runs programs that only read, ${executeName} every program. Put calls that belong together into one program.`;

/** The methods of revisions 2025-11-25, 2025-06-18 and 2025-03-26, except `tools/call`. */
const legacyMethods: ReadonlyMap<string, (call: RpcRequest) => Response> = new Map([
  ["initialize", initialize],
  ["ping", ({ id }: RpcRequest) => result(id, {})],
  ["tools/list", ({ id }: RpcRequest) => result(id, { tools: tools() })],
]);

/**
 * Answers the revision that the client asks for, if it is a supported legacy revision. Otherwise answers the newest
 * legacy revision: the client then accepts this revision or disconnects.
 */
function initialize({ id, params }: RpcRequest): Response {
  const { protocolVersion: asked } = params;
  if (typeof asked !== "string") return failure(id, errorCodes.invalidParams, "protocolVersion must be a string");
  const protocolVersion = legacyRevisions.find((known) => known === asked) ?? legacyRevisions[0];
  return result(id, { protocolVersion, capabilities, serverInfo, instructions });
}

const _meta = { "io.modelcontextprotocol/serverInfo": serverInfo };

/** Builds a result of revision 2026-07-28: marked complete, with the server's identity. */
const complete = (id: Id, value: Record<string, unknown>): Response =>
  result(id, { resultType: "complete", ...value, _meta });

/** The members that let a client cache an answer. The answer is the same for everybody until the next deployment. */
const cacheable = { ttlMs: 300_000, cacheScope: "public" };

/** The methods of revision 2026-07-28, except `tools/call`. */
const modernMethods: ReadonlyMap<string, (call: RpcRequest) => Response> = new Map([
  [
    "server/discover",
    ({ id }: RpcRequest) => complete(id, { supportedVersions: revisions, capabilities, instructions, ...cacheable }),
  ],
  ["tools/list", ({ id }: RpcRequest) => complete(id, { tools: tools(), ...cacheable })],
]);

/** Matches a loopback host with any port, in an origin or a `Host` header. */
const loopback = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i;

/**
 * Refuses requests from web pages whose origin is not allowed (403). This protects against DNS rebinding.
 * - `allowed` is a comma-separated list of origins.
 * - A server reached over loopback also allows pages from loopback addresses.
 * - Requests without `Origin` pass, because only browsers send this header.
 */
export function checkOrigin(headers: Record<string, string | undefined>, allowed = ""): void {
  const { origin, host = "" } = headers;
  if (origin === undefined) return;
  const origins = new Set(allowed.split(",").map((one) => one.trim()));
  if (origin !== "" && (origins.has(origin) || origins.has("*"))) return;
  if (loopback.test(host) && origin.startsWith("http://") && loopback.test(origin.slice("http://".length))) return;
  throw new Problem("origin_not_allowed", "Requests from this web origin are not allowed.");
}

/** The differences between the generations of revisions. */
const generations = {
  legacy: { methods: legacyMethods, respond: result, endsWithConnection: false },
  modern: { methods: modernMethods, respond: complete, endsWithConnection: true },
};

const Cancelled = z.object({ requestId: Id });

/** Takes a notification. A cancelled request soon makes no more calls. Other notifications have no effect. */
async function takeNotification({ method, params }: Message, context: InvocationContext): Promise<Response> {
  const { data } = Cancelled.safeParse(params);
  if (method === "notifications/cancelled" && data) await cancelRequest(data.requestId, context);
  return { statusCode: 202 };
}

/**
 * Answers the MCP endpoint (Streamable HTTP) without sessions: one message per POST, answered by one JSON object, or by
 * a stream of events with progress notifications. Supports revision 2026-07-28, and the revisions 2025-11-25,
 * 2025-06-18 and 2025-03-26, which begin with `initialize`. If the rate limit `refused` the request, a program is not
 * run. All other methods are still answered, and a cancellation still takes effect, because it saves work.
 */
export async function mcp(request: Request, context: InvocationContext, refused?: Problem): Promise<Response> {
  const message = readMessage(request.body);
  if (!message) return failure(idOf(request.body), errorCodes.invalidRequest, expectedForm, 400);
  const { id, method } = message;
  const refusal = refuseByHeaders(message, request.headers);
  if (id === undefined) return refusal ?? takeNotification(message, context);
  const call: RpcRequest = { ...message, id };
  const generation = protocolGeneration(message, request.headers);
  if (refusal) return refusal;
  const { accept } = request.headers;
  if (method === "tools/call") return callTool(call, context, { ...generations[generation], accept, refused });
  return generations[generation].methods.get(method)?.(call) ?? unknownMethod(call, generation);
}

/** Refuses pages of disallowed web origins (403). This check comes first, even before authentication. */
export const checkPage = ({ headers }: Pick<Request, "headers">): void =>
  checkOrigin(headers, runtime().env.ALLOWED_ORIGINS);

/** The JSON-RPC error for a body that is not JSON. Undefined for other errors, which are answered as HTTP errors. */
export const unreadableBody = (problem: Problem | InvalidInput): Response | undefined =>
  problem instanceof Problem && problem.code === "malformed_json"
    ? failure(null, errorCodes.parseError, problem.message, problem.status)
    : undefined;

const expectedForm =
  "Send one JSON-RPC 2.0 message: jsonrpc, method, an id that is a string or integer, params that are an object";

/**
 * Answers an unknown method: 404 in revision 2026-07-28, else 200. The message lists the supported revisions, because
 * the client may use another revision.
 */
function unknownMethod({ id, method }: RpcRequest, generation: Generation): Response {
  const message = `There is no method ${clip(method)}; the MCP revisions here are ${revisions.join(", ")}`;
  return failure(id, errorCodes.methodNotFound, message, generation === "modern" ? 404 : 200);
}
