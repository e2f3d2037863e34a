import * as z from "zod";

import { type InvalidInput, Problem } from "../../../../shared/core/errors.ts";
import { isIdempotencyKey } from "../../../../shared/http/input.ts";
import type { InvocationContext } from "../../../../shared/http/invoke.ts";
import type { Request } from "../../../../shared/http/lambda.ts";
import type { Response } from "../../../../shared/http/response.ts";
import { executeIdempotently } from "../../execution/replay.ts";
import { clip } from "../../language/messages.ts";
import { idOf, readMessage, result, type RpcRequest } from "../json-rpc.ts";
import { A2aError, a2aFailure } from "./errors.ts";
import { noPush, readSendMessage, taskNotFound, taskOf } from "./message.ts";

export const a2aVersion = "1.0";

const hasMember = (body: unknown, name: string): boolean => typeof body === "object" && body !== null && name in body;

/**
 * Tells whether a request is JSON-RPC. Its body has the member `jsonrpc`, or the request has the header `A2A-Version`
 * and its body is not a `CodeRequest`. A `CodeRequest` has the member `code`.
 */
export const isRpc = ({ body, headers }: Pick<Request, "body" | "headers">): boolean =>
  hasMember(body, "jsonrpc") || (headers["a2a-version"] !== undefined && !hasMember(body, "code"));

/**
 * The answer to a request with the header `A2A-Version` whose body cannot be read as JSON. Undefined for other requests
 * and other failures.
 */
export const unreadableRpc = (
  problem: Problem | InvalidInput,
  { headers }: Pick<Request, "headers">,
): Response | undefined =>
  headers["a2a-version"] !== undefined && problem instanceof Problem && problem.code === "malformed_json"
    ? a2aFailure(null, new A2aError("parseError", problem.message))
    : undefined;

/**
 * Answers the JSON-RPC binding of the A2A protocol, version 1.0, without storing tasks. `SendMessage` runs a program
 * and returns the task, completed or failed. Errors of the protocol are JSON-RPC errors. All other errors are the same
 * as for every route (401, 409, 413, 429 …).
 */
export async function a2aRpc(request: Request, context: InvocationContext): Promise<Response> {
  const id = idOf(request.body);
  try {
    const message = readMessage(request.body);
    if (!message || message.id === undefined) {
      throw new A2aError("invalidRequest", "Send one JSON-RPC 2.0 request: jsonrpc, id, method, params as an object.");
    }
    checkVersion(request);
    const answer = methods.get(message.method);
    if (!answer) throw new A2aError("methodNotFound", `A2A ${a2aVersion} has no method ${clip(message.method)}.`);
    return await answer({ ...message, id: message.id }, context, request);
  } catch (error) {
    if (!(error instanceof A2aError)) throw error;
    return a2aFailure(id, error);
  }
}

/**
 * Checks the version in the header `A2A-Version` or, without the header, in the query parameter. A request without a
 * version counts as 0.3, as A2A requires. Patch numbers are ignored.
 */
function checkVersion({ headers, rawQueryString }: Request): void {
  const version = headers["a2a-version"] || new URLSearchParams(rawQueryString).get("A2A-Version") || "0.3";
  if (/^1\.0(\.\d{1,5})?$/.test(version.trim())) return;
  throw new A2aError(
    "versionNotSupported",
    `This agent speaks A2A ${a2aVersion}, not ${clip(version)}: send the header A2A-Version: ${a2aVersion}.`,
    { supportedVersions: a2aVersion },
  );
}

type Answer = (message: RpcRequest, context: InvocationContext, request: Request) => Response | Promise<Response>;

const refuseWith = (why: () => A2aError) => (): never => {
  throw why();
};
const noTask: Answer = ({ params }) => {
  throw taskNotFound(params["id"]);
};
const noStream = refuseWith(
  () =>
    new A2aError(
      "unsupportedOperation",
      "This agent does not stream: SendMessage returns the task when the task is done.",
    ),
);

const methods = new Map<string, Answer>([
  ["SendMessage", sendMessage],
  ["GetTask", noTask],
  ["CancelTask", noTask],
  ["ListTasks", listTasks],
  ["SendStreamingMessage", noStream],
  ["SubscribeToTask", noStream],
  ["CreateTaskPushNotificationConfig", refuseWith(noPush)],
  ["GetTaskPushNotificationConfig", refuseWith(noPush)],
  ["ListTaskPushNotificationConfigs", refuseWith(noPush)],
  ["DeleteTaskPushNotificationConfig", refuseWith(noPush)],
  [
    "GetExtendedAgentCard",
    refuseWith(() => new A2aError("unsupportedOperation", "There is no extended agent card. Use the public one.")),
  ],
]);

/** Runs the program of a message. A repeated message is recognised by its id, or by the `Idempotency-Key` header. */
async function sendMessage(
  { id, params }: RpcRequest,
  context: InvocationContext,
  { headers }: Request,
): Promise<Response> {
  const message = readSendMessage(params, (await context.authenticate()).id);
  const { "idempotency-key": key } = headers;
  if (key !== undefined && !isIdempotencyKey(key)) {
    throw new A2aError("invalidParams", "Idempotency-Key: Write 1 to 255 visible ASCII characters.");
  }
  const { envelope, replayed } = await executeIdempotently(message.run, context, key);
  const answer = result(id, { task: taskOf(envelope, message, replayed ? undefined : context.now()) });
  return replayed ? { ...answer, headers: { ...answer.headers, "idempotency-replayed": "true" } } : answer;
}

const PageSize = z.int().min(1).max(100).nullish();

/** Answers an empty list, because tasks are not stored. Throws `invalidParams` for a page size outside 1 to 100. */
function listTasks({ id, params }: RpcRequest): Response {
  const { success, data } = PageSize.safeParse(params["pageSize"]);
  if (!success) throw new A2aError("invalidParams", "pageSize: Write a whole number from 1 to 100.");
  return result(id, { tasks: [], nextPageToken: "", pageSize: data ?? 50, totalSize: 0 });
}
