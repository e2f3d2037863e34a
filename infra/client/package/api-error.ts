type Told = { code?: unknown; detail?: unknown; request_id?: unknown };
type Wrong = { loc?: unknown; msg?: unknown };

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

const placesOf = (detail: unknown): string[] =>
  Array.isArray(detail)
    ? (detail as Wrong[]).map(({ loc, msg }) => `${Array.isArray(loc) ? loc.join(".") : ""}: ${textOf(msg) ?? ""}`)
    : [];

/** What the API refused or failed to do: an RFC 9457 problem, or a 422 with every place that is wrong. */
export class ApiError extends Error {
  readonly status: number;
  /** The stable code to decide on; `validation_failed` for a 422 that lists places. */
  readonly code: string;
  /** Quote it when you ask about the request. */
  readonly requestId: string | undefined;
  /** What `Retry-After` says. */
  readonly retryAfterSeconds: number | undefined;
  /** The key that the request had: with the same one it can be sent again, and takes effect once. */
  readonly idempotencyKey: string | undefined;
  /** The body as it came, with the members that help to mend the request. */
  readonly body: unknown;

  constructor(response: Response, body: unknown, request?: Request) {
    const told = (typeof body === "object" && body !== null ? body : {}) as Told;
    const places = placesOf(told.detail);
    const code = textOf(told.code) ?? (places.length > 0 ? "validation_failed" : "unknown");
    const detail = places.length > 0 ? places.join("; ") : (textOf(told.detail) ?? "No more is known.");
    super(`${response.status} ${code}: ${detail}`);
    this.name = "ApiError";
    this.status = response.status;
    this.code = code;
    this.requestId = textOf(told.request_id) ?? response.headers.get("x-request-id") ?? undefined;
    const after = Number(response.headers.get("retry-after") ?? Number.NaN);
    this.retryAfterSeconds = Number.isFinite(after) ? after : undefined;
    this.idempotencyKey = request?.headers.get("idempotency-key") ?? undefined;
    this.body = body;
  }
}
