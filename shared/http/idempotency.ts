import { createHash, createHmac, randomUUID } from "node:crypto";

import * as z from "zod";

import { Scope } from "../auth/permissions.ts";
import type { Principal } from "../auth/principal.ts";
import type { Claim } from "../changes/recorder.ts";
import { InvalidInput, Problem } from "../core/errors.ts";
import { dayMs } from "../core/time.ts";
import type { Attempt, Table } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import type { ParsedInput } from "./input.ts";
import type { Route } from "./route.ts";
import { holdsSecret } from "./shown-once.ts";

const ordered = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/**
 * A fingerprint of a request's parsed input, which does not depend on the order of members. It is a hash keyed with the
 * idempotency key. The key is not stored, so a stolen table does not help to guess a password in the body.
 */
export const fingerprintOf = (
  key: string,
  { params, query, body }: Pick<ParsedInput, "params" | "query" | "body">,
): string => createHmac("sha256", key).update(JSON.stringify({ params, query, body }, ordered)).digest("hex");

/**
 * The id of a request with an idempotency key, from its record and the owner of the first claim. Records of earlier
 * versions have no first owner.
 */
export const requestIdOf = ({ PK, SK }: Key, first: string | undefined): string =>
  createHash("sha256")
    .update([PK, SK, ...(first === undefined ? [] : [first])].join(" "))
    .digest("base64url")
    .slice(0, 16);

/** The key was used before, for another request: 422. */
const keyReused = (): InvalidInput =>
  new InvalidInput([
    {
      loc: ["header", "idempotency-key"],
      msg: "This key was used for another request. Use a new key for each request",
      type: "idempotency_key_reused",
    },
  ]);

/** The first request with the key still runs: 409. */
const inFlight = (): Problem =>
  new Problem("idempotency_in_flight", "The first request with this key is still running. Try again.", {
    retry_after: 1,
  });

/** The request was answered before, and the answer is not stored: 409. */
function notStored({ codeMode: { storesAnswer } }: KeyedRoute): Problem {
  const why = !storesAnswer
    ? "This request was answered before. The answer is not stored, because it has an address that works without a credential."
    : "This request was answered before. The answer is not stored, because it had a secret that is shown only once.";
  return new Problem("secret_already_shown", why);
}

/*
 * A POST with an Idempotency-Key first claims the key, so that only one of several such requests runs. The transaction
 * that has the effect also stores the answer, so that both happen or neither does. If the process dies before that
 * transaction, the claim expires. If it dies afterwards, the next request finds the answer.
 *
 * Access patterns
 *   the claim or answer of a key   PRINCIPAL#<principal id> / IDEMPOTENCY#<route>#<SHA-256 of the key>
 */
const recordKey = (principalId: string, route: string, key: string): Key => ({
  PK: `PRINCIPAL#${principalId}`,
  SK: `IDEMPOTENCY#${route}#${createHash("sha256").update(key).digest("hex")}`,
});

/** Longer than the timeout of any of our Lambdas. */
const leaseMs = 30_000;

