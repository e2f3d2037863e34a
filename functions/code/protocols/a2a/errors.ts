import type { Response } from "../../../../shared/http/response.ts";
import { failure, type Id } from "../json-rpc.ts";

/** The code and the reason of each error that this agent can answer (A2A 1.0, §5.4, and JSON-RPC 2.0). */
const errors = {
  parseError: [-32700, "PARSE_ERROR"],
  invalidRequest: [-32600, "INVALID_REQUEST"],
  methodNotFound: [-32601, "METHOD_NOT_FOUND"],
  invalidParams: [-32602, "INVALID_PARAMS"],
  taskNotFound: [-32001, "TASK_NOT_FOUND"],
  pushNotSupported: [-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"],
  unsupportedOperation: [-32004, "UNSUPPORTED_OPERATION"],
  contentTypeNotSupported: [-32005, "CONTENT_TYPE_NOT_SUPPORTED"],
  versionNotSupported: [-32009, "VERSION_NOT_SUPPORTED"],
} as const satisfies Record<string, readonly [number, string]>;

/** An error of the A2A protocol. */
export class A2aError extends Error {
  readonly kind: keyof typeof errors;
  readonly metadata: Record<string, string>;

  constructor(kind: keyof typeof errors, message: string, metadata: Record<string, string> = {}) {
    super(message);
    this.kind = kind;
    this.metadata = metadata;
  }
}

/**
 * Builds the JSON-RPC error. Its `data` holds a `google.rpc.ErrorInfo`, which a client's code can read (A2A 1.0, §9.5).
 */
export function a2aFailure(id: Id | null, { kind, message, metadata }: A2aError): Response {
  const [code, reason] = errors[kind];
  const info = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason,
    domain: "a2a-protocol.org",
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
  };
  return failure(id, code, message, 200, [info]);
}
