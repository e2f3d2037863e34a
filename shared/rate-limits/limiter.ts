import { isDeepStrictEqual } from "node:util";

import * as z from "zod";

import { Problem } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { remember } from "../core/memory.ts";
import type { Table } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import {
  ceilingOf,
  chargeOf,
  costMs,
  isRefusing,
  newBucket,
  noteCharged,
  noteRefused,
  remaining,
  reservationsIn,
  reservedMs,
  secondsUntilFull,
  takeAllLeased,
  takeLeased,
  waitMs,
  type Bucket,
  type Reservation,
} from "./bucket.ts";
import { limitClasses, limitClassNames, type Limit, type LimitClass } from "./classes.ts";

/*
 * Access patterns
 *   the bucket of a principal for a class            RATE#<principal id>#<class>[#<account id>] / RATE
 *   the own limits of an account                     ACCOUNT#<id> / LIMITS
 *
 * `tat` of a bucket includes what running programs have reserved (reservation.ts).
 */
export const rateKey = (bucket: string): Key => ({ PK: `RATE#${bucket}`, SK: "RATE" });
export const limitsKey = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "LIMITS" });

const OwnLimit = z.object({ perMinute: z.number(), burst: z.int() });
/** The own limits of an account, by class. A class without an entry has its usual limit. */
export const AccountLimits = z.object({
  classes: z.object(Object.fromEntries(limitClassNames.map((name) => [name, OwnLimit.optional()]))),
});

type OwnLimits = z.output<typeof AccountLimits> | undefined;

/** One request to charge: its principal, the class of its route, its account, and its cost. */
export type Charge = {
  principalId: string;
  class: LimitClass;
  cost: number;
  /** The part of the cost that was charged earlier. `cost` is only the remaining part. */
  prepaid?: number;
  accountId?: string | undefined;
  /** Charges only an own limit of the account, because code mode charges the call itself. */
  onlyOwn?: boolean;
  /** Charges nothing in advance for later requests. */
  isExact?: boolean;
};

/** The state of a caller's limit after a request, for the headers `RateLimit-Policy` and `RateLimit`. */
export type RateState = { class: LimitClass; limit: Limit; remaining: number; resetSeconds: number };

/** What a process remembers between requests, so that few requests have to read the table. */
export type LimiterMemory = {
  buckets: Map<string, Bucket>;
  ownLimits: Map<string, RememberedLimits>;
};

export const newLimiterMemory = (): LimiterMemory => ({ buckets: new Map(), ownLimits: new Map() });

const ownLimitsTtlMs = 60_000;
const bucketTtlSeconds = 3_600;

export type LimiterContext = { table: Table; memory: LimiterMemory; log: Log; now: () => Date };

/**
 * Charges a request to its caller's bucket. Throws 429 `rate_limited` if there is no room.
 * - Makes one conditional write at most. Makes none if enough requests are charged in advance, or if the state of the
 *   bucket a second ago had no room.
 * - Reservations of programs take no room. Only what a program used does.
 * - Returns undefined if nothing is charged.
 */
export async function charge(request: Charge, context: LimiterContext): Promise<RateState | undefined> {
  try {
    return await chargeTable(request, context);
  } catch (error) {
    if (error instanceof Problem && error.code === "rate_limited") throw error;
    if (limitClasses[request.class].whenTableFails === "closed") throw error;
    context.log.error("rate limit not checked", { class: request.class, error: String(error) });
    const limit = limitClasses[request.class];
    return { class: request.class, limit, remaining: limit.burst, resetSeconds: 0 };
  }
}

/**
 * While the account's own limits are read, the request is charged to the limit that held before or, alone, to the usual
 * one.
 */
