type ProblemBody = { code?: unknown; detail?: unknown; request_id?: unknown };
type InvalidPlace = { loc?: unknown; msg?: unknown };

const stringOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

const placesOf = (detail: unknown): string[] =>
  Array.isArray(detail)
    ? (detail as InvalidPlace[]).map(
        ({ loc, msg }) => `${Array.isArray(loc) ? loc.join(".") : ""}: ${stringOf(msg) ?? ""}`,
      )
    : [];

/** An error answer of the API: an RFC 9457 problem, or a 422 that lists every invalid place. */
export class ApiError extends Error {
  readonly status: number;
  /** The stable code for decisions in your code; `validation_failed` for a 422 that lists places. */
  readonly code: string;
  /** Quote this id when you ask about the request. */
  readonly requestId: string | undefined;
  /** The wait that `Retry-After` asks for, if the answer has one. */
  readonly retryAfterSeconds: number | undefined;
  /**
   * The idempotency key of the request, if it had one. Sent again with this key, the request takes effect only once.
   */
  readonly idempotencyKey: string | undefined;
  /** The parsed body, with the members that help to correct the request. */
  readonly body: unknown;

  constructor(response: Response, body: unknown, request?: Request) {
    const problem = (typeof body === "object" && body !== null ? body : {}) as ProblemBody;
    const places = placesOf(problem.detail);
    const code = stringOf(problem.code) ?? (places.length > 0 ? "validation_failed" : "unknown");
    const detail = places.length > 0 ? places.join("; ") : (stringOf(problem.detail) ?? "The answer has no details.");
    super(`${response.status} ${code}: ${detail}`);
    this.name = "ApiError";
    this.status = response.status;
    this.code = code;
    this.requestId = stringOf(problem.request_id) ?? response.headers.get("x-request-id") ?? undefined;
    const after = Number(response.headers.get("retry-after") ?? Number.NaN);
    this.retryAfterSeconds = Number.isFinite(after) ? after : undefined;
    this.idempotencyKey = request?.headers.get("idempotency-key") ?? undefined;
    this.body = body;
  }
}
