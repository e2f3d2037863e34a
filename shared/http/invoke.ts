import { isDeepStrictEqual } from "node:util";

import { expectedStanding } from "../accounts/standing.ts";
import type { Permissions } from "../auth/permissions.ts";
import type { Principal } from "../auth/principal.ts";
import type { Author } from "../changes/record.ts";
import { recorder, type Claim } from "../changes/recorder.ts";
import { InvalidInput, Problem } from "../core/errors.ts";
import type { Own } from "../core/etag.ts";
import type { Charge } from "../rate-limits/limiter.ts";
import type { ProgramCharge, Reserved } from "../rate-limits/reservation.ts";
import { readAhead, type Ahead } from "../table/read-ahead.ts";
import type { Table } from "../table/table.ts";
import { accountIn, authorize, mayStill, type Authorized } from "./authorize.ts";
import { storedAnswer, claimKey } from "./idempotency.ts";
import { parseInput, type ParsedInput, type RawInput } from "./input.ts";
import type { Context, LocatedResource, Route } from "./route.ts";

/**
 * The context that an entry point (REST, code mode) gives to every call: the caller, the caller's address, and the
 * services that the call may use.
 */
export type InvocationContext = Pick<Context, "requestId" | "log" | "now" | "address"> & {
  table: Table;
  authenticate: () => Promise<Principal>;
  /**
   * The principal that `authenticate` will probably find, if it needs a round trip for it. Used only to read the
   * principal's permissions in the same round trip.
   */
  expected?: Principal | undefined;
  /** Charges the caller's rate limit. Throws 429 when there is no room. */
  charge: (what: Charge) => Promise<void>;
  /** Reserves the most that a program can cost. Throws 429 when there is no room. */
  reserve: (what: ProgramCharge) => Promise<Pick<Reserved, "isOwn"> & { settle: (used: number) => Promise<void> }>;
  /**
   * Present for the calls of a program, which has paid for its calls of the default class by its score: to the own limit
   * of `ownLimitOf`, or to the principal's limit.
   */
  paid?: { ownLimitOf: string | undefined };
  /** The reason why nothing can be changed at present; undefined if changes are allowed. */
  readOnly?: string | undefined;
  sourceIp?: string;
  userAgent?: string;
  /** Aborts when the sender closes the connection. API Gateway does not tell of that, only the local runtime does. */
  signal?: AbortSignal | undefined;
};

export type InvokeResult = {
  input: ParsedInput;
  output: unknown;
  /** Whether the answer was stored by an earlier request with the same idempotency key. */
  replayed: boolean;
  /** The caller's permissions in the account of the path. */
  permissions: Permissions;
};

/**
 * Runs one route for any entry point: authenticate (401), charge the rate limit (429), parse (422), authorize (403,
 * 404), replay or run, shape the output. Only what the output schema declares is sent.
 */
export async function invoke(route: Route, raw: RawInput, invocation: InvocationContext): Promise<InvokeResult> {
  // The sender of a program is authenticated, and is charged for all of its calls.
  const isStranger = route.public && invocation.paid === undefined;
  const { expected } = invocation;
  const early = expected && !isStranger ? settled(decide(route, raw, expected, invocation.table)) : undefined;
  const principal = isStranger ? await stranger(invocation) : await invocation.authenticate();
  const isExpected = isDeepStrictEqual(principal, expected);
  // Both run at the same time, so that a caller far from the limit does not wait for it.
  const [charged, decided] = await Promise.all([
    settled(chargeFor(route, raw, principal, invocation)),
    (isExpected && early) || settled(decide(route, raw, principal, invocation.table)),
  ]);
  if (charged.status === "rejected") throw charged.reason;
  if (invocation.readOnly !== undefined && route.access === "write") throw stopped(invocation.readOnly);
  if (decided.status === "rejected") return refusedOrDone(route, raw, principal, invocation, decided.reason);
  requireHonoured(route.http.etag, raw);
  const { input, permissions, found, table } = decided.value;
  const key = input.headers.idempotencyKey;
  const inProgram = raw.callKey !== undefined;
  const scopes = inProgram ? decided.value.scopes : undefined;
  const claimed =
    key === undefined
      ? undefined
      : await claimKey(invocation.table, { principal, route, key, input, scopes, inProgram, now: invocation.now() });
  if (claimed && "replay" in claimed) return { input, output: claimed.replay, replayed: true, permissions };
  const caller = { principal, permissions, claim: claimed, found, table };
  const output = await runRoute(
    route,
    { ...input, found: found?.thing },
    contextOf(route, input, caller, invocation),
    claimed,
  );
  return { input, output, replayed: false, permissions };
}

/**
 * Throws 412 for an `If-Match` on a resource that has no entity tag, because the request must not run as if the
 * condition held (RFC 9110 §13.1.1).
 */
export function requireHonoured(etag: Own | undefined, { headers }: Pick<RawInput, "headers">): void {
  if (etag || headers?.["if-match"] === undefined) return;
  throw new Problem(
    "precondition_failed",
    "This function does not support `If-Match`, so nothing was done. Leave the header out.",
  );
}

/** A call that is allowed but not made. `preview` says what it would do, if the route can tell. */
export type RehearsedCall = Authorized & { preview: unknown };

/**
 * Decides whether a route may run for this caller and input, as `invoke` does before it runs. Does not run it, and
 * charges nothing. Throws 422 for input that is not valid, 403 or 404 without a permission, and 503 while changes are
 * stopped.
 */
