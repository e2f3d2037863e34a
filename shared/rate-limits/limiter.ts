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
  secondsUntilEmpty,
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
 * A bucket is stored with its theoretical arrival time (`tat`; bucket.ts). The stored `tat` includes the reservations
 * of running programs (reservation.ts).
 */
/** The key of a bucket by its name. */
export const rateKey = (bucket: string): Key => ({ PK: `RATE#${bucket}`, SK: "RATE" });
/** The key of an account's own limits. */
export const limitsKey = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "LIMITS" });

const OwnLimit = z.object({ perMinute: z.number(), burst: z.int() });
/** The own limits of an account, by class. A class without an entry has the limit of the class. */
export const OwnLimits = z.object({
  classes: z.object(Object.fromEntries(limitClassNames.map((name) => [name, OwnLimit.optional()]))),
});

type OwnLimits = z.output<typeof OwnLimits> | undefined;

/** A request to charge. */
export type Charge = {
  principalId: string;
  class: LimitClass;
  /** The number of requests to charge. */
  cost: number;
  /** The cost that was charged earlier for this request. `cost` does not include it. */
  prepaid?: number;
  accountId?: string | undefined;
  /**
   * Tells whether the caller has access to the account. For a caller without access, the account's own limit is neither
   * charged nor shown. Without this function, the caller counts as having access.
   */
  isMember?: () => Promise<boolean>;
  /**
   * Whether to charge only the account's own limit, if there is one. A program's calls of the class `default` use this,
   * because the limit of this class is charged for the whole program.
   */
  onlyOwn?: boolean;
  /** Whether to charge nothing in advance for later requests. */
  isExact?: boolean;
};

/** The state of a caller's limit after a request, for the headers `RateLimit-Policy` and `RateLimit`. */
export type RateState = { class: LimitClass; limit: Limit; remaining: number; resetSeconds: number };

/** The buckets and limits that a process remembers, so that few requests have to ask the table. */
export type LimiterMemory = {
  /** The buckets, by name. */
  buckets: Map<string, Bucket>;
  /** The own limits, by account id. */
  ownLimits: Map<string, RememberedLimits>;
  /**
   * Until when a caller counts as having no access to an account, in milliseconds. The key is the name of the bucket
   * that the caller would have for the account's own limit.
   */
  strangers: Map<string, number>;
};

/** An empty memory. */
export const newLimiterMemory = (): LimiterMemory => ({
  buckets: new Map(),
  ownLimits: new Map(),
  strangers: new Map(),
});

const ownLimitsTtlMs = 60_000;
/** How long a process remembers that a caller has no access to an account, in milliseconds. */
const strangerMs = 10_000;
/** The shortest time for which a bucket is kept after a charge, in milliseconds. */
const bucketKeptMs = 3_600_000;

export type LimiterContext = { table: Table; memory: LimiterMemory; log: Log; now: () => Date };

/**
 * Charges a request to its caller's bucket. Throws 429 `rate_limited` if the request does not fit. Returns the state of
 * the limit; undefined if nothing is charged. While a program runs, the state may show less than remains.
 * - Makes no write if enough requests are leased. Also makes no write if the request does not fit, and the table
 *   refused a charge within the last second. Otherwise usually makes one conditional write.
 * - The reservation of a running program takes no room from the request. After the run, the used part of the program's
 *   cost takes room.
 * - If the table fails, the class decides whether the request is accepted (`whenTableFails`).
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
 * Charges a request, and reads the account's own limits unless this process has read them within the last minute.
 * Meanwhile the request is charged by the limit that is known so far. If the limit has changed, the request is charged
 * again by the new limit.
 */
async function chargeTable(request: Charge, context: LimiterContext): Promise<RateState | undefined> {
  const { accountId } = request;
  if (accountId === undefined) return chargeBucket(request, undefined, context);
  const remembered = context.memory.ownLimits.get(accountId);
  const assumed = await ownLimitFor(request, remembered?.limits, context);
  if (isRecent(remembered, context)) return chargeBucket(request, assumed, context);
  const [read, charged] = await Promise.allSettled([
    readOwnLimits(accountId, context),
    chargeBucket({ ...request, isExact: remembered === undefined }, assumed, context),
  ]);
  if (read.status === "rejected") throw charged.status === "rejected" ? charged.reason : read.reason;
  const own = await ownLimitFor(request, read.value, context);
  if (!isDeepStrictEqual(own, assumed)) return chargeBucket(request, own, context);
  if (charged.status === "rejected") throw charged.reason;
  return charged.value;
}

type RememberedLimits = { limits: OwnLimits; readAt: number };

const isRecent = (
  remembered: RememberedLimits | undefined,
  { now }: Pick<LimiterContext, "now">,
): remembered is RememberedLimits => remembered !== undefined && now().getTime() - remembered.readAt < ownLimitsTtlMs;

