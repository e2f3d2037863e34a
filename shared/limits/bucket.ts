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
  /** Until when the table said no. */
  deniedUntil: number;
  /** The write under way; who asks meanwhile waits for what it brings. */
  writing?: Promise<unknown> | undefined;
};

export const newBucket = (): Bucket => ({ tat: 0, leased: 0, leasedUntil: 0, owed: 0, deniedUntil: 0 });

const leaseMs = 5_000;

const intervalMs = ({ perMinute }: Limit): number => 60_000 / perMinute;

/** How many requests there is room for now, those taken in advance included. */
export function remaining(bucket: Bucket, limit: Limit, now: number): number {
  const free = limit.burst - Math.max(0, bucket.tat - now) / intervalMs(limit) - bucket.owed;
  const leased = now < bucket.leasedUntil ? bucket.leased : 0;
  return Math.max(0, Math.floor(Math.min(limit.burst, free + leased)));
}

/** Takes `cost` from what was charged in advance; false when there is not enough. */
export function takeLeased(bucket: Bucket, cost: number, now: number): boolean {
  if (now >= bucket.leasedUntil || bucket.leased < cost) return false;
  bucket.leased -= cost;
  return true;
}

/** What one write charges: the cost, what is owed, and for a single request a few more while half of the burst is left. */
export function chargeOf(bucket: Bucket, limit: Limit, cost: number, now: number): { total: number; ahead: number } {
  const isFar = cost === 1 && remaining(bucket, limit, now) > limit.burst / 2;
  const ahead = isFar ? Math.floor(limit.burst / 10) : 0;
  return { total: cost + ahead + bucket.owed, ahead };
}

/** The latest arrival time at which `cost` still fits; a cost above the burst needs an empty bucket. */
export const ceilingOf = (limit: Limit, cost: number, now: number): number =>
  now + (limit.burst - Math.min(cost, limit.burst)) * intervalMs(limit);

/** How much the arrival time moves for `cost`. */
export const costMs = (limit: Limit, cost: number): number => cost * intervalMs(limit);

/** Notes what the table says once it has charged, with `ahead` requests in advance. */
export function noteCharged(bucket: Bucket, tat: number, ahead: number, now: number): void {
  Object.assign(bucket, { tat, owed: 0, leased: ahead, leasedUntil: now + leaseMs });
}

/**
 * Decides from the arrival time that stood in the table when it refused to charge: true lets `cost` pass
 * and owes it, false notes until when to say no.
 */
export function noteRefused(bucket: Bucket, limit: Limit, cost: number, tat: number, now: number): boolean {
  bucket.tat = Math.max(bucket.tat, tat);
  const effective = Math.max(bucket.tat, now) + costMs(limit, bucket.owed);
  const ceiling = ceilingOf(limit, cost, now);
  if (effective <= ceiling) {
    bucket.owed += cost;
    return true;
  }
  bucket.deniedUntil = now + (effective - ceiling);
  return false;
}
