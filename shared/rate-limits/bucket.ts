import type { Limit } from "./classes.ts";

/*
 * The generic cell rate algorithm (GCRA; ITU-T I.371): one number, the theoretical arrival time, says how full a bucket
 * is. While the caller is far from the limit, a process charges some requests in advance, so that most requests write
 * nothing. The limit is still exact, because these requests are charged already.
 */

/**
 * The part of a bucket's arrival time that a running program may give back: `ms`, stored in an attribute of its own. It
 * ends by itself at `until`, when it would have drained. Times are in milliseconds.
 */
export type Reservation = { attribute: string; stored: string; ms: number; until: number };

const reservedBy = "reserved#";

export const newReservation = (id: string, ms: number, now: number): Reservation => ({
  attribute: reservedBy + id,
  stored: `${ms}/${now}`,
  ms,
  until: now + ms,
});

/**
 * The reservations in the stored item of a bucket, with those that have ended but are not removed. Since the bucket was
 * idle (`idle_at`), those from before are not part of its arrival time.
 */
export const reservationsIn = (item: Readonly<Record<string, string>>): Reservation[] =>
  Object.entries(item)
    .filter(([attribute]) => attribute.startsWith(reservedBy))
    .map(([attribute, stored]) => {
      const [ms = 0, begunAt = 0] = stored.split("/").map(Number);
      return { attribute, stored, ms: begunAt < Number(item["idle_at"] ?? 0) ? 0 : ms, until: begunAt + ms };
    });

/** The sum of reservations. */
export const reservedMs = (reservations: readonly Reservation[]): number =>
  reservations.reduce((sum, { ms }) => sum + ms, 0);

/** What a process knows about one bucket. Times are in milliseconds since 1970. */
export type Bucket = {
  /** The theoretical arrival time as last seen in the table, without reservations; 0 when never seen. */
  tat: number;
  /** When the table last refused a request, and so told the exact state. */
  refusedAt: number;
  /** Requests charged in advance, and until when they may be used. */
  leased: number;
  leasedUntil: number;
  /** Requests that passed but are not charged yet. The next write charges them. */
  owed: number;
  /** The write in progress. Other requests wait for its result. */
  writing?: Promise<unknown> | undefined;
};

export const newBucket = (): Bucket => ({ tat: 0, refusedAt: 0, leased: 0, leasedUntil: 0, owed: 0 });

const leaseMs = 5_000;

/** How long after a refusal a process refuses requests without asking the table. */
const refusingMs = 1_000;

const intervalMs = ({ perMinute }: Limit): number => 60_000 / perMinute;

/** The number of milliseconds by which `cost` moves the arrival time. */
export const costMs = (limit: Limit, cost: number): number => cost * intervalMs(limit);

/** The arrival time as if the owed requests had been charged when they were let through. */
const arrivalOf = ({ tat, owed }: Bucket, limit: Limit): number => tat + costMs(limit, owed);

/** The number of requests charged in advance that can still be used. */
export const leasedOf = ({ leased, leasedUntil }: Bucket, now: number): number => (now < leasedUntil ? leased : 0);

/**
 * The milliseconds until the bucket is empty, not counting the requests charged in advance, because they can still be
 * used.
 */
const fillMs = (bucket: Bucket, limit: Limit, now: number): number =>
  Math.max(0, arrivalOf(bucket, limit) - now - costMs(limit, leasedOf(bucket, now)));

/** The number of requests for which there is room now, including those charged in advance. */
export const remaining = (bucket: Bucket, limit: Limit, now: number): number =>
  Math.max(0, Math.floor(limit.burst - fillMs(bucket, limit, now) / intervalMs(limit)));

/**
 * The seconds until the whole burst is available again. A request of more than the burst makes this longer than the
 * window.
 */
export const secondsUntilFull = (bucket: Bucket, limit: Limit, now: number): number =>
  Math.ceil(fillMs(bucket, limit, now) / 1000);

