/**
 * The errors of the API, by their stable codes. A REST route answers them as RFC 9457 problem details. A REST route
 * answers invalid input (`InvalidInput`) with another body: `HTTPValidationError` of the specification.
 */
const problems = {
  malformed_json: { status: 400, title: "The body is not valid JSON" },
  malformed_request: { status: 400, title: "The request cannot be read" },
  unauthenticated: { status: 401, title: "No valid credential" },
  token_expired: { status: 401, title: "The access token has expired" },
  token_revoked: { status: 401, title: "The access token was revoked" },
  forbidden: { status: 403, title: "A capability is missing" },
  account_suspended: { status: 403, title: "The account cannot be changed" },
  invitation_not_yours: { status: 403, title: "The invitation is for another address" },
  email_not_verified: { status: 403, title: "Your e-mail address is not verified" },
  origin_not_allowed: { status: 403, title: "This web page may not call the API" },
  would_escalate: { status: 403, title: "You cannot give what you do not hold" },
  not_found: { status: 404, title: "Not found" },
  method_not_allowed: { status: 405, title: "Method not allowed" },
  account_closed: { status: 409, title: "The account is closed for good" },
  workspace_name_taken: { status: 409, title: "A workspace has this name already" },
  workspace_not_empty: { status: 409, title: "The workspace still holds domains" },
  tag_name_taken: { status: 409, title: "A tag has this name already" },
  domain_taken: { status: 409, title: "Another account has this domain" },
  domain_exists: { status: 409, title: "The account has this domain already" },
  domain_not_empty: { status: 409, title: "The domain still holds mailboxes" },
  release_required: { status: 409, title: "The name would be given up" },
  domain_not_ready: { status: 409, title: "The domain's status does not allow this" },
  mailbox_not_ready: { status: 409, title: "The mailbox's status does not allow this" },
  mailbox_ambiguous: { status: 409, title: "Several deleted mailboxes had this address" },
  address_taken: { status: 409, title: "A mailbox has this address already" },
  out_of_stock: { status: 409, title: "No address of this kind is left" },
  ip_in_use: { status: 409, title: "Domains still send from this dedicated IP" },
  ip_taken: { status: 409, title: "The address is taken already" },
  ip_not_ready: { status: 409, title: "The dedicated IP's status does not allow this" },
  domain_has_ip: { status: 409, title: "The domain sends from another dedicated IP" },
  other_currency: { status: 409, title: "The account pays in another currency" },
  quote_changed: { status: 409, title: "The price is higher than agreed" },
  not_registered_here: { status: 409, title: "The domain was not purchased here" },
  transfer_locked: { status: 409, title: "The name is locked against transfer" },
  transfer_too_soon: { status: 409, title: "The name cannot be transferred yet" },
  renewal_running: { status: 409, title: "The domain is being renewed already" },
  payments_unavailable: { status: 409, title: "This deployment takes no payments" },
  mail_unavailable: { status: 409, title: "This deployment sends no mail" },
  registrar_unavailable: { status: 409, title: "This deployment has no registrar" },
  dns_unavailable: { status: 409, title: "This deployment hosts no DNS zones" },
  redirects_unavailable: { status: 409, title: "This deployment has no web server for domains" },
  rotation_running: { status: 409, title: "The DKIM key is being rotated already" },
  too_many_years: { status: 409, title: "The registration would be too long" },
  forwarding_exists: { status: 409, title: "Another rule forwards there already" },
  forwarding_loop: { status: 409, title: "The rule would create a forwarding loop" },
  verification_failed: { status: 409, title: "The verification code is wrong" },
  verification_not_needed: { status: 409, title: "No verification is needed" },
  record_exists: { status: 409, title: "The domain has this record already" },
  record_conflict: { status: 409, title: "The record conflicts with another record" },
  dns_external: { status: 409, title: "The domain's DNS is not on our nameservers" },
  zone_conflict: { status: 409, title: "A name above or below has a zone already" },
  below_delegation: { status: 409, title: "A delegation excludes the record" },
  system_managed: { status: 409, title: "The domain's settings manage this record" },
  last_owner: { status: 409, title: "An account needs at least one owner" },
  service_account_expired: { status: 409, title: "The service account has expired" },
  group_name_taken: { status: 409, title: "A group has this name already" },
  group_not_empty: { status: 409, title: "The group still holds other groups" },
  role_built_in: { status: 409, title: "The role is the same in all accounts" },
  role_in_use: { status: 409, title: "The role is still assigned" },
  role_key_taken: { status: 409, title: "Another role has this key" },
  group_cycle: { status: 409, title: "A group cannot be inside itself" },
  limit_reached: { status: 409, title: "A limit is reached" },
  insufficient_funds: { status: 409, title: "The wallet does not hold enough" },
  plan_unchanged: { status: 409, title: "The account is on this plan already" },
  plan_cancelled: { status: 409, title: "The plan is cancelled" },
  plan_required: { status: 409, title: "The account has no plan" },
  plan_in_use: { status: 409, title: "The plan pays for managed dedicated IPs" },
  payment_due: { status: 409, title: "The account has an open invoice" },
  payment_method_required: { status: 409, title: "No card is saved" },
  invitation_used: { status: 409, title: "The invitation was accepted already" },
  idempotency_in_flight: { status: 409, title: "The first request with this key is still running" },
  secret_already_shown: { status: 409, title: "The secret was already shown" },
  invitation_ended: { status: 410, title: "The invitation has ended" },
  precondition_failed: { status: 412, title: "The precondition does not hold" },
  body_too_large: { status: 413, title: "The body is too large" },
  unsupported_media_type: { status: 415, title: "Unsupported media type" },
  rate_limited: { status: 429, title: "Too many requests" },
  internal: { status: 500, title: "Internal error" },
  upstream_unavailable: { status: 503, title: "A service we rely on does not answer" },
  mail_servers_unavailable: { status: 503, title: "This deployment has no mail servers" },
  busy: { status: 503, title: "Too many changes at the same time" },
  read_only: { status: 503, title: "Changes are stopped for now" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof problems;
/** Additional members of a problem's body. They must not replace the members that every problem has. */
export type ProblemExtras = Record<string, string | number | boolean | readonly string[] | readonly number[]> & {
  [member in "type" | "title" | "status" | "detail" | "code" | "request_id"]?: never;
};

/** The status and the title of a code. */
export const problemOf = (code: ProblemCode): { status: number; title: string } => problems[code];

/** All codes, in the order of their status. */
export const problemCodes = Object.keys(problems) as ProblemCode[];

/** The codes of faults after which a caller should try again later. Their answers have `Retry-After`. */
type TemporaryCode = "upstream_unavailable" | "busy" | "read_only";

/**
 * An error for the caller. Any other error is answered as 500 `internal`, except `InvalidInput` and the errors of the
 * body parser.
 */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly extras: ProblemExtras;

  /**
   * `detail` is plain text for a person, in whole sentences; `extras` become members of the body. `retry_after` is in
   * seconds, and also becomes the header `Retry-After`.
   */
  constructor(code: TemporaryCode, detail: string, extras: ProblemExtras & { retry_after: number });
  constructor(code: Exclude<ProblemCode, TemporaryCode>, detail: string, extras?: ProblemExtras);
  constructor(code: ProblemCode, detail: string, extras: ProblemExtras = {}) {
    super(detail);
    this.code = code;
    this.extras = extras;
  }

  get status(): number {
    return problems[this.code].status;
  }
}

/** One error in a request, in the form of the specification. `loc` is the path to the invalid member. */
export type ValidationError = { loc: (string | number)[]; msg: string; type: string };

/** Invalid input: 422 with the specified body. */
export class InvalidInput extends Error {
  readonly errors: ValidationError[];

  constructor(errors: ValidationError[]) {
    super(errors.map((error) => `${error.loc.join(".")}: ${error.msg}`).join("; "));
    this.errors = errors;
  }
}

/** Whether the error is a refusal (4xx), so that its transaction had no effect. */
export const isRefusal = (error: unknown): error is Problem | InvalidInput =>
  error instanceof InvalidInput || (error instanceof Problem && error.status < 500);

/** Invalid input at one place. `loc` is the path to the invalid member. */
export const invalidAt = (
  loc: ValidationError["loc"],
  msg: string,
  type: ValidationError["type"] = "value_error",
): InvalidInput => new InvalidInput([{ loc, msg, type }]);

/**
 * The 404 for a resource that does not exist or that the caller may not see. Both have the same body, so that the
 * caller cannot tell them apart.
 */
export const notFound = (): Problem => new Problem("not_found", "This does not exist, or you may not see it.");

/** The RFC 9457 body of a problem. */
export function problemBody(problem: Problem, requestId: string): Record<string, unknown> {
  const { status, title } = problems[problem.code];
  return {
    type: `/docs/errors#${problem.code}`,
    title,
    status,
    detail: problem.message,
    code: problem.code,
    request_id: requestId,
    ...problem.extras,
  };
}
