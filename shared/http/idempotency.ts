import { createHmac, hash, randomUUID } from "node:crypto";

import * as z from "zod";

import { Scope } from "../auth/permissions.ts";
import type { Principal } from "../auth/principal.ts";
import type { Claim } from "../changes/recorder.ts";
import { invalidAt, type InvalidInput, Problem } from "../core/errors.ts";
import { dayMs } from "../core/time.ts";
import type { Attempt, Table } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import type { ParsedInput, RawInput } from "./input.ts";
import { type Route, holdsSecret } from "./route.ts";

/** A replacer for `JSON.stringify` that sorts the members of objects. */
const sortMembers = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/**
 * A fingerprint of a request's input, which does not depend on the order of members. The fingerprint is an HMAC with
 * the idempotency key. The table does not have this key, so a stolen table does not help to guess a password in the
 * body.
 */
export const fingerprintOf = (
  key: string,
  { params, query, body }: Pick<RawInput, "params" | "query" | "body">,
): string => createHmac("sha256", key).update(JSON.stringify({ params, query, body }, sortMembers)).digest("hex");

/**
 * The id of a request with an idempotency key. The id is a hash of two values: the key of the request's record in the
 * table, and the owner of the first claim (`first`). Records of earlier versions have no `first`.
 */
export const keyedRequestId = ({ PK, SK }: Key, first: string | undefined): string =>
  hash("sha256", [PK, SK, ...(first === undefined ? [] : [first])].join(" "), "base64url").slice(0, 16);

/** The 422 for a key that was used for another request. */
const keyReused = (): InvalidInput =>
  invalidAt(
    ["header", "idempotency-key"],
    "This key was used for another request. Use a new key for each request",
    "idempotency_key_reused",
  );

/** The 409 for a key whose first request is still running. */
const inFlight = (): Problem =>
  new Problem("idempotency_in_flight", "The first request with this key is still running. Try again.", {
    retry_after: 1,
  });

/** The 409 for a request that was answered before, if the answer is not stored. */
function notStored({ codeMode: { storesAnswer } }: KeyedRoute): Problem {
  const detail = storesAnswer
    ? "This request was answered before. The answer is not stored, because it had a secret that is shown only once."
    : "This request was answered before. The answer is not stored, because it has an address that can contain a credential.";
  return new Problem("secret_already_shown", detail);
}

/*
 * A request with an idempotency key first claims the key, so that only one of several requests with the key runs at a
 * time. The transaction that makes the changes also stores the answer, so that there are no changes without an answer.
 * A call of several transactions stores the answer in the first transaction that is not `partial` (`ChangePlan`). If
 * the process dies before the answer is stored, the claim expires. If the process dies after the answer is stored, the
 * next request finds the answer.
 *
 * Access patterns
 *   the claim or answer of a key   PRINCIPAL#<principal id> / IDEMPOTENCY#<route>#<SHA-256 of the key>
 */
const recordKey = (principalId: string, route: string, key: string): Key => ({
  PK: `PRINCIPAL#${principalId}`,
  SK: `IDEMPOTENCY#${route}#${hash("sha256", key)}`,
});

/** How long a claim lasts, in milliseconds: longer than the timeout of every Lambda of a route. */
const leaseMs = 30_000;

/**
 * The members of a stored claim that the table returns if the condition of another claim fails. The table then returns
 * strings and numbers only, and numbers as strings.
 */
const FoundClaim = z.object({
  /** The fingerprint of the parsed input. */
  fingerprint: z.string(),
  /**
   * The fingerprint of the input as it was sent. Absent if it equals `fingerprint`, and in records of earlier versions.
   */
  sent_fingerprint: z.string().optional(),
  owner: z.string(),
  /** The owner of the first claim. Repeats of an interrupted request make new claims with the same `first`. */
  first: z.string().optional(),
  /**
   * When the request committed the transaction that notes its beginning (`begins` of `ChangePlan`), in milliseconds.
   * Absent before.
   */
  begun_at: z.coerce.number().optional(),
  state: z.enum(["running", "done"]),
  lease_until: z.coerce.number(),
  body: z.string().optional(),
});
type FoundClaim = z.output<typeof FoundClaim>;
const StoredClaim = FoundClaim.extend({ expires_at: z.number(), scopes: z.array(Scope).optional() });
type StoredRecord = z.output<typeof StoredClaim>;

