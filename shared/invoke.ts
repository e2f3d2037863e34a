import { asSuperAdmin, standingOf } from "./auth/access.ts";
import { viewOf } from "./auth/capabilities.ts";
import { covers, holdsAnywhere, noPermissions, type Permissions, type Scope } from "./auth/permissions.ts";
import type { Principal } from "./auth/principal.ts";
import type { Author } from "./changes/record.ts";
import { recorder } from "./changes/recorder.ts";
import { InvalidInput, notFound, Problem } from "./errors.ts";
import { claimKey, type Claim } from "./idempotency.ts";
import { parseInput, type ParsedInput, type RawInput } from "./input.ts";
import type { Charge } from "./limits/limiter.ts";
import { networkOf } from "./network.ts";
import type { Context, Located, Route } from "./route.ts";
import type { Table } from "./table/table.ts";

/** What a way in (REST, code mode) brings to every call: who is asking, from where, and what the call may use. */
export type Door = Pick<Context, "requestId" | "log" | "now"> & {
  table: Table;
  authenticate: () => Promise<Principal>;
  /** Charges the caller's rate limit; 429 when there is no room. */
  charge: (what: Charge) => Promise<void>;
  /** Whether calls of the default class are paid for already, as a program's are by its score. */
  paid?: boolean;
  sourceIp?: string;
  userAgent?: string;
};

export type Outcome = {
  input: ParsedInput;
  output: unknown;
  /** The answer was stored by an earlier request with the same idempotency key. */
  replayed: boolean;
};

/**
 * Runs one route, from any door: authenticate (401), charge the rate limit (429), parse (422), authorize
 * (403, 404), replay or run, shape the output. Only what the output schema declares can leave.
 */
export async function invoke(route: Route, raw: RawInput, door: Door): Promise<Outcome> {
  const principal = route.public ? stranger(door) : await door.authenticate();
  // At the same time: a caller far from the limit does not wait for it.
  const [charged, decided] = await Promise.allSettled([
    chargeFor(route, raw, principal, door),
    decide(route, raw, principal, door.table),
  ]);
  if (charged.status === "rejected") throw charged.reason;
  if (decided.status === "rejected") throw decided.reason;
  const { input, permissions, found } = decided.value;
  const key = input.headers.idempotencyKey;
  const claimed =
    key === undefined ? undefined : await claimKey(door.table, { principal, route, key, input, now: door.now() });
  if (claimed && "replay" in claimed) return { input, output: claimed.replay, replayed: true };
  const caller = { principal, permissions, claim: claimed, found };
  const output = await run(route, { ...input, found: found?.thing }, contextOf(route, input, caller, door), claimed);
  return { input, output, replayed: false };
}

/** Whoever calls a public route: nobody in particular, told apart by their address for the rate limit. */
const stranger = ({ sourceIp = "" }: Door): Principal => ({
  type: "user",
  id: `ip/${networkOf(sourceIp)}`,
  email: "",
  groups: [],
});

async function chargeFor(route: Route, { params }: RawInput, principal: Principal, door: Door): Promise<void> {
  const accountId = route.public ? undefined : params["account_id"];
  const isAccountId = typeof accountId === "string" && accountId.length === 36;
  const isPaid = door.paid === true && route.limit === "default";
  if (isPaid && !isAccountId) return;
  await door.charge({
    principalId: principal.id,
    class: route.limit,
    cost: 1,
    onlyOwn: isPaid,
    ...(isAccountId ? { accountId: accountId.toLowerCase() } : {}),
  });
}

type Decided = { input: ParsedInput; permissions: Permissions; found?: Located<unknown> | undefined };

async function decide(route: Route, raw: RawInput, principal: Principal, table: Table): Promise<Decided> {
  const input = parseInput(route, raw);
  return { input, ...(await authorize(route, input, principal, table)) };
}

type Caller = {
  principal: Principal;
  permissions: Permissions;
  claim: Claim | undefined;
  found: Located<unknown> | undefined;
};

