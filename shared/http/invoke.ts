import { isDeepStrictEqual } from "node:util";

import { refreshProfile } from "../accounts/profile.ts";
import { expectedStanding } from "../accounts/standing.ts";
import type { Permissions } from "../auth/permissions.ts";
import { emailOf, type Principal } from "../auth/principal.ts";
import type { Author } from "../changes/record.ts";
import { recorder, type Claim } from "../changes/recorder.ts";
import { InvalidInput, isRefusal, Problem } from "../core/errors.ts";
import type { TagSchemas } from "../core/etag.ts";
import type { LimitClass } from "../rate-limits/classes.ts";
import type { Charge } from "../rate-limits/limiter.ts";
import type { ProgramCharge, Reserved } from "../rate-limits/reservation.ts";
import { readAhead, type Ahead } from "../table/read-ahead.ts";
import type { Reader, Table } from "../table/table.ts";
import { accountIn, authorize, isMember, isNarrowed, permissionsStillHeld, type Authorized } from "./authorize.ts";
import { storedAnswer, claimKey } from "./idempotency.ts";
import { parseInput, requireFutureEnds, type ParsedInput, type RawInput } from "./input.ts";
import { planOnly, RehearsalOver } from "./plan-only.ts";
import type { Context, LocatedResource, Route } from "./route.ts";

/**
 * The context that an entry point (REST, code mode) gives to every call: the caller, the caller's address, and the
 * services that the call may use.
 */
export type InvocationContext = Pick<
  Context,
  "requestId" | "log" | "now" | "address" | "askEmail" | "wantsFile" | "stopAt"
> & {
  table: Table;
  authenticate: () => Promise<Principal>;
  /**
   * A guess of the principal, if `authenticate` needs a round trip. Used only to read the principal's permissions in
   * the same round trip.
   */
  expected?: Principal | undefined;
  /** Charges the caller's rate limit. Throws 429 if the limit is used up. */
  charge: (charge: Charge) => Promise<void>;
  /** Whether `charge` will throw 429. False if this process cannot tell without the table. */
  isRefused: (charge: Charge) => boolean;
  /** Reserves the greatest possible cost of a program. Throws 429 if the limit does not have so much left. */
  reserve: (charge: ProgramCharge) => Promise<Pick<Reserved, "isOwn"> & { settle: (used: number) => Promise<void> }>;
  /**
   * Present for the calls of a program. The program has already paid for its calls of the default class. If
   * `ownLimitOf` has the id of an account, the program paid from this account's own limit. If not, it paid from the
   * principal's limit.
   */
  paid?: { ownLimitOf: string | undefined };
  /** The reason why changes are forbidden; undefined if changes are allowed. */
  readOnly?: string | undefined;
  sourceIp?: string;
  userAgent?: string;
  /**
   * Aborts when the client closes the connection. Only the local runtime sets `signal`. API Gateway does not report a
   * closed connection.
   */
  signal?: AbortSignal | undefined;
};

export type InvokeResult = {
  input: ParsedInput;
  output: unknown;
  /** Whether the answer was stored by an earlier request with the same idempotency key. */
  replayed: boolean;
  /** The caller's permissions in the account that the input names. */
  permissions: Permissions;
};

/**
 * Runs a route for any entry point. Authenticates (401), charges the rate limit (429), refuses writes while changes are
 * stopped (503), parses (422), and authorizes (403, 404). Then returns the answer that is stored for the idempotency
 * key, or runs the route. The output has only the members that the output schema declares.
 */