async function chargeTable(request: Charge, context: LimiterContext): Promise<RateState | undefined> {
  const { accountId } = request;
  if (accountId === undefined) return chargeBucket(request, undefined, context);
  const known = context.memory.ownLimits.get(accountId);
  const assumed = known?.limits?.classes[request.class];
  if (isRecent(known, context)) return chargeBucket(request, assumed, context);
  const [read, charged] = await Promise.allSettled([
    readOwnLimits(accountId, context),
    chargeBucket({ ...request, isExact: known === undefined }, assumed, context),
  ]);
  if (read.status === "rejected") throw charged.status === "rejected" ? charged.reason : read.reason;
  const own = read.value?.classes[request.class];
  if (!isDeepStrictEqual(own, assumed)) return chargeBucket(request, own, context);
  if (charged.status === "rejected") throw charged.reason;
  return charged.value;
}

type RememberedLimits = { limits: OwnLimits; readAt: number };

const isRecent = (known: RememberedLimits | undefined, { now }: LimiterContext): known is RememberedLimits =>
  known !== undefined && now().getTime() - known.readAt < ownLimitsTtlMs;

/** The account's own limit for a class; undefined if the usual one holds. */
export async function ownLimitOf(
  accountId: string,
  name: LimitClass,
  context: LimiterContext,
): Promise<Limit | undefined> {
  const known = context.memory.ownLimits.get(accountId);
  const limits = isRecent(known, context) ? known.limits : await readOwnLimits(accountId, context);
  return limits?.classes[name];
}

/** Reads the own limits of an account, and remembers them for a minute. */
async function readOwnLimits(accountId: string, { table, memory, now }: LimiterContext): Promise<OwnLimits> {
  const limits = await table.get(limitsKey(accountId), AccountLimits);
  remember(memory.ownLimits, accountId, { limits, readAt: now().getTime() });
  return limits;
}

/** Charges a request to the bucket of the account's own limit, or without one to that of the class. */
async function chargeBucket(
  request: Charge,
  own: Limit | undefined,
  context: LimiterContext,
): Promise<RateState | undefined> {
  if (request.onlyOwn && !own) return undefined;
  const limit = own ?? limitClasses[request.class];
  const now = context.now().getTime();
  const [name, bucket] = bucketOf(request, own, context.memory);
  for (;;) {
    if (takeLeased(bucket, request.cost, now)) return rateState(request, limit, bucket, now);
    if (bucket.writing) {
      await bucket.writing.catch(() => undefined);
      continue;
    }
    const wait = waitMs(bucket, limit, request, now);
    if (wait > 0 && isRefusing(bucket, now))
      throw new RateLimited(request, limit, wait, rateState(request, limit, bucket, now));
    if (await inTurn(bucket, () => write(name, bucket, limit, request, now, context.table))) {
      return rateState(request, limit, bucket, now);
    }
  }
}

/** The bucket of the account's own limit, or without one that of the class, with its name. */
export function bucketOf(
  { principalId, class: limitClass, accountId }: Charge,
  own: Limit | undefined,
  { buckets }: LimiterMemory,
): [name: string, bucket: Bucket] {
  const name = [principalId, limitClass, ...(own ? [accountId] : [])].join("#");
  return [name, buckets.get(name) ?? remember(buckets, name, newBucket())];
}

/** Runs a write of a bucket. Other requests of this process wait for its end. */
export async function inTurn<T>(bucket: Bucket, run: () => Promise<T>): Promise<T> {
  while (bucket.writing) await bucket.writing.catch(() => undefined);
  const writing = run();
  bucket.writing = writing;
  try {
    return await writing;
  } finally {
    bucket.writing = undefined;
  }
}

async function write(
  name: string,
  bucket: Bucket,
  limit: Limit,
  request: Charge,
  now: number,
  table: Table,
): Promise<boolean> {
  const { total, ahead } = chargeOf(bucket, limit, request, now);
  const ceiling = ceilingOf(bucket, limit, request, total, now);
  // This write uses the requests charged in advance, so other requests must not use them meanwhile.
  const leased = takeAllLeased(bucket);
  const { done, tat } = await addCharge(name, bucket, { addMs: costMs(limit, total), ceiling, now }, table).finally(
    () => (bucket.leased = leased),
  );
  if (!done) return noteRefused(bucket, limit, request, tat, now);
  noteCharged(bucket, tat, ahead, now);
  return true;
}

type Adding = { addMs: number; ceiling: number; now: number };

/** The most writes of one charge beside the reservations of programs, while other processes charge the same bucket. */
const triesBeside = 10;