/** The members of a route that decide how its answers are stored. */
type KeyedRoute = Pick<Route, "name" | "shownOnce" | "output"> & {
  http: Pick<Route["http"], "method">;
  codeMode: Pick<Route["codeMode"], "storesAnswer">;
};

/** A request with an idempotency key. */
type KeyedRequest = {
  principal: Principal;
  /** The called route. The key is stored under the route's name, and the route's schema shapes the stored answer. */
  route: KeyedRoute;
  key: string;
  input: Pick<ParsedInput, "params" | "query" | "body">;
  /** The input before parsing. The default is `input`. */
  raw?: Pick<RawInput, "params" | "query" | "body">;
  now: Date;
  /** How long the answer is stored, in milliseconds. The default is a day. */
  keptMs?: number;
  /** The scopes of the request's resource, which are stored because the resource may be deleted later. */
  scopes?: readonly Scope[] | undefined;
  /**
   * Whether the request is a call in a program. If so, its answer is stored only if the route has `storesAnswer`.
   */
  inProgram?: boolean;
  /** Charges the caller for a stored answer of `chars` UTF-16 code units. Called before the answer is used. */
  chargeRead?: (chars: number) => Promise<void>;
  /**
   * Whether a stored answer is still valid. If the answer is not valid, the request runs again. Throws the refusal if
   * the caller is no longer allowed to get the answer.
   */
  isStillValid?: (answer: unknown) => Promise<boolean>;
};

/**
 * Whether a claim was made by the same request: the parsed inputs are the same, or the inputs as they were sent. A new
 * version of the product can parse the same input to other values, for example because it has a new default.
 */
function isSameRequest(found: FoundClaim, { key, input, raw = input }: KeyedRequest): boolean {
  const sent = fingerprintOf(key, raw);
  return [found.fingerprint, found.sent_fingerprint].includes(sent) || found.fingerprint === fingerprintOf(key, input);
}

/**
 * Claims a key, or returns the answer that is stored for the key. Throws:
 * - 422 if the key was used for another request;
 * - 409 `idempotency_in_flight` while an earlier request with the key runs;
 * - 409 `secret_already_shown` if the answer is not stored;
 * - the errors of `chargeRead` and `isStillValid`.
 */
export async function claimKey(table: Table, request: KeyedRequest): Promise<Claim | { replay: unknown }> {
  const { principal, route, key, input, raw = input, now, keptMs = dayMs, scopes } = request;
  const at = now.getTime();
  const record = recordKey(principal.id, route.name, key);
  const [fingerprint, sent] = [fingerprintOf(key, input), fingerprintOf(key, raw)];
  const owner = randomUUID();
  const put = {
    ...record,
    fingerprint,
    sent_fingerprint: sent === fingerprint ? undefined : sent,
    owner,
    first: owner,
    state: "running",
    lease_until: at + leaseMs,
    expires_at: at + keptMs,
    ttl: Math.ceil((at + keptMs) / 1000),
    scopes,
  };
  const claim = claimOf(table, record, { owner, first: owner }, request);
  const claimed = await endOnFailure(
    claim.release,
    table.attempt({ put, if: { absentOr: { expires_at: { atMost: at } } } }),
  );
  if (claimed.done) return claim;
  const found = FoundClaim.parse(claimed.found);
  // The response to our own write was lost, and the SDK sent the write again.
  if (found.owner === owner) return claim;
  await request.chargeRead?.(found.body?.length ?? 0);
  if (!isSameRequest(found, request)) throw keyReused();
  if (found.state === "done") {
    const replay = replayOf(found, route);
    if ((await request.isStillValid?.(replay)) ?? true) return { replay };
  } else if (found.lease_until > at) throw inFlight();
  const { first: firstOwner, begun_at } = found;
  const newClaim = claimOf(table, record, { owner, first: firstOwner, begun_at }, request);
  const takeOver = { put: { ...put, first: firstOwner, begun_at }, if: { owner: found.owner, state: found.state } };
  // The request of the first claim may be partly done, so a failed takeover keeps the key for the same request.
  const takenOver = await endOnFailure(newClaim.lapse, table.attempt(takeOver));
  if (!takenOver.done && takenOver.found["owner"] !== owner) throw inFlight();
  return newClaim;
}