export async function invoke(route: Route, raw: RawInput, invocation: InvocationContext): Promise<InvokeResult> {
  // A public route needs no credential over REST. In a program, the sender of the program is always authenticated.
  const isAnonymous = route.public && invocation.paid === undefined;
  const { expected } = invocation;
  // A request that will be refused reads nothing for its decision, so that a flood of such requests costs little.
  const begin = (who: Principal): Promise<PromiseSettledResult<Decided>> | undefined => {
    const due = chargeOf(route, route.limit, { input: raw, principal: who }, invocation);
    return due && invocation.isRefused(due) ? undefined : settled(decide(route, raw, who, invocation));
  };
  const earlyDecision = expected && !isAnonymous ? begin(expected) : undefined;
  const principal = isAnonymous ? await anonymousPrincipal(invocation) : await invocation.authenticate();
  const isExpected = isDeepStrictEqual(principal, expected);
  // The charge and the decision run at the same time, so that the request need not wait for the charge.
  const deciding = (isExpected && earlyDecision) || begin(principal);
  const [charged, begun] = await Promise.all([
    settled(chargeCaller(route, { input: raw, principal }, invocation, deciding)),
    deciding,
  ]);
  if (charged.status === "rejected") throw charged.reason;
  // The decision has not begun if `isRefused` expected a refusal that did not come.
  const decided = begun ?? (await settled(decide(route, raw, principal, invocation)));
  if (invocation.readOnly !== undefined && route.access === "write") throw changesStopped(invocation.readOnly);
  if (decided.status === "rejected") return storedAnswerOrThrow(route, raw, principal, invocation, decided.reason);
  requireHonoured(route.http.etag, raw);
  const { input, permissions, found, record, table } = decided.value;
  const key = input.headers.idempotencyKey;
  const inProgram = raw.callKey !== undefined;
  const scopes = inProgram ? decided.value.scopes : undefined;
  const isStillValid = async (answer: unknown): Promise<boolean> => {
    await route.checkRepeat?.(input, { table, permissions }, answer);
    return isReplayAllowed(route, answer, permissions);
  };
  const keyed = { principal, route, input, raw, scopes, inProgram, now: invocation.now(), isStillValid };
  const claimed = key === undefined ? undefined : await claimKey(invocation.table, { ...keyed, key });
  if (claimed && "replay" in claimed) return { input, output: claimed.replay, replayed: true, permissions };
  const caller = { principal, permissions, claim: claimed, found, table };
  const output = await runRoute(
    route,
    { ...input, found: found?.thing },
    contextOf(route, input, caller, invocation),
    claimed,
  );
  const accountId = accountIn(input);
  if (route.access === "write" && record && accountId !== undefined)
    await refreshProfile(invocation.table, accountId, principal, record, invocation);
  return { input, output, replayed: false, permissions };
}

/**
 * Throws 412 for an `If-Match` on a route without an entity tag, because such a route cannot check the condition (RFC
 * 9110 §13.1.1).
 */
export function requireHonoured(etag: TagSchemas | undefined, { headers }: Pick<RawInput, "headers">): void {
  if (etag || headers?.["if-match"] === undefined) return;
  throw new Problem(
    "precondition_failed",
    "This function does not support `If-Match`, so nothing was done. Leave the header out.",
  );
}

/**
 * A call that is authorized but not made. `refusal` is the error that the route itself would give now. `preview` has
 * the effect that the call would have; undefined if the route has no preview.
 */
export type RehearsedCall = Authorized & { refusal: Problem | InvalidInput | undefined; preview: unknown };

/**
 * Decides whether a route may run for this caller and input, as `invoke` does, and rehearses the route if this is safe.
 * Writes and charges nothing. Throws 401, 422 for invalid input, 403 or 404 without a permission, and 503 for a write
 * while changes are stopped.
 */
export async function rehearse(route: Route, raw: RawInput, invocation: InvocationContext): Promise<RehearsedCall> {
  if (invocation.readOnly !== undefined && route.access === "write") throw changesStopped(invocation.readOnly);
  const principal = await invocation.authenticate();
  const { input, table, ...authorized } = await decide(route, raw, principal, invocation);
  const { permissions, found } = authorized;
  const caller = { principal, claim: undefined, permissions, found, table };
  const refusal = await rehearsedRefusal(async () => {
    await requireCondition(route, input, table, invocation.now());
    if (canRehearse(route)) await rehearseRun(route, input, caller, invocation);
    else await route.requireExists?.(input, { table, permissions, now: invocation.now });
  });
  return { ...authorized, refusal, preview: await route.preview?.(input, { table, permissions }) };
}