export async function rehearse(route: Route, raw: RawInput, invocation: InvocationContext): Promise<RehearsedCall> {
  if (invocation.readOnly !== undefined && route.access === "write") throw stopped(invocation.readOnly);
  const { input, table, ...authorized } = await decide(route, raw, await invocation.authenticate(), invocation.table);
  const { permissions } = authorized;
  return { ...authorized, preview: await route.preview?.(input, { table, permissions }) };
}

const stopped = (reason: string): Problem => new Problem("read_only", reason, { retry_after: 60 });

/**
 * Answers a call of a repeated program that is refused this time. In the first run the call may have succeeded, and its
 * resource may have been deleted since. If the caller still has the permission in the scopes of the resource, the
 * answer is the stored one; otherwise the refusal stands.
 */
async function refusedOrDone(
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
  const done = key === undefined ? undefined : await storedAnswer(table, { principal, route, key, input, now: now() });
  const permissions = done && (await mayStill(route, input, done.scopes, principal, table));
  if (!done || !permissions) throw refusal;
  return { input, output: done.replay, replayed: true, permissions };
}

/** The principal for a caller of a public route over REST. The rate limit identifies such callers by their network. */
async function stranger({ sourceIp = "" }: InvocationContext): Promise<Principal> {
  // Most routes are not public, and would load the parser of addresses at every cold start.
  const { clientNetwork } = await import("../core/ip.ts");
  return { type: "user", id: `ip/${clientNetwork(sourceIp)}`, email: "", groups: [] };
}

async function chargeFor(
  route: Route,
  raw: RawInput,
  principal: Principal,
  invocation: InvocationContext,
): Promise<void> {
  const accountId = route.public ? undefined : accountIn(raw);
  const isAccountId = accountId?.length === 36;
  const isPaid = invocation.paid !== undefined && route.limit === "default";
  if (isPaid && (!isAccountId || accountId.toLowerCase() === invocation.paid?.ownLimitOf)) return;
  await invocation.charge({
    principalId: principal.id,
    class: route.limit,
    cost: 1,
    onlyOwn: isPaid,
    ...(isAccountId ? { accountId: accountId.toLowerCase() } : {}),
  });
}

/** A promise of how another promise ends. */
const settled = async <T>(promise: Promise<T>): Promise<PromiseSettledResult<T>> =>
  (await Promise.allSettled([promise]))[0];

/** `table` has the items that were read ahead for `run`. */
type Decided = Authorized & { input: ParsedInput; table: Table };

async function decide(route: Route, raw: RawInput, principal: Principal, plain: Table): Promise<Decided> {
  const input = parseInput(route, raw);
  const table = readAhead(plain, aheadOf(route, input, principal, plain));
  return { input, table, ...(await authorize(route, input, principal, table)) };
}

/** The reads of a call whose input and principal are known, without those that authorization always makes. */
function aheadOf(route: Route, input: ParsedInput, principal: Principal, { seen }: Table): Ahead {
  const accountId = route.public ? undefined : accountIn(input);
  if (!seen || accountId === undefined) return {};
  const { permissions, keys } = expectedStanding(seen, principal, accountId);
  const wanted = route.ahead?.(input, { permissions, seen }) ?? {};
  return { ...wanted, keys: [...keys, ...(wanted.keys ?? [])] };
}

type Caller = {
  principal: Principal;
  permissions: Permissions;
  claim: Claim | undefined;
  found: LocatedResource<unknown> | undefined;
  table: Table;
};

function contextOf(
  route: Route,
  { params, headers }: ParsedInput,
  caller: Caller,
  invocation: InvocationContext,
): Context {
  const { principal, permissions, claim, found, table } = caller;
  const { requestId, log, now, address } = invocation;
  const author = authorOf(route, principal, invocation);
  const [accountId = found?.accountId, lastId] = [params["account_id"], Object.values(params).at(-1)].map((id) =>
    typeof id === "string" ? id : undefined,
  );
  const targetId = found?.id ?? lastId;
  const { ifMatch } = headers;
  const commit = recorder({ table, accountId: accountId ?? "", author, now, claim, ifMatch, targetId });
  const answer = async <T>(value: T): Promise<T> => {
    await claim?.restate(value);
    return value;
  };
  const keyId = claim?.id;
  return { principal, permissions, requestId, table, commit, answer, keyId, ifMatch, log, now, address };
}

/** The author of a change. It leaves out a stranger's address, because the members of the account can read it. */
function authorOf(
  route: Route,
  { type, id, email }: Principal,
  { requestId, sourceIp, userAgent }: InvocationContext,
): Author {
  const action = route.name;
  if (route.public) return { action, actor: { type: "system", id: "stranger" }, requestId };
  return {
    action,
    actor: { type, id, email },
    requestId,
    sourceIp,
    userAgent,
  };
}

async function runRoute(
  route: Route,
  input: ParsedInput & { found: unknown },
  context: Context,
  claim: Claim | undefined,
): Promise<unknown> {
  try {
    const result = await route.run(input, context);
    if (claim && !claim.isSettledWith(result)) {
      throw new Error(`${route.name} must answer with the value of the transaction that has its effect`);
    }
    return route.output.parse(result);
  } catch (error) {
    // Another request with this key must not continue what this one did in part.
    const isInPart = route.resumes && !isRefusal(error);
    await (isInPart ? claim?.lapse() : claim?.release());
    throw error;
  }
}

/** Whether the error is a refusal, so that the request had no effect. */
const isRefusal = (error: unknown): boolean =>
  error instanceof InvalidInput || (error instanceof Problem && error.status < 500);
