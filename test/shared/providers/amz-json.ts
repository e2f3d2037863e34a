import type { Answer } from "./loopback.ts";

/** What is answered instead of the truth: a status and an error type of the service, or nothing at all. */
export type Trouble = { status: number; type: string } | "silence";

/** An answer as services of AWS write it in AWS JSON 1.1. */
export const amzJson = (body: unknown, status = 200): Answer => ({
  status,
  headers: { "content-type": "application/x-amz-json-1.1" },
  body: JSON.stringify(body),
});

/** An error as they write it. */
export const amzRefusal = ({ status, type }: Exclude<Trouble, string>): Answer =>
  amzJson({ __type: type, message: "In trouble" }, status);