/**
 * Whether a route can run up to its first write, at no greater cost than its run.
 * - A route that uses a service cannot: it could have an effect outside the table, such as a call to a webhook
 *   receiver.
 * - A route of another rate-limit class than `default` cannot, because a rehearsal is charged in the class `default`. A
 *   rehearsal would bypass the limit of the route's class. This limit protects secrets from guessing, and other
 *   services and the table from load. Routes with `would_escalate` are the exception. Only their run compares the
 *   permissions that the caller gives with the permissions that the caller may give, and a rehearsal must always make
 *   this comparison.
 */
const canRehearse = ({ lambda, limit, problems }: Route): boolean =>
  lambda.uses.length === 0 && (limit === "default" || problems.includes("would_escalate"));

/** Runs a route up to its first write. This write throws the error of its failed condition, or `RehearsalOver`. */
async function rehearseRun(
  route: Route,
  input: ParsedInput,
  caller: Caller,
  invocation: InvocationContext,
): Promise<void> {
  const context = contextOf(route, input, { ...caller, table: planOnly(caller.table) }, invocation);
  await route.run({ ...input, found: caller.found?.thing }, { ...context, chargeClass: async () => undefined });
}

/**
 * The refusal with which a rehearsal ends. Undefined if the rehearsal is not refused, or if it ends with a 429 or 503,
 * which may not happen in the call itself.
 */
async function rehearsedRefusal(rehearsal: () => Promise<void>): Promise<RehearsedCall["refusal"]> {
  try {
    await rehearsal();
  } catch (error) {
    const isTemporary = error instanceof Problem && (error.status === 429 || error.status === 503);
    if (isRefusal(error) && !isTemporary) return error;
    if (!(error instanceof RehearsalOver || isTemporary)) throw error;
  }
  return undefined;
}

/**
 * Whether a stored answer may be replayed. An answer with a file is replayed only to a caller who may see the whole
 * account. Another caller may have lost the permission to see a part of the file, so a repeat makes the file again.
 */
const isReplayAllowed = (route: Route, answer: unknown, permissions: Permissions): boolean =>
  route.http.file?.of(answer) === undefined || !isNarrowed(route, permissions);

const changesStopped = (reason: string): Problem => new Problem("read_only", reason, { retry_after: 60 });

/**
 * Handles the refusal of a call in a repeated program. The call may have succeeded in the first run, and its resource
 * may have been deleted since. Returns the stored answer if the caller still has the permission in the scopes of the
 * resource. Otherwise throws `refusal`.
 */
async function storedAnswerOrThrow(
  route: Route,
  raw: RawInput,
  principal: Principal,
  { table, now }: InvocationContext,
  refusal: unknown,
): Promise<InvokeResult> {
  const isRefused = refusal instanceof Problem || refusal instanceof InvalidInput;
  if (raw.callKey === undefined || !isRefused) throw refusal;
  const input = parseInput(route, raw);
  const { idempotencyKey: key } = input.headers;
  const stored =
    key === undefined ? undefined : await storedAnswer(table, { principal, route, key, input, raw, now: now() });
  const permissions = stored && (await permissionsStillHeld(route, input, stored.scopes, principal, table, now()));
  if (!stored || !permissions || !isReplayAllowed(route, stored.replay, permissions)) throw refusal;
  await route.checkRepeat?.(input, { table, permissions }, stored.replay);
  return { input, output: stored.replay, replayed: true, permissions };
}

