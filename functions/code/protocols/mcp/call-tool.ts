import type * as z from "zod";

import { Problem } from "../../../../shared/core/errors.ts";
import type { InvocationContext } from "../../../../shared/http/invoke.ts";
import type { Response } from "../../../../shared/http/response.ts";
import { inWords } from "../../../../shared/http/validation-messages.ts";
import { CodeResponse } from "../../envelope.ts";
import { execute, refusal } from "../../execution/execute.ts";
import { executeIdempotently } from "../../execution/replay.ts";
import { clip } from "../../language/messages.ts";
import { type RpcRequest, type Id, errorCodes, failure } from "../json-rpc.ts";
import { summarizeResults } from "./results.ts";
import { ToolArguments, queryName, defaultResults, toolNames } from "./tools.ts";

/** How a result is answered in the client's revision, and the rate limit's refusal of the request. */
type ToolCall = { respond: (id: Id, value: Record<string, unknown>) => Response; refused: Problem | undefined };

/**
 * Runs the program of a `tools/call`.
 * - The text is the A2A response: whole, or summarized for `results: "last"`.
 * - Errors that a model can fix are tool errors (`isError`), because models do not see protocol errors.
 * - An unknown tool is a protocol error, for the client to fix.
 */
export async function callTool(
  call: RpcRequest,
  context: InvocationContext,
  { respond, refused }: ToolCall,
): Promise<Response> {
  const { id, params } = call;
  const tool = toolNames.find((name) => name === params["name"]);
  if (tool === undefined) return failure(id, errorCodes.invalidParams, noTool(params["name"]));
  const parsed = ToolArguments.safeParse(params["arguments"], { error: inWords });
  const envelope = refused
    ? overLimit(String(id), refused)
    : parsed.success
      ? await run(tool, id, parsed.data, context)
      : refuseArguments(tool, id, parsed.error);
  const results = parsed.data?.results ?? defaultResults[tool];
  const text = JSON.stringify(results === "all" ? CodeResponse.parse(envelope) : summarizeResults(envelope));
  const content = [{ type: "text", text }];
  return respond(id, { content, isError: envelope.status === "failed" });
}

const noTool = (name: unknown): string =>
  `${typeof name === "string" ? `There is no tool ${clip(name)}` : "name is a string"}; the tools are ${toolNames.join(" and ")}`;

const refuseArguments = (tool: string, id: Id, wrong: z.ZodError): CodeResponse =>
  refusalOf(String(id), "invalid_argument", argumentsMessage(tool, wrong));

/** Only a `request_id` makes a program idempotent: clients reuse small JSON-RPC ids in each connection. */
async function run(
  tool: string,
  id: Id,
  parsed: z.output<typeof ToolArguments>,
  context: InvocationContext,
): Promise<CodeResponse> {
  const { code, dry_run: dryRun, session_id: sessionId, request_id: sent } = parsed;
  const requestId = sent ?? String(id);
  const program = { code, requestId, sessionId, dryRun, readOnly: tool === queryName || undefined };
  try {
    return sent === undefined
      ? await execute(program, context)
      : (await executeIdempotently(program, context)).envelope;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // The model has to wait, and it does not see HTTP errors, so it gets a tool error.
    if (error.code === "idempotency_in_flight") return refusalOf(requestId, error.code, error.message);
    if (error.code !== "rate_limited") throw error;
    return overLimit(requestId, error);
  }
}

/** The envelope of a program for which the rate limit has no room; `detail` says when there is. */
const overLimit = (requestId: string, { code, message, extras }: Problem): CodeResponse =>
  refusalOf(requestId, code, message, extras, Number(extras["cost"]));

/** The envelope of a call whose arguments are not valid, or whose program was refused. */
const refusalOf = (requestId: string, code: string, message: string, detail?: unknown, score = 0): CodeResponse =>
  refusal(requestId, { code, message, ...(detail === undefined ? {} : { detail }), line: 1, column: 1 }, score);

const argumentsMessage = (tool: string, { issues }: z.ZodError): string => {
  const wrong = issues
    .slice(0, 5)
    .map(({ path, message }) => clip(`${["arguments", ...path.map(String)].join(".")}: ${message}`, 200));
  return `${tool} takes code, a string with the program, and optionally dry_run, session_id, request_id and results. ${wrong.join("; ")}`;
};
