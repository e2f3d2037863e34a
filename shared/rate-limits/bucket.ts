import type { Limit } from "./classes.ts";

/*
 * The generic cell rate algorithm (GCRA; ITU-T I.371). One number, the theoretical arrival time (TAT), tells how full a
 * bucket is. It is the time at which the bucket will be empty if no more requests come. While a caller is far from the
 * limit, a process charges some requests in advance (leased requests), so that most requests write nothing. The limit
 * is still exact, because leased requests are charged already.
 */

/**
 * A reservation of a running program. `ms` is the part of a bucket's arrival time that the program may give back. The
 * bucket's item has an attribute for each reservation, with the value `stored`. At `until` the part has drained, and
 * the reservation ends by itself. Times are in milliseconds.
 */
export type Reservation = { attribute: string; stored: string; ms: number; until: number };

const attributePrefix = "reserved#";

/** A reservation of `ms` milliseconds that begins now. */
export const newReservation = (id: string, ms: number, now: number): Reservation => ({
  attribute: attributePrefix + id,
  stored: `${ms}/${now}`,
  ms,
  until: now + ms,
});

/**
 * The reservations in the stored item of a bucket, including ended reservations that are not removed yet. The bucket
 * was empty at `idle_at`. So a reservation that began before `idle_at` is not a part of the arrival time any more, and
 * its `ms` is 0.
 */
export const reservationsIn = (item: Readonly<Record<string, string>>): Reservation[] =>
  Object.entries(item)
    .filter(([attribute]) => attribute.startsWith(attributePrefix))
    .map(([attribute, stored]) => {
      const [ms = 0, begunAt = 0] = stored.split("/").map(Number);
      return { attribute, stored, ms: begunAt < Number(item["idle_at"] ?? 0) ? 0 : ms, until: begunAt + ms };
    });

/** The milliseconds of all reservations. */
export const reservedMs = (reservations: readonly Reservation[]): number =>
  reservations.reduce((sum, { ms }) => sum + ms, 0);

/** The state of a bucket as a process knows it. Times are in milliseconds since 1970. */
export type Bucket = {
  /**
   * The theoretical arrival time that the table had last; 0 before the first answer of the table. After a charge it may
   * include reservations of running programs, so that less seems to remain. After a refusal it includes none.
   */
  tat: number;
  /** The time of the table's last refusal; 0 if the table has accepted a write since. `tat` is exact at a refusal. */
  refusedAt: number;
  /** The number of leased requests: charged in advance and not used yet. */
  leased: number;
  /** The time until which leased requests can be used. */
  leasedUntil: number;
  /** The number of requests that were accepted but not charged. The next charge of a request includes them. */
  owed: number;
  /** The write in progress. Requests that need a write wait for its result. */
  writing?: Promise<unknown> | undefined;
};

export const newBucket = (): Bucket => ({ tat: 0, refusedAt: 0, leased: 0, leasedUntil: 0, owed: 0 });

/** How long leased requests can be used, in milliseconds. */
const leaseMs = 5_000;

/** How long after a refusal a process refuses requests without asking the table, in milliseconds. */
const refusingMs = 1_000;

const intervalMs = ({ perMinute }: Limit): number => 60_000 / perMinute;

/** The milliseconds by which `cost` moves the arrival time. */
export const costMs = (limit: Limit, cost: number): number => cost * intervalMs(limit);

/** The arrival time after the owed requests are charged. */
const arrivalOf = ({ tat, owed }: Bucket, limit: Limit): number => tat + costMs(limit, owed);

/** The number of leased requests that can be used now. */
export const leasedOf = ({ leased, leasedUntil }: Bucket, now: number): number => (now < leasedUntil ? leased : 0);

/** The milliseconds until the bucket is empty. Leased requests do not count, because they are not used yet. */
const drainMs = (bucket: Bucket, limit: Limit, now: number): number =>
  Math.max(0, arrivalOf(bucket, limit) - now - costMs(limit, leasedOf(bucket, now)));

/** The number of requests that fit into the bucket now. Leased requests count as free. */
export const remaining = (bucket: Bucket, limit: Limit, now: number): number =>
  Math.max(0, Math.floor(limit.burst - drainMs(bucket, limit, now) / intervalMs(limit)));

/**
 * The seconds until the bucket is empty, and the whole burst is available again. After a cost above the burst this can
 * exceed the window of `RateLimit-Policy`.
 */
export const secondsUntilEmpty = (bucket: Bucket, limit: Limit, now: number): number =>
  Math.ceil(drainMs(bucket, limit, now) / 1000);