/** The principal of a caller without a credential, named by the caller's network for the rate limit. */
async function anonymousPrincipal({ sourceIp = "" }: InvocationContext): Promise<Principal> {
  // Loaded here, because most routes are not public and do not need the parser of addresses.
  const { clientNetwork } = await import("../core/ip.ts");
  return { type: "user", id: `ip/${clientNetwork(sourceIp)}`, email: "", groups: [] };
}

/** A request whose caller is known. */
type Asked = { input: Pick<RawInput, "params" | "query">; principal: Principal };

/**
 * The charge for a request, in the class `limit`. Undefined for a call of a program if the program has already paid for
 * the call.
 */
function chargeOf(
  route: Route,
  limit: LimitClass,
  { input, principal }: Asked,
  { paid }: Pick<InvocationContext, "paid">,
): Charge | undefined {
  const accountId = route.public ? undefined : accountIn(input);
  // Account ids are UUIDs, which have 36 characters.
  const isAccountId = accountId?.length === 36;
  const isPaid = paid !== undefined && limit === "default";
  if (isPaid && (!isAccountId || accountId.toLowerCase() === paid.ownLimitOf)) return undefined;
  return {
    principalId: principal.id,
    class: limit,
    cost: 1,
    onlyOwn: isPaid,
    ...(isAccountId ? { accountId: accountId.toLowerCase() } : {}),
  };
}

/** Charges an authorized request in the class `limit`. Charges nothing if a program has already paid for the call. */
async function chargeFor(route: Route, limit: LimitClass, asked: Asked, invocation: InvocationContext): Promise<void> {
  const due = chargeOf(route, limit, asked, invocation);
  if (due) await invocation.charge(due);
}

/** Charges a REST request whose body cannot be read. The charge is the same as in `invoke`. Throws 401 and 429. */
export async function chargeUnread(
  route: Route,
  params: RawInput["params"],
  invocation: InvocationContext,
): Promise<void> {
  const principal = route.public ? await anonymousPrincipal(invocation) : await invocation.authenticate();
  await chargeCaller(route, { input: { params, query: {} }, principal }, invocation);
}

/**
 * Charges a request before it is known whether the caller has access to the account. The limiter asks whether the
 * caller has access, because only members are charged by the account's own limit. `deciding` is the decision about the
 * request, if the decision has begun.
 */
async function chargeCaller(
  route: Route,
  asked: Asked,
  invocation: InvocationContext,
  deciding?: Promise<PromiseSettledResult<Decided>>,
): Promise<void> {
  const due = chargeOf(route, route.limit, asked, invocation);
  if (due?.accountId === undefined) return due && invocation.charge(due);
  const { accountId } = due;
  const isMemberNow = async (): Promise<boolean> => {
    const decided = await deciding;
    if (decided?.status === "fulfilled") return decided.value.permissions.member;
    return isMember(asked.principal, accountId, invocation.table, invocation.now());
  };
  await invocation.charge({ ...due, isMember: isMemberNow });
}

/** Waits for a promise, and returns its value or its error. Never rejects. */
const settled = async <T>(promise: Promise<T>): Promise<PromiseSettledResult<T>> =>
  (await Promise.allSettled([promise]))[0];

/**
 * The result of parsing and authorizing a call. `table` serves the reads of `run` from the items that were read ahead.
 */
type Decided = Authorized & { input: ParsedInput; table: Table };

/** Parses and authorizes a call. Meanwhile reads ahead the items for `run`. */
async function decide(
  route: Route,
  raw: RawInput,
  principal: Principal,
  { table, now }: Pick<InvocationContext, "table" | "now">,
): Promise<Decided> {
  const input = parseInput(route, raw);
  const at = now();
  const readingAhead = readAhead(table, aheadOf(route, input, principal, table, at));
  return { input, table: readingAhead, ...(await authorize(route, input, principal, readingAhead, at)) };
}

