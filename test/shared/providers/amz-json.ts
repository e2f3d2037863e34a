import type { Answer } from "./loopback.ts";

/** A fault of the service: an answer with a status and an error type, or no answer. */
export type Trouble = { status: number; type: string } | "silence";

/** An answer as services of AWS write it in AWS JSON 1.1. */
export const amzJson = (body: unknown, status = 200): Answer => ({
  status,
  headers: { "content-type": "application/x-amz-json-1.1" },
  body: JSON.stringify(body),
});

/** An error as services of AWS write it in AWS JSON 1.1. */
export const amzRefusal = ({ status, type }: Exclude<Trouble, string>): Answer =>
  amzJson({ __type: type, message: "In trouble" }, status);