/** Uses `cost` of the requests charged in advance; false if there are not enough. */
export function takeLeased(bucket: Bucket, cost: number, now: number): boolean {
  if (now >= bucket.leasedUntil || bucket.leased < cost) return false;
  bucket.leased -= cost;
  return true;
}

/** Uses all requests charged in advance, and returns their number. */
export function takeAllLeased(bucket: Bucket): number {
  const { leased } = bucket;
  bucket.leased = 0;
  return leased;
}

/** The charge for a request, how much the request has paid before, and whether nothing is charged in advance. */
type Due = { cost: number; prepaid?: number; isExact?: boolean };

/**
 * The amount that one write charges: the cost without the part charged in advance, plus what is owed. For a single
 * request it charges a few more in advance while half of the burst is left.
 */
export function chargeOf(
  bucket: Bucket,
  limit: Limit,
  { cost, isExact }: Due,
  now: number,
): { total: number; ahead: number } {
  const isFar = cost === 1 && isExact !== true && remaining(bucket, limit, now) > limit.burst / 2;
  const ahead = isFar ? Math.floor(limit.burst / 10) : 0;
  return { total: cost - leasedOf(bucket, now) + ahead + bucket.owed, ahead };
}

/**
 * The latest arrival time at which `cost` still fits. A cost above the burst needs a bucket that contains nothing but
 * `own`.
 */
const latestOf = (limit: Limit, cost: number, own: number, now: number): number =>
  now + Math.max(limit.burst - cost, own) * intervalMs(limit);

/** The latest arrival time at which a write may charge `total`, the result of `chargeOf`. */
export const ceilingOf = (bucket: Bucket, limit: Limit, { prepaid = 0 }: Due, total: number, now: number): number =>
  latestOf(limit, total, prepaid + leasedOf(bucket, now), now);

/**
 * The latest arrival time at which a program may reserve a cost: when the cost fits, or half of the burst is left.
 * `own` is the number of requests in the bucket that the program itself has paid.
 */
export const reservableUntil = (limit: Limit, cost: number, own: number, now: number): number =>
  latestOf(limit, cost, Math.max(own, limit.burst / 2), now);

/**
 * The milliseconds that `cost` has to wait, according to the last known state of the bucket; 0 if it may fit. A smaller
 * cost may fit where a larger one does not. Requests charged in advance count only if they can be used then, and callers
 * wait whole seconds.
 */
export function waitMs(bucket: Bucket, limit: Limit, { cost, prepaid = 0 }: Due, now: number): number {
  const leased = leasedOf(bucket, now);
  const waitWith = (own: number): number =>
    Math.max(0, arrivalOf(bucket, limit) - latestOf(limit, cost - own, prepaid + own, now));
  const wait = waitWith(leased);
  const isLate = now + Math.ceil(wait / 1_000) * 1_000 >= bucket.leasedUntil;
  return wait > 0 && isLate ? waitWith(0) : wait;
}

/**
 * Whether a request without room can be refused without asking the table. Otherwise the known state may be too full: it
 * may contain a reservation, or a program may have given back a part since.
 */
export const isRefusing = ({ refusedAt }: Bucket, now: number): boolean => now - refusedAt < refusingMs;

/** Stores the arrival time that the table has after a charge, with `ahead` requests charged in advance. */
export function noteCharged(bucket: Bucket, tat: number, ahead: number, now: number): void {
  Object.assign(bucket, { tat, refusedAt: 0, owed: 0, leased: ahead, leasedUntil: now + leaseMs });
}

/**
 * Decides about a request whose charge the table refused, by the arrival time in the table without reservations. If it
 * returns true, the request passes, and its cost is owed.
 */
export function noteRefused(bucket: Bucket, limit: Limit, due: Due, tat: number, now: number): boolean {
  Object.assign(bucket, { tat, refusedAt: now });
  if (waitMs(bucket, limit, due, now) > 0) return false;
  Object.assign(bucket, { owed: bucket.owed + due.cost - leasedOf(bucket, now), leased: 0 });
  return true;
}