/**
 * The own limit that holds for a request; undefined if the limit of the class holds. Asks `isMember` as seldom as
 * possible:
 * - A caller who has a bucket of the own limit is not asked about again, because the caller had access to the account
 *   when the bucket was made.
 * - A caller without access is remembered for `strangerMs`, so that a flood of requests does not ask each time.
 */
async function ownLimitFor(
  request: Charge,
  limits: OwnLimits,
  { memory, now }: Pick<LimiterContext, "memory" | "now">,
): Promise<Limit | undefined> {
  const own = limits?.classes[request.class];
  const name = bucketName(request, own);
  if (own === undefined || request.isMember === undefined || memory.buckets.has(name)) return own;
  if (isStranger(name, memory, now)) return undefined;
  if (await request.isMember()) return own;
  remember(memory.strangers, name, now().getTime() + strangerMs);
  return undefined;
}

const isStranger = (name: string, { strangers }: LimiterMemory, now: () => Date): boolean =>
  now().getTime() < (strangers.get(name) ?? 0);

/** The account's own limit for a class; undefined if the account has the limit of the class. */
export async function ownLimitOf(
  accountId: string,
  name: LimitClass,
  context: LimiterContext,
): Promise<Limit | undefined> {
  const remembered = context.memory.ownLimits.get(accountId);
  const limits = isRecent(remembered, context) ? remembered.limits : await readOwnLimits(accountId, context);
  return limits?.classes[name];
}

/** Reads the own limits of an account, and remembers them for a minute. */
async function readOwnLimits(accountId: string, { table, memory, now }: LimiterContext): Promise<OwnLimits> {
  const limits = await table.get(limitsKey(accountId), OwnLimits);
  remember(memory.ownLimits, accountId, { limits, readAt: now().getTime() });
  return limits;
}

/** Charges a request to the bucket of the account's own limit, or of the class if there is no own limit. */
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
    if (await writeInTurn(bucket, () => writeCharge(name, bucket, limit, request, now, context.table))) {
      return rateState(request, limit, bucket, now);
    }
  }
}

/** Whether this process knows, without asking the table, that `charge` will refuse a request. */
export function isRefused(request: Charge, { memory, now: clock }: Pick<LimiterContext, "memory" | "now">): boolean {
  const { accountId } = request;
  const remembered = accountId === undefined ? undefined : memory.ownLimits.get(accountId);
  if (accountId !== undefined && !isRecent(remembered, { now: clock })) return false;
  const accountLimit = remembered?.limits?.classes[request.class];
  const name = bucketName(request, accountLimit);
  // Chooses the limit as `ownLimitFor` does, but without `isMember`, which may need the table. So nothing is known
  // about a caller who has no bucket of the own limit and is not remembered as a stranger.
  const own = accountLimit && memory.buckets.has(name) ? accountLimit : undefined;
  if (accountLimit && !own && !isStranger(name, memory, clock)) return false;
  if (request.onlyOwn && !own) return false;
  const now = clock().getTime();
  const [, bucket] = bucketOf(request, own, memory);
  const isFull = waitMs(bucket, own ?? limitClasses[request.class], request, now) > 0;
  return isFull && isRefusing(bucket, now) && bucket.writing === undefined;
}

const bucketName = ({ principalId, class: limitClass, accountId }: Charge, own: Limit | undefined): string =>
  [principalId, limitClass, ...(own ? [accountId] : [])].join("#");

/** The name and the bucket of the account's own limit, or of the class if there is no own limit. */
export function bucketOf(
  request: Charge,
  own: Limit | undefined,
  { buckets }: LimiterMemory,
): [name: string, bucket: Bucket] {
  const name = bucketName(request, own);
  return [name, buckets.get(name) ?? remember(buckets, name, newBucket())];
}

/**
 * Runs a write of a bucket after the earlier writes of this process. Later writes of this process wait until this write
 * has ended.
 */
export async function writeInTurn<T>(bucket: Bucket, run: () => Promise<T>): Promise<T> {
  while (bucket.writing) await bucket.writing.catch(() => undefined);
  const writing = run();
  bucket.writing = writing;
  try {
    return await writing;
  } finally {
    bucket.writing = undefined;
  }
}

/** Charges a request to the table. Returns whether the request is accepted. */
async function writeCharge(
  name: string,
  bucket: Bucket,
  limit: Limit,
  request: Charge,
  now: number,
  table: Table,
): Promise<boolean> {
  const { total, leasing } = chargeOf(bucket, limit, request, now);
  const ceiling = ceilingOf(bucket, limit, request, total, now);
  // This write uses the leased requests, so other requests must not use them meanwhile.
  const leased = takeAllLeased(bucket);
  const { done, tat } = await addCharge(name, bucket, { addMs: costMs(limit, total), ceiling, now }, table).finally(
    () => (bucket.leased = leased),
  );
  if (!done) return noteRefused(bucket, limit, request, tat, now);
  noteCharged(bucket, tat, leasing, now);
  return true;
}

/**
 * The milliseconds to add to the arrival time, and the latest arrival time at which these milliseconds fit (`ceiling`).
 */
type Addition = { addMs: number; ceiling: number; now: number };

