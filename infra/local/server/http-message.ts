import type { IncomingMessage, ServerResponse } from "node:http";

import { clock } from "../../../shared/core/time.ts";
import { connectionHeaders } from "./event.ts";

/** An answer to send. Header names are in lower case. A list becomes one header line for each item. */
export type Answer = {
  status: number;
  headers: Record<string, string | string[]>;
  body: Buffer;
  /** The name of the Lambda function that answered. Undefined for an answer of the gateway itself. */
  by?: string;
};

/** An answer with a JSON body. */
export const jsonAnswer = (status: number, value: unknown, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: Buffer.from(JSON.stringify(value)),
});

/** Whether a request's body is JSON. */
export const isJson = ({ headers }: { headers: ReadonlyMap<string, string> }): boolean =>
  /^application\/json\s*(?:;|$)/i.test(headers.get("content-type") ?? "");

/** Parses JSON; undefined for malformed JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function headerFields(headers: unknown): Record<string, string> {
  if (headers === undefined || headers === null) return {};
  if (!isRecord(headers)) throw new Error("`headers` is not an object");
  return Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]) => [name.toLowerCase(), String(value)] as const)
      .filter(([name]) => !connectionHeaders.has(name) && name !== "content-length"),
  );
}

function bodyOf({ body, isBase64Encoded }: Record<string, unknown>): Buffer {
  if (body === undefined || body === null) return Buffer.alloc(0);
  if (typeof body !== "string") throw new Error("`body` is not a string");
  return Buffer.from(body, isBase64Encoded === true ? "base64" : "utf8");
}

/**
 * Converts a handler's result (payload format 2.0) to an answer. Without `statusCode`, the whole result is the JSON
 * body of an answer with status 200. Throws if a member has a wrong type. API Gateway answers 500 in this case.
 */
export function toAnswer(result: unknown): Answer {
  if (!isRecord(result) || result["statusCode"] === undefined) return jsonAnswer(200, result ?? null);
  const { statusCode, cookies } = result;
  if (typeof statusCode !== "number" || !Number.isInteger(statusCode) || statusCode < 200 || statusCode > 599) {
    throw new Error(`\`statusCode\` is ${JSON.stringify(statusCode)}`);
  }
  if (cookies !== undefined && !Array.isArray(cookies)) throw new Error("`cookies` is not a list");
  const body = bodyOf(result);
  return {
    status: statusCode,
    headers: {
      ...(body.length === 0 ? {} : { "content-type": "text/plain; charset=utf-8" }),
      ...headerFields(result["headers"]),
      ...(cookies === undefined ? {} : { "set-cookie": cookies.map(String) }),
    },
    body,
  };
}

/** The longest body in bytes that is sent with the headers in one write. One write is faster than two writes. */
const oneWriteBytes = 16_384;

/**
 * Sends an answer, with the product's time in `Date`. node:http omits the body for HEAD, 204 and 304. An answer with 204
 * or 304 also has no Content-Length (RFC 9110 §8.6).
 */
export function sendAnswer(response: ServerResponse, { status, headers, body }: Answer): void {
  const hasLength = status !== 204 && status !== 304;
  const date = clock().toUTCString();
  response.writeHead(status, { date, ...headers, ...(hasLength ? { "content-length": body.length } : {}) });
  if (body.length > oneWriteBytes) response.end(body);
  // node:http sends the headers and the body in one write only if the body is a string. Latin-1 keeps the bytes of the
  // body.
  else response.end(body.toString("latin1"), "latin1");
}

/** API Gateway's limit for the payload of an HTTP API, in bytes. */
export const maxBodyBytes = 10 * 1024 * 1024;

/**
 * Reads the body of a request. Returns null as soon as the body exceeds `maxBodyBytes`. Still reads and discards the
 * rest, because some senders read the answer only after they have sent the whole body. Rejects if the sender
 * disconnects.
 */
export function readBody(request: IncomingMessage): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBodyBytes) {
        chunks.length = 0;
        resolve(null);
      } else chunks.push(chunk);
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", reject);
    request.on("close", () => reject(new Error("The client closed the connection")));
  });
}
