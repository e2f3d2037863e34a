import * as z from "zod";

import { json, type Response } from "../../../shared/http/response.ts";

/**
 * The id of a JSON-RPC 2.0 message. MCP allows a string or an integer, and never null. The length is limited, because
 * answers repeat the id.
 */
export const Id = z.union([z.string().max(256), z.int()]);
/** A JSON-RPC 2.0 message. MCP requires the parameters to be an object. */
const Message = z.object({
  jsonrpc: z.literal("2.0"),
  id: Id.optional(),
  method: z.string(),
  params: z.looseObject({}).optional(),
});

export type Id = z.output<typeof Id>;
export type Message = { id?: Id; method: string; params: Record<string, unknown> };
/** A message that expects an answer. */
export type RpcRequest = Message & { id: Id };

export const errorCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
} as const;

/** Reads a request, or a notification, which has no id. Returns undefined for a batch and for everything else. */
export function readMessage(body: unknown): Message | undefined {
  const { data } = Message.safeParse(body);
  return data && { method: data.method, params: data.params ?? {}, ...(data.id === undefined ? {} : { id: data.id }) };
}

/** The id of an invalid message; null if the message has no valid id. */
export const idOf = (body: unknown): Id | null => z.object({ id: Id }).safeParse(body).data?.id ?? null;

export const result = (id: Id, value: unknown): Response => json(200, { jsonrpc: "2.0", id, result: value });

/** Builds an error response; `data` is for the client's code. */
export const failure = (id: Id | null, code: number, message: string, status = 200, data?: unknown): Response =>
  json(status, { jsonrpc: "2.0", id, error: { code, message, ...(data === undefined ? {} : { data }) } });
