import type { Limit } from "./classes.ts";

/*
 * The generic cell rate algorithm (GCRA; ITU-T I.371): one number, the theoretical arrival time, says
 * how full a bucket is. A process takes some requests in advance while the caller is far from the limit,
 * so that most requests write nothing; what it took is charged already, so the limit holds.
 */

/** What a process knows of one bucket. Times are milliseconds of the epoch. */
export type Bucket = {
  /** The theoretical arrival time as last seen in the table; 0 when never seen. */
  tat: number;
  /** Requests charged in advance, and until when they may be used. */
  leased: number;
  leasedUntil: number;
  /** Requests let through that are not charged yet: the next write does. */
  owed: number;
  /** The write under way; who asks meanwhile waits for what it brings. */
  writing?: Promise<unknown> | undefined;
};

export const newBucket = (): Bucket => ({ tat: 0, leased: 0, leasedUntil: 0, owed: 0 });

const leaseMs = 5_000;

const intervalMs = ({ perMinute }: Limit): number => 60_000 / perMinute;

/** How much the arrival time moves for `cost`. */
export const costMs = (limit: Limit, cost: number): number => cost * intervalMs(limit);

/** The arrival time as it would be if what is owed had been charged when it was let through. */
const arrivalOf = ({ tat, owed }: Bucket, limit: Limit): number => tat + costMs(limit, owed);

/** What was taken in advance and may still be used. */
const leasedOf = ({ leased, leasedUntil }: Bucket, now: number): number => (now < leasedUntil ? leased : 0);

/** In how many milliseconds the bucket is empty, without what was taken in advance: that can still be used. */
const fillMs = (bucket: Bucket, limit: Limit, now: number): number =>
  Math.max(0, arrivalOf(bucket, limit) - now - costMs(limit, leasedOf(bucket, now)));

/** How many requests there is room for now, those taken in advance included. */
export const remaining = (bucket: Bucket, limit: Limit, now: number): number =>
  Math.max(0, Math.floor(limit.burst - fillMs(bucket, limit, now) / intervalMs(limit)));

/** In how many seconds the whole burst is there again; one request above the burst fills more than it. */
export const secondsUntilFull = (bucket: Bucket, limit: Limit, now: number): number =>
  Math.ceil(fillMs(bucket, limit, now) / 1000);

/** Takes `cost` from what was charged in advance; false when there is not enough. */
export function takeLeased(bucket: Bucket, cost: number, now: number): boolean {
  if (now >= bucket.leasedUntil || bucket.leased < cost) return false;
  bucket.leased -= cost;
  return true;
}

/** Takes all that was charged in advance, and answers how much that is. */
export function takeAllLeased(bucket: Bucket): number {
  const { leased } = bucket;
  bucket.leased = 0;
  return leased;
}

/** What a request is to be charged, and how much of it the request has paid before that. */
type Due = { cost: number; prepaid?: number };

/**
 * What one write charges: the cost but for what was taken in advance, what is owed, and for a single request a few more
 * while half of the burst is left.
 */
export function chargeOf(bucket: Bucket, limit: Limit, { cost }: Due, now: number): { total: number; ahead: number } {
  const isFar = cost === 1 && remaining(bucket, limit, now) > limit.burst / 2;
  const ahead = isFar ? Math.floor(limit.burst / 10) : 0;
  return { total: cost - leasedOf(bucket, now) + ahead + bucket.owed, ahead };
}

/** The latest arrival time at which `cost` still fits; one above the burst needs a bucket with nothing in it but `own`. */
const latestOf = (limit: Limit, cost: number, own: number, now: number): number =>
  now + Math.max(limit.burst - cost, own) * intervalMs(limit);

/** The latest arrival time at which a write may charge `total`, which is what `chargeOf` says. */
export const ceilingOf = (bucket: Bucket, limit: Limit, { prepaid = 0 }: Due, total: number, now: number): number =>
  latestOf(limit, total, prepaid + leasedOf(bucket, now), now);

/**
 * How long `cost` has to wait by what is known of the bucket; 0 when it may fit. Arrival times in the table only grow, so
 * who has to wait by an old one has to wait; a smaller cost may have room where a larger one has none.
 */
export const waitMs = (bucket: Bucket, limit: Limit, due: Due, now: number): number =>
  Math.max(0, arrivalOf(bucket, limit) - ceilingOf(bucket, limit, due, due.cost - leasedOf(bucket, now), now));

/** Notes what the table says once it has charged, with `ahead` requests in advance. */
export function noteCharged(bucket: Bucket, tat: number, ahead: number, now: number): void {
  Object.assign(bucket, { tat, owed: 0, leased: ahead, leasedUntil: now + leaseMs });
}

/**
 * Decides from the arrival time that stood in the table when it refused to charge: true lets `cost` pass
 * and owes it.
 */
export function noteRefused(bucket: Bucket, limit: Limit, due: Due, tat: number, now: number): boolean {
  bucket.tat = Math.max(bucket.tat, tat);
  if (waitMs(bucket, limit, due, now) > 0) return false;
  Object.assign(bucket, { owed: bucket.owed + due.cost - leasedOf(bucket, now), leased: 0 });
  return true;
}
