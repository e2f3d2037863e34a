import type { CodeResponse, ErrorCode, ProgramError } from "./generated/types.ts";

/** The ids by which the API recognises a repeat of a request. */
export type SentIds = { idempotencyKey?: string | undefined; programRequestId?: string | undefined };

/**
 * The base class of the client's errors. For arguments that cannot be sent, the client throws a `TypeError` instead.
 */
export class HostedMailError extends Error {
  /** The idempotency key of the request. If you send the request again with this key, it takes effect only once. */
  readonly idempotencyKey: string | undefined;
  /** The `request_id` of the program that `code` sent. Undefined for other requests, and in a `CodeError`. */
  readonly programRequestId: string | undefined;

  constructor(message: string, { idempotencyKey, programRequestId, ...options }: SentIds & ErrorOptions = {}) {
    super(message, options);
    this.name = new.target.name;
    this.idempotencyKey = idempotencyKey;
    this.programRequestId = programRequestId;
  }
}

/** One invalid place in a request. */
export interface InvalidPlace {
  /** The path to the place: `path`, `query`, `header` or `body`, then the names of members and the indexes in lists. */
  loc: (string | number)[];
  /** The mistake at the place. */
  msg: string;
  /** The stable name of this kind of mistake. */
  type: string;
}

type ProblemBody = { code?: unknown; detail?: unknown; request_id?: unknown; message?: unknown };

const stringIn = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/**
 * The wait that the header `Retry-After` asks for, in seconds, never negative. The header has a number of seconds or a
 * date (RFC 9110 §10.2.3). `nowMs` is the present time in milliseconds since 1970. Undefined without a valid header.
 */
export function retryAfterSecondsOf({ headers }: Response, nowMs: number): number | undefined {
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  const seconds = /^\d+$/.test(text.trim()) ? Number(text) : (Date.parse(text) - nowMs) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

/** An error answer of the API: an RFC 9457 problem, or a 422 that lists every invalid place. */
export class ApiError extends HostedMailError {
  readonly status: number;
  /**
   * The stable code of the error. Use it for decisions in your code. A 422 that lists invalid places has the code
   * `validation_failed`. An answer without a code, such as the answer of a proxy, has the code `unknown`.
   */
  readonly code: ErrorCode | (string & {});
  /** Quote this id when you ask about the request. */
  readonly requestId: string | undefined;
  /** The wait in the header `Retry-After`, in seconds. Undefined if the answer has no such header. */
  readonly retryAfterSeconds: number | undefined;
  /** The invalid places of a 422. Empty for other errors. */
  readonly errors: readonly InvalidPlace[];
  /** The parsed body, with the members that help to correct the request. */
  readonly body: unknown;
  readonly response: Response;

  constructor(response: Response, body: unknown, ids: SentIds = {}) {
    const problem = (typeof body === "object" && body !== null ? body : {}) as ProblemBody;
    const errors = Array.isArray(problem.detail) ? (problem.detail as InvalidPlace[]) : [];
    const code = stringIn(problem.code) ?? (errors.length > 0 ? "validation_failed" : "unknown");
    const requestId = stringIn(problem.request_id) ?? response.headers.get("x-request-id") ?? undefined;
    const places = errors.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ");
    const detail = places || (stringIn(problem.detail) ?? stringIn(problem.message) ?? "The answer has no details.");
    super(`${response.status} ${code}: ${detail}${requestId === undefined ? "" : ` (request ${requestId})`}`, ids);
    this.status = response.status;
    this.code = code;
    this.requestId = requestId;
    this.retryAfterSeconds = retryAfterSecondsOf(response, Date.now());
    this.errors = errors;
    this.body = body;
    this.response = response;
  }
}

/** The request got no answer. The request may still have taken effect. The error of `fetch` is the `cause`. */
export class ConnectionError extends HostedMailError {}

/** The request got no answer within the time-out of one try. */
export class TimeoutError extends ConnectionError {}

/** A program of code mode failed. The calls that completed are in `answer.responses`. */
export class CodeError extends HostedMailError {
  /** The stable code of the error. */
  readonly code: ErrorCode | (string & {});
  /** The number of the line in the program, from 1. */
  readonly line: number;
  /** The number of the character in the line, from 1. */
  readonly column: number;
  /** Details such as the error body that the REST API returns for the failed call. Undefined if there are none. */
  readonly detail: unknown;
  /** The whole answer, with the results of the calls that completed. */
  readonly answer: CodeResponse;

  constructor({ code, message, line, column, detail }: ProgramError, answer: CodeResponse) {
    super(`${code} at line ${line}, column ${column}: ${message} (request ${answer.request_id})`);
    this.code = code;
    this.line = line;
    this.column = column;
    this.detail = detail;
    this.answer = answer;
  }
}

/**
 * A delivery of a webhook is not valid: a header is missing, no signature matches, or the time of the delivery differs
 * too much from the present. Answer the delivery with 400.
 */
export class WebhookVerificationError extends HostedMailError {}