/** Adds a charge to a stored bucket if it fits. Returns the arrival time without the reservations of programs. */
async function addCharge(
  name: string,
  known: Bucket,
  adding: Adding,
  table: Table,
): Promise<{ done: boolean; tat: number }> {
  const { addMs, ceiling, now } = adding;
  let attempt = await table.attempt(chargingWrite(name, known.tat, adding));
  if (attempt.done) return { done: true, tat: Number(attempt.updated["tat"]) };
  for (let tries = 1; ; tries++) {
    const stored = Number(attempt.found["tat"] ?? known.tat);
    const reserved = reservedMs(reservationsIn(attempt.found));
    const tat = stored - reserved;
    if (reserved === 0 || tat > ceiling || tries > triesBeside) return { done: false, tat };
    // Reservations take no room from other requests. A bucket that is idle without them begins at `now` here too; the
    // idle time must be added once only.
    const idle = Math.max(0, now - tat);
    attempt = await table.attempt({
      update: rateKey(name),
      add: { tat: addMs + idle },
      if: { tat: idle > 0 ? stored : { above: now, atMost: ceiling + reserved } },
    });
    if (attempt.done) return { done: true, tat: Number(attempt.updated["tat"]) - reserved };
  }
}

/**
 * The write that charges a bucket, and a reservation with it. An idle bucket begins at `now`; a busy one continues from
 * its arrival time, if that is still in the future.
 */
export function chargingWrite(
  name: string,
  tat: number,
  { addMs, ceiling, now }: Adding,
  reservation?: Reservation,
): Write {
  const update = rateKey(name);
  const reserved = reservation ? { [reservation.attribute]: reservation.stored } : {};
  const set = { ...reserved, ttl: Math.ceil(now / 1000) + bucketTtlSeconds };
  const add: Record<string, number> = reservation ? { reservations: 1 } : {};
  return tat <= now
    ? { update, set: { ...set, tat: now + addMs, idle_at: now }, add, if: { absentOr: { tat: { atMost: now } } } }
    : { update, set, add: { ...add, tat: addMs }, if: { tat: { above: now, atMost: ceiling } } };
}

export const rateState = (request: Charge, limit: Limit, bucket: Bucket, now: number): RateState => ({
  class: request.class,
  limit,
  remaining: remaining(bucket, limit, now),
  resetSeconds: secondsUntilFull(bucket, limit, now),
});

/** The 429 for a request that does not fit into its bucket. A request with a lower cost may still fit. */
export class RateLimited extends Problem {
  readonly state: RateState;

  /** `wait` is in milliseconds. */
  constructor(request: Charge, limit: Limit, wait: number, state: RateState) {
    const retryAfter = Math.max(1, Math.ceil(wait / 1000));
    const cost = request.cost + (request.prepaid ?? 0);
    const reason =
      cost === 1
        ? `Too many requests of the class ${request.class}`
        : `This counts as ${cost} requests of the class ${request.class}, and ${state.remaining} of ${limit.burst} are left`;
    super("rate_limited", `${reason}. Try again in ${retryAfter} s.`, {
      retry_after: retryAfter,
      limit_class: request.class,
      per_minute: limit.perMinute,
      burst: limit.burst,
      cost,
      remaining: state.remaining,
    });
    this.state = state;
  }
}

/** The state of the limit in a `RateLimited` error; undefined for any other error. */
export const rateStateOf = (problem: unknown): RateState | undefined =>
  problem instanceof RateLimited ? problem.state : undefined;

/**
 * The header fields of draft-ietf-httpapi-ratelimit-headers. The quota is the burst, and the window is the time
 * after which an empty quota is full again.
 */
export function rateHeaders({ class: name, limit, remaining: left, resetSeconds }: RateState): Record<string, string> {
  const windowSeconds = Math.max(1, Math.round((limit.burst * 60) / limit.perMinute));
  return {
    "ratelimit-policy": `"${name}";q=${limit.burst};w=${windowSeconds}`,
    ratelimit: `"${name}";r=${left};t=${resetSeconds}`,
  };
}
