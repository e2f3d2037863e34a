import type * as z from "zod";

import type { Response } from "../../shared/answer.ts";
import { Problem } from "../../shared/errors.ts";
import type { Door } from "../../shared/invoke.ts";
import type { CodeResponse } from "./envelope.ts";
import { execute, refusal } from "./execute.ts";
import { errorCodes, failure, type Call, type Id } from "./json-rpc.ts";
import { clip } from "./mistake.ts";
import { executeOnce } from "./once.ts";
import { queryName, ToolArguments, toolNames } from "./tool.ts";

/**
 * Runs the program of a `tools/call`. Whatever a model can mend is a tool error (`isError`), never a protocol error:
 * models see only those. An unknown tool is one for the client.
 */
export async function callTool(
  call: Call,
  door: Door,
  respond: (id: Id, value: Record<string, unknown>) => Response,
): Promise<Response> {
  const { id, params } = call;
  const tool = toolNames.find((name) => name === params["name"]);
  if (tool === undefined) {
    await chargeOne(door);
    return failure(id, errorCodes.invalidParams, noTool(params["name"]));
  }
  const envelope = await run(tool, call, door);
  const content = [{ type: "text", text: JSON.stringify(envelope) }];
  return respond(id, { content, isError: envelope.status === "failed" });
}

/** Charges what is no program. */
export const chargeOne = async (door: Door): Promise<void> =>
  door.charge({ principalId: (await door.authenticate()).id, class: "default", cost: 1 });

const noTool = (name: unknown): string =>
  `${typeof name === "string" ? `There is no tool ${clip(name)}` : "name is a string"}; the tools are ${toolNames.join(" and ")}`;

/**
 * Clients use their small ids again in each connection: an id says which answer is meant, and only a `request_id`
 * that a program is sent again.
 */
async function run(tool: string, { id, params }: Call, door: Door): Promise<CodeResponse> {
  const given = ToolArguments.safeParse(params["arguments"]);
  if (!given.success) {
    await chargeOne(door);
    return refused(String(id), "invalid_argument", complaint(tool, given.error));
  }
  const { code, dry_run: dryRun, session_id: sessionId, request_id: sent } = given.data;
  const requestId = sent ?? String(id);
  const program = { code, requestId, sessionId, dryRun, readOnly: tool === queryName || undefined };
  if (sent === undefined) return execute(program, door);
  try {
    return (await executeOnce(program, door)).envelope;
  } catch (error) {
    // The model that sent it too early is the one to wait.
    if (!(error instanceof Problem) || error.code !== "idempotency_in_flight") throw error;
    await chargeOne(door);
    return refused(requestId, error.code, error.message);
  }
}

/** The envelope of a call in which not even a program was found to run. */
const refused = (requestId: string, code: string, message: string): CodeResponse =>
  refusal(requestId, { code, message, line: 1, column: 1 });

const complaint = (tool: string, { issues }: z.ZodError): string => {
  const wrong = issues.map(({ path, message }) => `${["arguments", ...path.map(String)].join(".")}: ${message}`);
  return `${tool} takes code, a string that holds the program, and if you like dry_run, session_id and request_id. ${wrong.slice(0, 5).map(clipLine).join("; ")}`;
};

const clipLine = (line: string): string => (line.length > 200 ? `${line.slice(0, 200)}…` : line);
