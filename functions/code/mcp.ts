import * as z from "zod";

import type { Response } from "../../shared/answer.ts";
import type { Door } from "../../shared/invoke.ts";
import type { Request } from "../../shared/lambda.ts";
import { runtime } from "../../shared/runtime.ts";
import { execute, refusal } from "./execute.ts";
import { errorCodes, failure, idOf, readMessage, result, type Id, type Message } from "./json-rpc.ts";
import { clip } from "./mistake.ts";
import { checkOrigin } from "./origin.ts";
import { executeTool, toolName } from "./tool.ts";

const newest = "2025-11-25";
const revisions = [newest, "2025-06-18", "2025-03-26"];

/**
 * The MCP endpoint (Streamable HTTP, revisions 2025-11-25, 2025-06-18 and 2025-03-26), without sessions and
 * streams: one message per POST, answered by one JSON object, whatever the client's `Accept` says.
 */
export async function mcp(request: Request, door: Door): Promise<Response> {
  checkOrigin(request.headers, runtime().env.ALLOWED_ORIGINS);
  const message = readMessage(request.body);
  if (!message) {
    return failure(
      idOf(request.body),
      errorCodes.invalidRequest,
      "Send one JSON-RPC 2.0 message: jsonrpc, method, an id that is a string or integer, params that are an object",
      400,
    );
  }
  const { id, method } = message;
  if (id === undefined) return { statusCode: 202 };
  const answer = methods.get(method);
  if (!answer) return failure(id, errorCodes.methodNotFound, `There is no method ${method}`);
  const revision = request.headers["mcp-protocol-version"];
  if (method !== "initialize" && revision !== undefined && !revisions.includes(revision)) {
    const known = `The supported MCP revisions are ${revisions.join(", ")}`;
    return failure(id, errorCodes.invalidRequest, known, 400);
  }
  if (method !== "tools/call") {
    await door.charge({ principalId: (await door.authenticate()).id, class: "default", cost: 1 });
  }
  return answer({ ...message, id }, door);
}

type Answer = (message: Message & { id: Id }, door: Door) => Response | Promise<Response>;

const methods = new Map<string, Answer>([
  ["initialize", initialize],
  ["ping", ({ id }) => result(id, {})],
  ["tools/list", ({ id }) => result(id, { tools: [executeTool()] })],
  ["tools/call", callTool],
]);

/** The client's revision when it is known here, else the newest: the client then stays or leaves. */
function initialize({ id, params }: Message & { id: Id }): Response {
  const asked = params["protocolVersion"];
  if (typeof asked !== "string") return failure(id, errorCodes.invalidParams, "protocolVersion is a string");
  return result(id, {
    protocolVersion: revisions.includes(asked) ? asked : newest,
    capabilities: { tools: {} },
    serverInfo: { name: "code-api-public", title: "Code API (Public)", version: "1.0.0" },
  });
}

const ToolArguments = z.strictObject({ code: z.string() });

/** Whatever a model can mend is a tool error (`isError`), never a protocol error. */
async function callTool({ id, params }: Message & { id: Id }, door: Door): Promise<Response> {
  const { name } = params;
  if (name !== toolName) {
    const asked = typeof name === "string" ? `There is no tool ${clip(name)}` : "name is a string";
    return failure(id, errorCodes.invalidParams, `${asked}; the tool is ${toolName}`);
  }
  const given = ToolArguments.safeParse(params["arguments"]);
  const envelope = given.success
    ? await execute(given.data.code, String(id), door)
    : refusal(String(id), {
        code: "invalid_argument",
        message: `${toolName} takes exactly one argument: code, a string that holds the program.`,
        line: 1,
        column: 1,
      });
  const text = JSON.stringify(envelope);
  return result(id, { content: [{ type: "text", text }], isError: envelope.status === "failed" });
}