/** The most tries of one charge to a bucket with reservations, while other processes charge the same bucket. */
const maxChargeTries = 10;

/**
 * Adds a charge to a stored bucket if the charge fits. Returns the arrival time in the table. If the first write
 * succeeds, the time includes the reservations of programs: the answer of this write does not contain the reservations,
 * so they cannot be subtracted. In all other cases the reservations are subtracted.
 */
async function addCharge(
  name: string,
  bucket: Bucket,
  addition: Addition,
  table: Table,
): Promise<{ done: boolean; tat: number }> {
  const { addMs, ceiling, now } = addition;
  let attempt = await table.attempt(chargingWrite(name, bucket.tat, addition));
  if (attempt.done) return { done: true, tat: Number(attempt.updated["tat"]) };
  for (let tries = 1; ; tries++) {
    const stored = Number(attempt.found["tat"] ?? bucket.tat);
    const reserved = reservedMs(reservationsIn(attempt.found));
    const tat = stored - reserved;
    if (reserved === 0 || tat > ceiling || tries > maxChargeTries) return { done: false, tat };
    // Reservations take no room from this request. Without them, the bucket may have been empty for a time before
    // `now`: the idle time. The charge must begin at `now`, so the idle time is added to the arrival time too. The
    // condition on the exact `tat` makes sure that the idle time is added only once.
    const idle = Math.max(0, now - tat);
    attempt = await table.attempt({
      update: rateKey(name),
      set: { ttl: ttlFor(addition, reserved) },
      add: { tat: addMs + idle },
      if: { tat: idle > 0 ? stored : { above: now, atMost: ceiling + reserved } },
    });
    if (attempt.done) return { done: true, tat: Number(attempt.updated["tat"]) - reserved };
  }
}

/**
 * The time until which a bucket is kept after a charge, in seconds since 1970. A full bucket of a low limit drains for
 * longer than an hour. Such a bucket is kept until it is empty, because a bucket that is not stored counts as empty.
 * `reserved` is the part of the arrival time, in milliseconds, that `ceiling` does not include.
 */
const ttlFor = ({ addMs, ceiling, now }: Addition, reserved = 0): number =>
  Math.ceil(Math.max(now + bucketKeptMs, Math.max(now, ceiling) + reserved + addMs) / 1_000);

/**
 * The write that charges a bucket, and adds a reservation if there is one. `tat` is the last known theoretical arrival
 * time of the bucket.
 * - `tat` is not later than `now`: the bucket is empty, and the charge begins at `now`.
 * - `tat` is later than `now`: the charge is added to the arrival time.
 *
 * The condition fails if the stored arrival time is on the other side of `now` than `tat`, or if the charge does not
 * fit.
 */
export function chargingWrite(name: string, tat: number, addition: Addition, reservation?: Reservation): Write {
  const { addMs, ceiling, now } = addition;
  const update = rateKey(name);
  const reserved = reservation ? { [reservation.attribute]: reservation.stored } : {};
  const set = { ...reserved, ttl: ttlFor(addition) };
  const add: Record<string, number> = reservation ? { reservations: 1 } : {};
  return tat <= now
    ? { update, set: { ...set, tat: now + addMs, idle_at: now }, add, if: { absentOr: { tat: { atMost: now } } } }
    : { update, set, add: { ...add, tat: addMs }, if: { tat: { above: now, atMost: ceiling } } };
}

/** The state of a limit, from the bucket as this process knows it. */
export const rateState = (request: Charge, limit: Limit, bucket: Bucket, now: number): RateState => ({
  class: request.class,
  limit,
  remaining: remaining(bucket, limit, now),
  resetSeconds: secondsUntilEmpty(bucket, limit, now),
});

/** The 429 for a request that does not fit into its bucket. A request with a lower cost may fit. */
export class RateLimited extends Problem {
  readonly state: RateState;

  /** `wait` is in milliseconds. */
  constructor(request: Charge, limit: Limit, wait: number, state: RateState) {
    const retryAfter = Math.max(1, Math.ceil(wait / 1000));
    const cost = request.cost + (request.prepaid ?? 0);
    const reason =
      cost === 1
        ? `Too many requests of the class ${request.class}`
        : `This request counts as ${cost} requests of the class ${request.class}, and ${state.remaining} of ${limit.burst} are left`;
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
export const rateStateOf = (error: unknown): RateState | undefined =>
  error instanceof RateLimited ? error.state : undefined;

/**
 * The header fields of draft-ietf-httpapi-ratelimit-headers. The quota is the burst. The window is the time after which
 * a used-up quota is available again.
 */
export function rateHeaders({ class: name, limit, remaining: count, resetSeconds }: RateState): Record<string, string> {
  const windowSeconds = Math.max(1, Math.round((limit.burst * 60) / limit.perMinute));
  return {
    "ratelimit-policy": `"${name}";q=${limit.burst};w=${windowSeconds}`,
    ratelimit: `"${name}";r=${count};t=${resetSeconds}`,
  };
}
