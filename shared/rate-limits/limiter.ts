import * as z from "zod";

import { Problem } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Table } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import {
  ceilingOf,
  chargeOf,
  costMs,
  newBucket,
  noteCharged,
  noteRefused,
  remaining,
  secondsUntilFull,
  takeAllLeased,
  takeLeased,
  waitMs,
  type Bucket,
} from "./bucket.ts";
import { limitClasses, limitClassNames, type Limit, type LimitClass } from "./classes.ts";

/*
 * Access patterns
 *   how full a principal's bucket of a class is      RATE#<principal id>#<class>[#<account id>] / RATE
 *   the limits of an account that has its own        ACCOUNT#<id> / LIMITS
 */
const rateKey = (bucket: string): Key => ({ PK: `RATE#${bucket}`, SK: "RATE" });
export const limitsKey = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "LIMITS" });

const OwnLimit = z.object({ perMinute: z.number(), burst: z.int() });
/** The classes for which an account has limits of its own. */
export const AccountLimits = z.object({
  classes: z.object(Object.fromEntries(limitClassNames.map((name) => [name, OwnLimit.optional()]))),
});

/** One request to charge: its principal, the class of its route, its account, and its cost. */
export type Charge = {
  principalId: string;
  class: LimitClass;
  cost: number;
  /** The cost that this request has paid before; `cost` is the rest. */
  prepaid?: number;
  accountId?: string | undefined;
  /** Charges only if the account has a limit of its own, because the request is paid for otherwise. */
  onlyOwn?: boolean;
};

/** The state of a caller's limit after a request, for the headers `RateLimit-Policy` and `RateLimit`. */
export type RateState = { class: LimitClass; limit: Limit; remaining: number; resetSeconds: number };

/** The memory of a process between requests, so that it seldom needs the table. */
export type LimiterMemory = {
  buckets: Map<string, Bucket>;
  ownLimits: Map<string, { limits: z.output<typeof AccountLimits> | undefined; readAt: number }>;
};

export const newLimiterMemory = (): LimiterMemory => ({ buckets: new Map(), ownLimits: new Map() });

const keptBuckets = 10_000;
const ownLimitsForMs = 60_000;
const bucketTtlSeconds = 3_600;

/** Adds an entry to a map. The oldest entry is deleted if the map is full, so that it does not grow for ever. */
function remember<T>(map: Map<string, T>, key: string, value: T): T {
  if (map.size >= keptBuckets) map.delete(map.keys().next().value ?? "");
  map.set(key, value);
  return value;
}

type Place = { table: Table; memory: LimiterMemory; log: Log; now: () => Date };

/**
 * Charges a request to its caller's bucket. Throws 429 `rate_limited` if there is no room. It makes one conditional
 * write at most, and none while the process has requests charged in advance or knows that there is no room. Undefined
 * if there was nothing to charge.
 */
export async function charge(what: Charge, place: Place): Promise<RateState | undefined> {
  try {
    return await chargeTable(what, place);
  } catch (error) {
    if (error instanceof Problem && error.code === "rate_limited") throw error;
    if (limitClasses[what.class].whenTableFails === "closed") throw error;
    place.log.error("rate limit not checked", { class: what.class, error: String(error) });
    const limit = limitClasses[what.class];
    return { class: what.class, limit, remaining: limit.burst, resetSeconds: 0 };
  }
}

async function chargeTable(what: Charge, place: Place): Promise<RateState | undefined> {
  const { limit, own } = await limitOf(what, place);
  if (what.onlyOwn && !own) return undefined;
  const now = place.now().getTime();
  const name = [what.principalId, what.class, ...(own ? [what.accountId] : [])].join("#");
  const bucket = place.memory.buckets.get(name) ?? remember(place.memory.buckets, name, newBucket());
  for (;;) {
    if (takeLeased(bucket, what.cost, now)) return stateOf(what, limit, bucket, now);
    if (bucket.writing) {
      await bucket.writing.catch(() => undefined);
      continue;
    }
    if (waitMs(bucket, limit, what, now) > 0) throw new RateLimited(what, limit, bucket, now);
    const writing = write(name, bucket, limit, what, now, place.table);
    bucket.writing = writing;
    try {
      if (await writing) return stateOf(what, limit, bucket, now);
    } finally {
      bucket.writing = undefined;
    }
  }
}