const FoundClaim = z.object({
  fingerprint: z.string(),
  owner: z.string(),
  /** The owner of the first claim. All claims of the same interrupted request share it. */
  first: z.string().optional(),
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

type Keyed = {
  principal: Principal;
  /** The called route. The key is stored under its name, and its schema shapes the stored answer. */
  route: KeyedRoute;
  key: string;
  input: Pick<ParsedInput, "params" | "query" | "body">;
  now: Date;
  /** How many milliseconds the answer is kept; a day by default. */
  keptMs?: number;
  /** The scopes of the request's resource. They are stored because the resource may be deleted later. */
  scopes?: readonly Scope[] | undefined;
  /** Whether this is a call of a program. Answers that code mode must not keep are then not stored. */
  inProgram?: boolean;
  /** Charges for reading a stored answer, by its length in characters, before the answer is used. */
  weigh?: (chars: number) => Promise<void>;
  /** Whether a stored answer is still valid. If it is not, the request runs. */
  counts?: (answer: unknown) => Promise<boolean>;
};

/**
 * Claims a key, or returns the answer that is stored for it. Throws:
 * - 422 if the key was used for another request;
 * - 409 `idempotency_in_flight` while the first request runs;
 * - 409 `secret_already_shown` if the answer is not stored.
 */
export async function claimKey(table: Table, keyed: Keyed): Promise<Claim | { replay: unknown }> {
  const { principal, route, key, input, now, keptMs = dayMs, scopes } = keyed;
  const at = now.getTime();
  const record = recordKey(principal.id, route.name, key);
  const fingerprint = fingerprintOf(key, input);
  const owner = randomUUID();
  const put = {
    ...record,
    fingerprint,
    owner,
    first: owner,
    state: "running",
    lease_until: at + leaseMs,
    expires_at: at + keptMs,
    ttl: Math.ceil((at + keptMs) / 1000),
    scopes,
  };
  const claim = claimOf(table, record, { owner, first: owner }, keyed);
  const first = await releaseOnFailure(claim, table.attempt({ put, if: { absentOr: { expires_at: { atMost: at } } } }));
  if (first.done) return claim;
  const found = FoundClaim.parse(first.found);
  // The response to our own write was lost, and the SDK sent the write again.
  if (found.owner === owner) return claim;
  await keyed.weigh?.(found.body?.length ?? 0);
  if (found.fingerprint !== fingerprint) throw keyReused();
  if (found.state === "done") {
    const replay = replayOf(found, route);
    if ((await keyed.counts?.(replay)) ?? true) return { replay };
  } else if (found.lease_until > at) throw inFlight();
  const again = claimOf(table, record, { owner, first: found.first }, keyed);
  const take = { put: { ...put, first: found.first }, if: { owner: found.owner, state: found.state } };
  const second = await releaseOnFailure(again, table.attempt(take));
  if (!second.done && second.found["owner"] !== owner) throw inFlight();
  return again;
}

/** A stored answer, and the scopes of its resource. */
type StoredAnswer = { replay: unknown; scopes?: Scope[] | undefined };

/**
 * The answer stored for the same request; undefined if there is none yet. Throws 409 `secret_already_shown` if the
 * answer is not stored.
 */
export async function storedAnswer(table: Table, keyed: Keyed): Promise<StoredAnswer | undefined> {
  const { key, input, route } = keyed;
  const found = await liveRecordOf(table, keyed);
  const isIt = found?.state === "done" && found.fingerprint === fingerprintOf(key, input);
  return isIt ? { replay: replayOf(found, route), scopes: found.scopes } : undefined;
}

/**
 * Looks up the stored answer as `claimKey` does, with the same errors, but claims and writes nothing; undefined if
 * there is none yet.
 */
export async function findAnswer(table: Table, keyed: Keyed): Promise<StoredAnswer | undefined> {
  const { key, input, now, route } = keyed;
  const found = await liveRecordOf(table, keyed);
  if (!found) return undefined;
  await keyed.weigh?.(found.body?.length ?? 0);
  if (found.fingerprint !== fingerprintOf(key, input)) throw keyReused();
  if (found.state === "done") return { replay: replayOf(found, route), scopes: found.scopes };
  if (found.lease_until > now.getTime()) throw inFlight();
  return undefined;
}

async function liveRecordOf(table: Table, { principal, route, key, now }: Keyed): Promise<StoredRecord | undefined> {
  const found = await table.get(recordKey(principal.id, route.name, key), StoredClaim);
  return found && found.expires_at > now.getTime() ? found : undefined;
}

/**
 * Waits for the write of a claim. If the write fails, it releases the claim, which may be stored all the same. So the
 * caller can try again at once.
 */
async function releaseOnFailure(claim: Claim, attempt: Promise<Attempt>): Promise<Attempt> {
  try {
    return await attempt;
  } catch (error) {
    await claim.release();
    throw error;
  }
}

type Owned = Pick<FoundClaim, "owner" | "first">;
function claimOf(table: Table, record: Key, { owner, first }: Owned, { route, inProgram = false }: Keyed): Claim {
  const mine = { owner, state: "running" };
  const isDeletion = route.http.method === "DELETE";
  const answerToStore = (value: unknown): unknown => {
    const answer = route.output.parse(isDeletion ? {} : value);
    return holdsSecret(route, answer) || (inProgram && !route.codeMode.storesAnswer) ? undefined : answer;
  };
  let settledWith: { value: unknown } | undefined;
  const settleWith = (body: unknown): Write => ({
    update: record,
    // JSON of undefined is undefined, which is not stored.
    set: { state: "done", body: JSON.stringify(body) },
    if: mine,
    orElse: inFlight,
  });
  return {
    id: requestIdOf(record, first),
    settleWith,
    settle: (value) => {
      settledWith = { value };
      return settleWith(answerToStore(value));
    },
    restate: async (value) => {
      settledWith = { value };
      const answer = answerToStore(value);
      const change = answer === undefined ? { remove: ["body"] } : { set: { body: JSON.stringify(answer) } };
      // If this fails, the stored answer is still right, only older.
      await table.attempt({ update: record, ...change, if: { owner, state: "done" } }).catch(() => undefined);
    },
    isSettledWith: (result) => settledWith !== undefined && (isDeletion || settledWith.value === result),
    // If this fails too, the claim expires by itself.
    release: async () => void (await table.attempt({ delete: record, if: mine }).catch(() => undefined)),
    lapse: async () =>
      void (await table.attempt({ update: record, set: { lease_until: 0 }, if: mine }).catch(() => undefined)),
  };
}

function replayOf({ body }: FoundClaim, route: Keyed["route"]): unknown {
  if (body !== undefined) return JSON.parse(body);
  throw notStored(route);
}