/** Uses `cost` leased requests; false if there are not enough. */
export function takeLeased(bucket: Bucket, cost: number, now: number): boolean {
  if (leasedOf(bucket, now) < cost) return false;
  bucket.leased -= cost;
  return true;
}

/** Uses all leased requests, and returns their number. */
export function takeAllLeased(bucket: Bucket): number {
  const { leased } = bucket;
  bucket.leased = 0;
  return leased;
}

/**
 * A cost to charge. `prepaid` is the cost that was charged earlier for the same request. `cost` does not include it.
 * With `isExact`, nothing is charged in advance.
 */
type CostToCharge = { cost: number; prepaid?: number; isExact?: boolean };

/**
 * The number of requests that one write charges (`total`): the cost minus the leased requests, plus the owed requests,
 * plus the requests to lease (`leasing`). If the cost is 1 and not exact, and more than half of the burst is left, the
 * write leases a tenth of the burst.
 */
export function chargeOf(
  bucket: Bucket,
  limit: Limit,
  { cost, isExact }: CostToCharge,
  now: number,
): { total: number; leasing: number } {
  const isFar = cost === 1 && isExact !== true && remaining(bucket, limit, now) > limit.burst / 2;
  const leasing = isFar ? Math.floor(limit.burst / 10) : 0;
  return { total: cost - leasedOf(bucket, now) + leasing + bucket.owed, leasing };
}

/**
 * The latest arrival time at which `cost` fits into the bucket. `alreadyCharged` is the part of the bucket that was
 * charged for the same request. A cost above the burst fits if the bucket contains nothing else.
 */
const latestOf = (limit: Limit, cost: number, alreadyCharged: number, now: number): number =>
  now + Math.max(limit.burst - cost, alreadyCharged) * intervalMs(limit);

/** The latest arrival time at which a write may charge `total`, which is the result of `chargeOf`. */
export const ceilingOf = (
  bucket: Bucket,
  limit: Limit,
  { prepaid = 0 }: CostToCharge,
  total: number,
  now: number,
): number => latestOf(limit, total, prepaid + leasedOf(bucket, now), now);

/**
 * The latest arrival time at which a program can reserve a cost. At this time the cost fits into the bucket, or half of
 * the burst is left. `alreadyCharged` is the part of the bucket that was charged for the program.
 */
export const reservableUntil = (limit: Limit, cost: number, alreadyCharged: number, now: number): number =>
  latestOf(limit, cost, Math.max(alreadyCharged, limit.burst / 2), now);

/**
 * The milliseconds that `cost` has to wait, by the last known state of the bucket; 0 if the cost may fit. Leased
 * requests shorten the wait only if they can still be used after it. Callers wait whole seconds, so the wait is rounded
 * up for this comparison.
 */
export function waitMs(bucket: Bucket, limit: Limit, { cost, prepaid = 0 }: CostToCharge, now: number): number {
  const waitWith = (leased: number): number =>
    Math.max(0, arrivalOf(bucket, limit) - latestOf(limit, cost - leased, prepaid + leased, now));
  const wait = waitWith(leasedOf(bucket, now));
  const isLeaseOver = now + Math.ceil(wait / 1_000) * 1_000 >= bucket.leasedUntil;
  return wait > 0 && isLeaseOver ? waitWith(0) : wait;
}

/**
 * Whether the last refusal is so recent that a request that does not fit can be refused without asking the table.
 * Later, the bucket may have become emptier than this process knows, because programs give back unused costs.
 */
export const isRefusing = ({ refusedAt }: Bucket, now: number): boolean => now - refusedAt < refusingMs;

/** Notes the arrival time in the table after a write that was accepted. */
export function noteArrival(bucket: Bucket, tat: number): void {
  bucket.tat = tat;
  bucket.refusedAt = 0;
}

/** Notes a charge: the new arrival time in the table, and the number of requests that the charge leased (`leasing`). */
export function noteCharged(bucket: Bucket, tat: number, leasing: number, now: number): void {
  noteArrival(bucket, tat);
  bucket.owed = 0;
  bucket.leased = leasing;
  bucket.leasedUntil = now + leaseMs;
}

/**
 * Notes that the table refused a charge. `tat` is the arrival time in the table without reservations. Returns whether
 * the cost fits with this arrival time. If so, the request is accepted, and its cost is owed.
 */
export function noteRefused(bucket: Bucket, limit: Limit, due: CostToCharge, tat: number, now: number): boolean {
  bucket.tat = tat;
  bucket.refusedAt = now;
  if (waitMs(bucket, limit, due, now) > 0) return false;
  bucket.owed += due.cost - leasedOf(bucket, now);
  bucket.leased = 0;
  return true;
}