async function write(
  name: string,
  bucket: Bucket,
  limit: Limit,
  what: Charge,
  now: number,
  table: Table,
): Promise<boolean> {
  const { total, ahead } = chargeOf(bucket, limit, what, now);
  const ceiling = ceilingOf(bucket, limit, what, total, now);
  // Other requests must not use the advance that this write counts on.
  const leased = takeAllLeased(bucket);
  const attempt = await table
    .attempt(writeOf(name, bucket, costMs(limit, total), ceiling, now))
    .finally(() => (bucket.leased = leased));
  if (!attempt.done) return noteRefused(bucket, limit, what, Number(attempt.found["tat"] ?? 0), now);
  noteCharged(bucket, Number(attempt.updated["tat"]), ahead, now);
  return true;
}

/**
 * The write that charges a bucket. An idle bucket begins at `now`; a busy one goes on from its arrival time. Arrival
 * times only grow, so a busy one stays busy.
 */
function writeOf(name: string, { tat }: Bucket, forMs: number, ceiling: number, now: number): Write {
  const ttl = Math.ceil(now / 1000) + bucketTtlSeconds;
  return tat <= now
    ? { update: rateKey(name), set: { tat: now + forMs, ttl }, if: { absentOr: { tat: { atMost: now } } } }
    : { update: rateKey(name), add: { tat: forMs }, set: { ttl }, if: { tat: { atMost: ceiling } } };
}

/** The account's own limit, read once a minute, or else the limit of the class. */
async function limitOf(what: Charge, { table, memory, now }: Place): Promise<{ limit: Limit; own: boolean }> {
  const { accountId } = what;
  if (accountId === undefined) return { limit: limitClasses[what.class], own: false };
  const at = now().getTime();
  const known = memory.ownLimits.get(accountId);
  const fresh = known !== undefined && at - known.readAt < ownLimitsForMs;
  const limits = fresh ? known.limits : await table.get(limitsKey(accountId), AccountLimits);
  if (!fresh) remember(memory.ownLimits, accountId, { limits, readAt: at });
  const own = limits?.classes[what.class];
  return own ? { limit: own, own: true } : { limit: limitClasses[what.class], own: false };
}

const stateOf = (what: Charge, limit: Limit, bucket: Bucket, now: number): RateState => ({
  class: what.class,
  limit,
  remaining: remaining(bucket, limit, now),
  resetSeconds: secondsUntilFull(bucket, limit, now),
});

/** The 429 for a request for which there is no room. A request of a lower cost may still fit. */
class RateLimited extends Problem {
  readonly state: RateState;

  constructor(what: Charge, limit: Limit, bucket: Bucket, now: number) {
    const retryAfter = Math.max(1, Math.ceil(waitMs(bucket, limit, what, now) / 1000));
    const state = stateOf(what, limit, bucket, now);
    const cost = what.cost + (what.prepaid ?? 0);
    const why =
      cost === 1
        ? `Too many requests of the class ${what.class}`
        : `This counts as ${cost} requests of the class ${what.class}, and ${state.remaining} of ${limit.burst} are left`;
    super("rate_limited", `${why}: try again in ${retryAfter} s.`, {
      retry_after: retryAfter,
      limit_class: what.class,
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
 * The header fields of draft-ietf-httpapi-ratelimit-headers. The quota is the burst, and the window is the time in
 * which the burst comes back.
 */
export function rateHeaders({ class: name, limit, remaining: left, resetSeconds }: RateState): Record<string, string> {
  const windowSeconds = Math.max(1, Math.round((limit.burst * 60) / limit.perMinute));
  return {
    "ratelimit-policy": `"${name}";q=${limit.burst};w=${windowSeconds}`,
    ratelimit: `"${name}";r=${left};t=${resetSeconds}`,
  };
}
