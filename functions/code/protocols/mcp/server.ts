import { type InvalidInput, Problem } from "../../../../shared/core/errors.ts";
import { productName } from "../../../../shared/core/product.ts";
import type { Door } from "../../../../shared/http/invoke.ts";
import type { Request } from "../../../../shared/http/lambda.ts";
import type { Response } from "../../../../shared/http/response.ts";
import { runtime } from "../../../../shared/http/runtime.ts";
import { clip } from "../../language/messages.ts";
import { type RpcRequest, type Id, errorCodes, failure, idOf, readMessage, result } from "../json-rpc.ts";
import { callTool } from "./call-tool.ts";
import { executeName, queryName, tools } from "./tools.ts";
import { type Generation, protocolGeneration, legacyRevisions, refuseByHeaders, revisions } from "./versions.ts";

/** Who answers, in the words of MCP. */
const serverInfo = { name: "hosted-mail-api", title: productName, version: "1.0.0" };
const capabilities = { tools: {} };
const instructions = `The ${productName}: accounts, workspaces, domains and DNS, mailboxes, forwarding, dedicated IPs, billing. ${queryName} runs programs that only read, ${executeName} every program. Put what belongs together into one program.`;

/** What revisions 2025-11-25, 2025-06-18 and 2025-03-26 ask for, but for calls of tools. */
const legacyMethods: ReadonlyMap<string, (call: RpcRequest) => Response> = new Map([
  ["initialize", initialize],
  ["ping", ({ id }: RpcRequest) => result(id, {})],
  ["tools/list", ({ id }: RpcRequest) => result(id, { tools: tools() })],
]);

/** The client's revision when it is known here, else the newest of these: the client then stays or leaves. */
function initialize({ id, params }: RpcRequest): Response {
  const { protocolVersion: asked } = params;
  if (typeof asked !== "string") return failure(id, errorCodes.invalidParams, "protocolVersion is a string");
  const protocolVersion = legacyRevisions.find((known) => known === asked) ?? legacyRevisions[0];
  return result(id, { protocolVersion, capabilities, serverInfo, instructions });
}

const _meta = { "io.modelcontextprotocol/serverInfo": serverInfo };

/** A result of revision 2026-07-28: that it is the whole one, and whose. */
const complete = (id: Id, value: Record<string, unknown>): Response =>
  result(id, { resultType: "complete", ...value, _meta });

/** Everybody's answer is the same, until the next deployment. */
const cached = { ttlMs: 300_000, cacheScope: "public" };

/** What revision 2026-07-28 asks for, but for calls of tools. */
const modernMethods: ReadonlyMap<string, (call: RpcRequest) => Response> = new Map([
  [
    "server/discover",
    ({ id }: RpcRequest) => complete(id, { supportedVersions: revisions, capabilities, instructions, ...cached }),
  ],
  ["tools/list", ({ id }: RpcRequest) => complete(id, { tools: tools(), ...cached })],
]);

/** The host of an origin or a `Host` header on this machine itself, with any port. */
const loopback = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i;

/**
 * Refuses a browser's request from a page that is not allowed (403), against DNS rebinding. `allowed` is a list
 * with commas. A server reached over loopback also allows pages of this machine. Other clients send no `Origin`.
 */
export function checkOrigin(headers: Record<string, string | undefined>, allowed = ""): void {
  const { origin, host = "" } = headers;
  if (origin === undefined) return;
  const origins = new Set(allowed.split(",").map((one) => one.trim()));
  if (origin !== "" && (origins.has(origin) || origins.has("*"))) return;
  if (loopback.test(host) && origin.startsWith("http://") && loopback.test(origin.slice("http://".length))) return;
  throw new Problem("origin_not_allowed", "Requests from this web origin are not allowed.");
}

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
  const call: RpcRequest = { ...message, id };
  const era = protocolGeneration(message, request.headers);
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
function unknownMethod({ id, method }: RpcRequest, era: Generation): Response {
  const message = `There is no method ${clip(method)}; the MCP revisions here are ${revisions.join(", ")}`;
  return failure(id, errorCodes.methodNotFound, message, era === "modern" ? 404 : 200);
}