/** The items that a call will read, besides the items that authorization reads for every principal. */
function aheadOf(route: Route, input: ParsedInput, principal: Principal, { seen }: Table, now: Date): Ahead {
  const accountId = route.public ? undefined : accountIn(input);
  if (!seen) return {};
  // Without an account in the input, a token in the input names the resource and its account. The lookup reads the
  // items of both, and the plan of the route reads the same items again.
  if (accountId === undefined) return { again: route.subject !== undefined };
  const { permissions, keys } = expectedStanding(seen, principal, accountId, now, route.usesPermissions);
  const ofRun = route.ahead?.(input, { permissions, seen, principal }) ?? {};
  const required = route.requires?.ahead(accountId) ?? [];
  return { ...ofRun, keys: [...keys, ...required, ...(ofRun.keys ?? [])] };
}

type Caller = {
  principal: Principal;
  permissions: Permissions;
  claim: Claim | undefined;
  found: LocatedResource<unknown> | undefined;
  table: Table;
};

const textId = (id: unknown): string | undefined => (typeof id === "string" ? id : undefined);

function contextOf(route: Route, input: ParsedInput, caller: Caller, invocation: InvocationContext): Context {
  const { params, headers } = input;
  const { principal, permissions, claim, found, table } = caller;
  const { requestId, log, now, address, askEmail, wantsFile, stopAt } = invocation;
  const author = authorOf(route, principal, invocation);
  const accountId = textId(params["account_id"]) ?? found?.accountId;
  // Without a lookup, the last member of the path is the id of the route's resource.
  const targetId = found?.id ?? textId(Object.values(params).at(-1));
  const { ifMatch } = headers;
  const commit = recorder({ table, accountId: accountId ?? "", author, now, claim, ifMatch, targetId });
  const answer = async <T>(value: T): Promise<T> => {
    await claim?.restate(value);
    return value;
  };
  const chargeClass = (limit: LimitClass) => chargeFor(route, limit, { input, principal }, invocation);
  const [keyId, hasBegun] = [claim?.id, claim?.hasBegun];
  const tools = { commit, answer, chargeClass, askEmail, log, now, stopAt };
  return { principal, permissions, requestId, table, keyId, hasBegun, ifMatch, address, wantsFile, ...tools };
}

/**
 * The author of a change. On public routes, the author has no IP address, because members of the account could read the
 * caller's address.
 */
function authorOf(route: Route, principal: Principal, { requestId, sourceIp, userAgent }: InvocationContext): Author {
  const action = route.name;
  const { type, id } = principal;
  const email = type === "user" ? emailOf(principal) : principal.email;
  if (route.public) return { action, actor: { type: "system", id: "stranger" }, requestId };
  return {
    action,
    actor: { type, id, ...(email === undefined ? {} : { email }) },
    requestId,
    sourceIp,
    userAgent,
  };
}

/**
 * Throws InvalidInput for an `expires_at` that has passed, and the problem of the route's condition if the account does
 * not fulfil it. Both can change with time. A repeat must get its stored answer all the same, so nothing is checked for
 * a request with a stored answer.
 */
async function requireCondition(route: Route, input: ParsedInput, table: Reader, at: Date): Promise<void> {
  requireFutureEnds(input.body, at);
  const accountId = accountIn(input);
  if (accountId !== undefined) await route.requires?.check(accountId, table, at);
}

async function runRoute(
  route: Route,
  input: ParsedInput & { found: unknown },
  context: Context,
  claim: Claim | undefined,
): Promise<unknown> {
  try {
    await requireCondition(route, input, context.table, context.now());
    const result = await route.run(input, context);
    if (claim && !claim.isSettledWith(result)) {
      throw new Error(`${route.name} must answer with the value that its transaction returned`);
    }
    return route.output.parse(result);
  } catch (error) {
    // A part of this request may be done. In this case only a repeat of the same request can use the key. The repeat
    // completes the rest.
    const mayBePartlyDone = claim?.isPartlyDone === true || !isRefusal(error);
    await (route.resumes && mayBePartlyDone ? claim?.lapse() : claim?.release());
    throw error;
  }
}
