import * as z from "zod";

import { idOfWords } from "../../../../shared/core/ids.ts";
import { inWords } from "../../../../shared/http/validation-messages.ts";
import { CallerId, CodeRequest, type CodeResponse } from "../../envelope.ts";
import type { Run } from "../../execution/execute.ts";
import { clip } from "../../language/messages.ts";
import { A2aError } from "./errors.ts";

export const dataType = "application/json";
export const textType = "text/plain";

/** As in ProtoJSON, unknown members are ignored, and an empty text is treated as absent. */
const Text = z.string().transform((text) => (text === "" ? undefined : text));
const Part = z.looseObject({ text: z.string().optional(), data: z.unknown().optional(), mediaType: Text.optional() });
const SendMessage = z.looseObject({
  message: z.looseObject({
    messageId: CallerId,
    contextId: Text.pipe(CallerId.optional()).optional(),
    taskId: Text.optional(),
    role: z.literal("ROLE_USER", { error: "Only ROLE_USER can send a message" }),
    parts: z.array(Part).length(1, { error: "Send one part: the program" }),
  }),
  configuration: z
    .looseObject({
      acceptedOutputModes: z.array(z.string()).optional(),
      taskPushNotificationConfig: z.unknown().optional(),
    })
    .optional(),
});
type Part = z.output<typeof Part>;

/**
 * The content of a data part: the members of `CodeRequest`. Only `code` is required. The message's own ids replace
 * missing ids.
 */
const Data = CodeRequest.partial({ request_id: true, session_id: true });

/** A parsed A2A 1.0 message: the program to run, and the media type of the answer. */
export type ParsedMessage = { run: Omit<Run, "key">; taskId: string; outputType: string };

/**
 * Reads the parameters of `SendMessage`. A message without a context gets a new context. The context's id is derived
 * from the message's id, so that a repeated message gets the same context. Throws `A2aError`.
 */
export function readSendMessage(params: Record<string, unknown>, principalId: string): ParsedMessage {
  const { message, configuration } = parsed(SendMessage, params, "params");
  if (message.taskId !== undefined) throw taskNotFound(message.taskId);
  if (configuration?.taskPushNotificationConfig) throw noPush();
  const { code, request_id, session_id, dry_run } = programIn(message.parts[0]);
  if (session_id !== undefined && message.contextId !== undefined && session_id !== message.contextId) {
    throw new A2aError(
      "invalidParams",
      "message.contextId and session_id name different sessions. Send only one of the two.",
    );
  }
  const requestId = request_id ?? message.messageId;
  const sessionId = session_id ?? message.contextId ?? idOfWords("context", principalId, message.messageId);
  const run = { code, requestId, sessionId, dryRun: dry_run };
  const taskId = idOfWords("task", principalId, requestId, sessionId, code, String(dry_run === true));
  return { run, taskId, outputType: outputTypeOf(configuration?.acceptedOutputModes ?? []) };
}

function programIn(part: Part = { data: undefined }): z.output<typeof Data> {
  const { text, data, mediaType } = part;
  const type = mediaType?.split(";")[0]?.trim().toLowerCase();
  if (text !== undefined && (type ?? textType) === textType) return parsed(Data, { code: text }, "message.parts[0]");
  if (data !== undefined && (type ?? dataType) === dataType) return parsed(Data, data, "message.parts[0].data");
  throw new A2aError(
    "contentTypeNotSupported",
    `Send the program as a data part (${dataType}) {"code": "…"}, or as a text part (${textType}).`,
    { supportedContentTypes: `${dataType}, ${textType}` },
  );
}

function outputTypeOf(accepted: readonly string[]): string {
  const types = accepted.map((mode) => mode.split(";")[0]?.trim().toLowerCase());
  const isAccepted = (type: string) =>
    types.some((one) => one === type || one === "*/*" || one === type.replace(/\/.*/, "/*"));
  const chosen = [dataType, textType].find((type) => types.length === 0 || isAccepted(type));
  if (chosen !== undefined) return chosen;
  throw new A2aError("contentTypeNotSupported", `The answer is ${dataType}, or the same JSON as ${textType}.`, {
    supportedContentTypes: `${dataType}, ${textType}`,
  });
}

function parsed<S extends z.ZodType>(schema: S, value: unknown, root: string): z.output<S> {
  const { success, data, error } = schema.safeParse(value, { error: inWords });
  if (success) return data;
  const issues = error.issues.slice(0, 5).map(({ path, message }) => `${[root, ...path].join(".")}: ${message}`);
  throw new A2aError("invalidParams", issues.map((issue) => clip(issue, 200)).join("; "));
}

/**
 * The error for a request that names a task. No task can be found, because a task is complete when it is returned, and
 * is not stored.
 */
export const taskNotFound = (taskId: unknown): A2aError =>
  new A2aError(
    "taskNotFound",
    "There is no such task: SendMessage returns a finished task, which is not stored.",
    typeof taskId === "string" ? { taskId: taskId.slice(0, 128) } : {},
  );

export const noPush = (): A2aError =>
  new A2aError(
    "pushNotSupported",
    "There are no push notifications: SendMessage returns the task when the task is done.",
  );

/**
 * Builds the task of a program. The envelope is the task's artifact. If the program failed, the task's status has the
 * error message. `endedAt` is when the program ended; undefined for a replayed answer, whose time is not stored.
 */
export function taskOf(
  envelope: CodeResponse,
  { run, taskId, outputType }: ParsedMessage,
  endedAt: Date | undefined,
): object {
  const { error } = envelope;
  const contextId = run.sessionId;
  const part =
    outputType === dataType
      ? { data: envelope, mediaType: dataType }
      : { text: JSON.stringify(envelope), mediaType: textType };
  const statusMessage = error && {
    messageId: idOfWords("status", taskId),
    contextId,
    taskId,
    role: "ROLE_AGENT",
    parts: [{ text: error.message, mediaType: textType }],
  };
  return {
    id: taskId,
    contextId,
    status: {
      state: error ? "TASK_STATE_FAILED" : "TASK_STATE_COMPLETED",
      ...(statusMessage ? { message: statusMessage } : {}),
      ...(endedAt ? { timestamp: endedAt.toISOString() } : {}),
    },
    artifacts: [{ artifactId: "envelope", name: "Envelope of the program", parts: [part] }],
  };
}
