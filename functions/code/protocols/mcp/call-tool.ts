import * as z from "zod";

import { Problem } from "../../../../shared/core/errors.ts";
import type { InvocationContext } from "../../../../shared/http/invoke.ts";
import type { Response } from "../../../../shared/http/response.ts";
import { inWords } from "../../../../shared/http/validation-messages.ts";
import { CodeResponse } from "../../envelope.ts";
import { watchCancellation } from "../../execution/cancellation.ts";
import { execute, refusal } from "../../execution/execute.ts";
import type { Follower } from "../../execution/program.ts";
import { executeIdempotently } from "../../execution/replay.ts";
import { clip } from "../../language/messages.ts";
import { type RpcRequest, type Id, errorCodes, failure } from "../json-rpc.ts";
import { summarizeResults } from "./results.ts";
import { ToolArguments, queryName, defaultResults, toolNames } from "./tools.ts";

type CallToolOptions = {
  /** Builds the answer in the form of the request's revision of MCP. */
  respond: (id: Id, value: Record<string, unknown>) => Response;
  /** Whether a client of the revision cancels a request by closing the connection. */
  endsWithConnection: boolean;
  /** The request's `Accept`. */
  accept: string | undefined;
  /** The rate limit's refusal of the request; undefined if the limit has room. */
  refused: Problem | undefined;
};

/**
 * Runs the program of a `tools/call`.
 * - The text of the answer is the envelope: whole, or summarized for `results: "last"`.
 * - Errors that a model can fix are tool errors (`isError`), because models do not see protocol errors.
 * - An unknown tool is a protocol error, because only the client can fix it.
 * - If there are progress notifications and the client accepts a stream, the answer is a stream of server-sent events.
 *   The stream is sent when the program has ended, because a Lambda answers once.
 */
export async function callTool(
  call: RpcRequest,
  context: InvocationContext,
  { respond, endsWithConnection, accept = "", refused }: CallToolOptions,
): Promise<Response> {
  const { id, params } = call;
  const tool = toolNames.find((name) => name === params["name"]);
  if (tool === undefined) return failure(id, errorCodes.invalidParams, noTool(params["name"]));
  const parsed = ToolArguments.safeParse(params["arguments"], { error: inWords });
  const requestId = requestIdIn(params) ?? String(id);
  const progress = new ProgressLog(progressTokenIn(params), context);
  const follower = { isCancelled: watchCancellation(id, context, endsWithConnection), progressed: progress.note };
  let envelope: CodeResponse;
  if (refused) envelope = overLimit(requestId, refused);
  else if (parsed.success) envelope = await run(tool, requestId, { ...parsed.data, follower }, context);
  else envelope = refusalOf(requestId, "invalid_argument", argumentsMessage(tool, parsed.error));
  const results = parsed.data?.results ?? defaultResults[tool];
  const text = JSON.stringify(results === "all" ? CodeResponse.parse(envelope) : summarizeResults(envelope));
  const content = [{ type: "text", text }];
  const answer = respond(id, { content, isError: envelope.status === "failed" });
  const isStream = progress.notifications.length > 0 && /text\/event-stream/i.test(accept);
  return isStream ? streamOf(progress.notifications, answer) : answer;
}

const ProgressToken = z.union([z.string().max(256), z.int()]);

const progressTokenIn = ({ _meta: meta }: RpcRequest["params"]): ProgressToken | undefined =>
  z.object({ progressToken: ProgressToken }).safeParse(meta).data?.progressToken;
type ProgressToken = z.output<typeof ProgressToken>;

/** The shortest time before the first progress notification of a program, in milliseconds. */
const quietMs = 3_000;
/** The shortest time between two progress notifications, in milliseconds. */
const betweenMs = 1_000;

/** The progress notifications of one program; none if the client sent no progress token. */
class ProgressLog {
  readonly notifications: object[] = [];
  readonly #token: ProgressToken | undefined;
  readonly #context: Pick<InvocationContext, "now">;
  #nextAt: number;

  constructor(token: ProgressToken | undefined, context: Pick<InvocationContext, "now">) {
    this.#token = token;
    this.#context = context;
    this.#nextAt = context.now().getTime() + quietMs;
  }

  readonly note = (completed: number): void => {
    const now = this.#context.now().getTime();
    if (this.#token === undefined || now < this.#nextAt) return;
    this.#nextAt = now + betweenMs;
    const message = `${completed} ${completed === 1 ? "call" : "calls"} completed`;
    const params = { progressToken: this.#token, progress: completed, message };
    this.notifications.push({ jsonrpc: "2.0", method: "notifications/progress", params });
  };
}

/** Builds a stream of server-sent events: the notifications, and then the answer. */
function streamOf(notifications: readonly object[], { body = "", ...answer }: Response): Response {
  const events = [...notifications.map((one) => JSON.stringify(one)), body];
  return {
    ...answer,
    headers: { ...answer.headers, "content-type": "text/event-stream" },
    body: events.map((data) => `event: message\ndata: ${data}\n\n`).join(""),
  };
}

function noTool(name: unknown): string {
  const fault = typeof name === "string" ? `There is no tool ${clip(name)}` : "name must be a string";
  return `${fault}; the tools are ${toolNames.join(" and ")}`;
}

/**
 * The `request_id` of a call, even if other arguments are not valid. Undefined if the call has no valid `request_id`.
 */
const requestIdIn = ({ arguments: args }: RpcRequest["params"]): string | undefined =>
  z.object({ request_id: ToolArguments.shape.request_id }).safeParse(args).data?.request_id;

/**
 * Runs a program. The run is idempotent only if the client sent a `request_id`. The JSON-RPC id does not identify a
 * program: clients count from a small number in each connection, so a new request can have the id of an old one.
 */
async function run(
  tool: string,
  requestId: string,
  parsed: z.output<typeof ToolArguments> & { follower: Follower },
  context: InvocationContext,
): Promise<CodeResponse> {
  const { code, dry_run: dryRun, session_id: sessionId, request_id: sent, follower } = parsed;
  const program = { code, requestId, sessionId, dryRun, readOnly: tool === queryName || undefined, follower };
  try {
    return sent === undefined
      ? await execute(program, context)
      : (await executeIdempotently(program, context)).envelope;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // A tool error tells the model to wait. A model does not see HTTP errors.
    if (error.code === "idempotency_in_flight") return refusalOf(requestId, error.code, error.message);
    if (error.code !== "rate_limited") throw error;
    return overLimit(requestId, error);
  }
}

/** The envelope of a program that the rate limit refuses. The error's `detail` says when the limit has room. */
const overLimit = (requestId: string, { code, message, extras }: Problem): CodeResponse =>
  refusalOf(requestId, code, message, extras, Number(extras["cost"]));

/** The envelope of a call whose arguments are not valid, or whose program was refused. */
const refusalOf = (requestId: string, code: string, message: string, detail?: unknown, score = 0): CodeResponse =>
  refusal(requestId, { code, message, ...(detail === undefined ? {} : { detail }), line: 1, column: 1 }, score);

const argumentsMessage = (tool: string, { issues }: z.ZodError): string => {
  const wrong = issues
    .slice(0, 5)
    .map(({ path, message }) => clip(`${["arguments", ...path.map(String)].join(".")}: ${message}`, 200));
  return `${tool} needs code, which is a string with the program. It also takes dry_run, session_id, request_id and results. ${wrong.join("; ")}`;
};