/** A stored answer, and the scopes of its resource. */
type StoredAnswer = { replay: unknown; scopes?: Scope[] | undefined };

/**
 * Reads the answer of an earlier equal request; undefined if no equal request was answered. Throws 409
 * `secret_already_shown` if the answer is not stored.
 */
export async function storedAnswer(table: Table, request: KeyedRequest): Promise<StoredAnswer | undefined> {
  const found = await liveRecordOf(table, request);
  const isAnswered = found?.state === "done" && isSameRequest(found, request);
  return isAnswered ? { replay: replayOf(found, request.route), scopes: found.scopes } : undefined;
}

/**
 * Reads the stored answer as `claimKey` does, with the same errors, but claims nothing. Undefined if no answer is
 * stored and `claimKey` would claim the key. Does not call `isStillValid`.
 */
export async function findAnswer(table: Table, request: KeyedRequest): Promise<StoredAnswer | undefined> {
  const { now, route } = request;
  const found = await liveRecordOf(table, request);
  if (!found) return undefined;
  await request.chargeRead?.(found.body?.length ?? 0);
  if (!isSameRequest(found, request)) throw keyReused();
  if (found.state === "done") return { replay: replayOf(found, route), scopes: found.scopes };
  if (found.lease_until > now.getTime()) throw inFlight();
  return undefined;
}

async function liveRecordOf(
  table: Table,
  { principal, route, key, now }: KeyedRequest,
): Promise<StoredRecord | undefined> {
  const found = await table.get(recordKey(principal.id, route.name, key), StoredClaim);
  return found && found.expires_at > now.getTime() ? found : undefined;
}

/**
 * Waits for the write of a claim. If the write throws, the claim may be stored all the same. So this function ends the
 * claim with `end`. The caller can then try again at once.
 */
async function endOnFailure(end: Claim["release"], attempt: Promise<Attempt>): Promise<Attempt> {
  try {
    return await attempt;
  } catch (error) {
    await end();
    throw error;
  }
}

type ClaimOwner = Pick<FoundClaim, "owner" | "first" | "begun_at">;

function claimOf(
  table: Table,
  record: Key,
  { owner, first, begun_at }: ClaimOwner,
  { route, now, inProgram = false }: KeyedRequest,
): Claim {
  const stillClaimed = { owner, state: "running" };
  const isDeletion = route.http.method === "DELETE";
  const answerToStore = (value: unknown): unknown => {
    const answer = route.output.parse(isDeletion ? {} : value);
    return holdsSecret(route, answer) || (inProgram && !route.codeMode.storesAnswer) ? undefined : answer;
  };
  let settledWith: { value: unknown } | undefined;
  const settleWith = (body: unknown): Write => ({
    update: record,
    set: { state: "done", body: body === undefined ? undefined : JSON.stringify(body) },
    if: stillClaimed,
    orElse: inFlight,
  });
  return {
    id: keyedRequestId(record, first),
    isPartlyDone: owner !== first,
    hasBegun: begun_at !== undefined,
    begin: () => ({ update: record, set: { begun_at: now.getTime() }, if: stillClaimed, orElse: inFlight }),
    settleWith,
    settle: (value) => {
      settledWith = { value };
      return settleWith(answerToStore(value));
    },
    restate: async (value) => {
      settledWith = { value };
      const answer = answerToStore(value);
      const change = answer === undefined ? { remove: ["body"] } : { set: { body: JSON.stringify(answer) } };
      // If this write fails, the earlier answer stays stored. The earlier answer is correct too, but less complete.
      await table.attempt({ update: record, ...change, if: { owner, state: "done" } }).catch(() => undefined);
    },
    isSettledWith: (result) => settledWith !== undefined && (isDeletion || settledWith.value === result),
    // If `release` or `lapse` fails, the claim expires by itself.
    release: async () => void (await table.attempt({ delete: record, if: stillClaimed }).catch(() => undefined)),
    lapse: async () =>
      void (await table.attempt({ update: record, set: { lease_until: 0 }, if: stillClaimed }).catch(() => undefined)),
  };
}

function replayOf({ body }: FoundClaim, route: KeyedRequest["route"]): unknown {
  if (body !== undefined) return JSON.parse(body);
  throw notStored(route);
}