function contextOf(route: Route, { params, headers }: ParsedInput, caller: Caller, door: Door): Context {
  const { principal, permissions, claim, found } = caller;
  const { table, requestId, log, now } = door;
  const author = authorOf(route, principal, door);
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
  return { principal, permissions, requestId, table, commit, answer, keyId: claim?.id, ifMatch, log, now };
}

/** Who changes something. A stranger's address is nobody's business: the account's members read who did what. */
function authorOf(route: Route, { type, id, email }: Principal, { requestId, sourceIp, userAgent }: Door): Author {
  const action = route.name;
  if (route.public) return { action, actor: { type: "system", id: "stranger" }, requestId };
  return {
    action,
    actor: { type, id, email },
    requestId,
    ...(sourceIp === undefined ? {} : { sourceIp }),
    ...(userAgent === undefined ? {} : { userAgent }),
  };
}

async function run(
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
    await claim?.release();
    throw error;
  }
}

/** 401 is settled: 404, 422, 403, or what the principal may do with what. */
async function authorize(
  route: Route,
  input: ParsedInput,
  principal: Principal,
  table: Table,
): Promise<Omit<Decided, "input">> {
  const accountId = input.params["account_id"];
  if (typeof accountId !== "string" || route.public) {
    const found = await route.subject?.find(input, table);
    if (route.subject && !found) throw missing(route, input);
    return { permissions: noPermissions, found };
  }
  const [own, found] = await Promise.all([
    standingOf(table, principal, accountId, route.access === "write"),
    route.subject?.find(input, table),
  ]);
  const scopes = scopesOf(route, input, found);
  const enough = isAllowed(route, scopes, own.permissions) && !isNarrowed(route, own.permissions);
  const { permissions, accountStatus } = enough ? own : await asSuperAdmin(table, principal, accountId, own);
  if (!permissions.member) throw notFound();
  if (!isAllowed(route, scopes, permissions)) throw refusal(route, input, scopes, permissions);
  if (route.subject && !found) throw missing(route, input);
  const isStopped = accountStatus === "closed" || (accountStatus === "suspended" && !route.whileSuspended);
  if (route.access === "write" && isStopped) {
    throw new Problem("account_suspended", `This account is ${accountStatus}: it can be read, not changed.`);
  }
  return { permissions, found };
}

/** The thing the input names and what contains it; undefined where the route is about the account, or narrows itself. */
function scopesOf({ scope, subject }: Route, { params }: ParsedInput, found?: Located<unknown>): Scope[] | undefined {
  if (subject) return found?.scopes ?? [];
  return typeof scope === "function" ? scope(params) : undefined;
}

function isAllowed({ capability, scope }: Route, scopes: Scope[] | undefined, permissions: Permissions): boolean {
  if (capability === null) return permissions.member;
  if (scope === "visible") return holdsAnywhere(permissions, capability);
  return covers(permissions, capability, scopes ?? []);
}

/** Whether a list would show these permissions less than the whole account. */
const isNarrowed = ({ capability, scope }: Route, permissions: Permissions): boolean =>
  scope === "visible" && capability !== null && !covers(permissions, capability, []);

/**
 * Who may see the thing, or holds neither the capability nor its view anywhere, is told what is missing.
 * Who holds it elsewhere gets the same answer for a thing outside of their scopes and for one that does not exist.
 */
function refusal(
  route: Route,
  input: ParsedInput,
  scopes: Scope[] | undefined,
  permissions: Permissions,
): Problem | InvalidInput {
  const { capability } = route;
  if (capability === null) return notFound();
  const view = viewOf(capability);
  const nowhere = !holdsAnywhere(permissions, view) && !holdsAnywhere(permissions, capability);
  if (scopes && !nowhere && !covers(permissions, view, scopes)) return missing(route, input);
  return new Problem("forbidden", `This needs the capability ${capability}.`, { required_capability: capability });
}

/** The answer for a thing that is not there, or that the caller does not see. */
function missing({ subject }: Route, input: ParsedInput): Problem | InvalidInput {
  if (subject === undefined || subject.at === "path") return notFound();
  const { at, missing: msg = "There is no such thing in this account that you can see" } = subject;
  return new InvalidInput([{ loc: [...(typeof at === "function" ? at(input) : at)], msg, type: "not_found" }]);
}
