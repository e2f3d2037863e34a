import { randomUUID } from "node:crypto";

import { Problem } from "../core/errors.ts";
import {
  costMs,
  leasedOf,
  newReservation,
  noteArrival,
  reservableUntil,
  reservationsIn,
  reservedMs,
  type Bucket,
  type Reservation,
} from "./bucket.ts";
import { limitClasses, type Limit } from "./classes.ts";
import {
  bucketOf,
  chargingWrite,
  writeInTurn,
  type Charge,
  type LimiterContext,
  ownLimitOf,
  RateLimited,
  rateKey,
  rateState,
  type RateState,
} from "./limiter.ts";

/*
 * Before a program runs, it is charged its greatest possible cost. After the run it gets back the unused part. During
 * the run, its reservation takes room from other programs, but not from other requests. A small cost has no reservation
 * (`unreservedCost`).
 */

/**
 * The highest cost that is charged without a reservation. At 600 requests per minute, such a cost drains by itself in a
 * second.
 */
const unreservedCost = 10;

/** If a bucket has more reservations than this, ended reservations are removed. */
const cleanUpAbove = 25;
/** The most reservations of one bucket. */
const maxReservations = 100;
/** The most reservations that one write removes. */
const maxRemovals = 25;
/** How long a program has to wait if its bucket has too many reservations, in milliseconds. */
const fullWaitMs = 1_000;
/** The most tries to end a reservation while other processes change the bucket. */
const maxEndTries = 10;

/** The reservation of a program's cost. */
export type Reserved = {
  /** The state of the limit; undefined if the table failed and the program runs without a reservation. */
  state: RateState | undefined;
  /** Whether the cost was charged to the account's own limit. */
  isOwn: boolean;
  /**
   * Ends the reservation, and gives back the cost minus `used`. Never throws. If the call fails or is never made, the
   * reservation ends by itself when the whole cost has drained.
   */
  settle: (used: number) => Promise<RateState | undefined>;
};

/** A program to charge. `isMember` tells whether the sender of the program has access to the program's account. */
export type ProgramCharge = Charge & { isMember: () => Promise<boolean> };

/**
 * Reserves the greatest possible cost of a program. Throws 429 `rate_limited` if the cost does not fit.
 * - The cost is charged to the own limit of the program's account under two conditions: the sender is a member, and the
 *   own limit allows at least as much as the limit of the class.
 * - A cost above half of the burst fits as soon as half of the burst is left.
 */
export async function reserve(request: ProgramCharge, context: LimiterContext): Promise<Reserved> {
  const classLimit = limitClasses[request.class];
  try {
    const { accountId } = request;
    const own = accountId === undefined ? undefined : await ownLimitOf(accountId, request.class, context);
    const isLarger = own !== undefined && own.perMinute >= classLimit.perMinute && own.burst >= classLimit.burst;
    const isOwn = isLarger && (await request.isMember());
    return { ...(await reserveIn(isOwn ? own : undefined, request, context)), isOwn };
  } catch (error) {
    const isUnavailable = error instanceof Problem && error.code === "upstream_unavailable";
    if (!isUnavailable || classLimit.whenTableFails === "closed") throw error;
    context.log.error("rate limit not checked", { class: request.class, error: String(error) });
    return { state: undefined, isOwn: false, settle: async () => undefined };
  }
}

async function reserveIn(
  own: Limit | undefined,
  request: Charge,
  context: LimiterContext,
): Promise<Omit<Reserved, "isOwn">> {
  const { cost, prepaid = 0 } = request;
  const limit = own ?? limitClasses[request.class];
  const [name, bucket] = bucketOf(request, own, context.memory);
  const id = randomUUID();
  const stateAt = (tatSeen: number, now: number) => rateState(request, limit, { ...bucket, tat: tatSeen }, now);
  let { tat } = bucket;
  for (;;) {
    const now = context.now().getTime();
    const leased = leasedOf(bucket, now);
    const ceiling = reservableUntil(limit, cost, (own ? 0 : prepaid) + leased, now);
    const taken = Math.min(leased, cost);
    const reservation = newReservation(id, costMs(limit, cost - taken), now);
    const toStore = cost > unreservedCost ? reservation : undefined;
    // The reservation uses the leased requests, so other requests must not use them meanwhile.
    bucket.leased -= taken;
    const attempt = await writeInTurn(bucket, () =>
      context.table.attempt(chargingWrite(name, tat, { addMs: reservation.ms, ceiling, now }, toStore)),
    ).catch((error: unknown) => {
      bucket.leased += taken;
      throw error;
    });
    const found = attempt.done ? [] : reservationsIn(attempt.found);
    // If the response to a write was lost, the client repeats the write. The condition of the second write can fail,
    // and the item that it finds has the reservation of the first write. Then the first write has charged the cost.
    if (attempt.done || found.some(({ attribute }) => attribute === reservation.attribute)) {
      if (attempt.done) noteArrival(bucket, Number(attempt.updated["tat"]) - (toStore?.ms ?? 0));
      const settle = (used: number) => settleIn(toStore, cost - used, { name, bucket, limit, request, context });
      const count = attempt.done ? Number(attempt.updated["reservations"] ?? 0) : 0;
      if (count > cleanUpAbove) await removeEndedIn(name, context);
      if (count > maxReservations) {
        await settle(0);
        throw new RateLimited(request, limit, fullWaitMs, stateAt(bucket.tat, now));
      }
      return { state: rateState(request, limit, bucket, now), settle };
    }
    bucket.leased += taken;
    tat = Number(attempt.found["tat"] ?? 0);
    if (tat <= ceiling) continue;
    const ended = found.filter(({ until }) => until <= now);
    if (ended.length === 0) throw new RateLimited(request, limit, waitOf(tat, ceiling, found, now), stateAt(tat, now));
    await removeEnded(name, ended, context);
  }
}

/**
 * The milliseconds until a cost fits: when enough has drained, or when the reservations of other programs have ended.
 */
function waitOf(tat: number, ceiling: number, others: readonly Reservation[], now: number): number {
  const wait = tat - ceiling;
  if (tat - reservedMs(others) > ceiling) return wait;
  return Math.min(wait, Math.max(...others.map(({ until }) => until)) - now);
}

/** A reservation to end, and the part of the reservation to give back, in milliseconds. */
type Ending = { attribute: string; backMs: number };

/**
 * Ends reservations that are still stored, and gives back parts of them. The arrival time does not fall below the
 * present time plus the reservations of other programs. Returns the new arrival time; undefined if none of the
 * reservations is stored, or if other processes change the bucket too often.
 */
async function endReservations(
  name: string,
  ending: readonly Ending[],
  context: LimiterContext,
): Promise<number | undefined> {
  const backMsOf = new Map(ending.map(({ attribute, backMs }) => [attribute, backMs]));
  for (let tries = 0; tries < maxEndTries; tries++) {
    const { tat: storedTat, count, reservations } = await readBucket(name, context);
    const toEnd = reservations.filter(({ attribute }) => backMsOf.has(attribute));
    if (toEnd.length === 0) return undefined;
    const othersMs = reservedMs(reservations.filter(({ attribute }) => !backMsOf.has(attribute)));
    const backs = toEnd.map(({ attribute, ms }) => (ms === 0 ? 0 : (backMsOf.get(attribute) ?? 0)));
    const backMs = backs.reduce((sum, ms) => sum + ms, 0);
    const lowest = context.now().getTime() + othersMs;
    const tat = Math.max(storedTat - backMs, Math.min(storedTat, lowest));
    const attempt = await context.table.attempt({
      update: rateKey(name),
      // A write whose answer is lost is repeated, and can raise the count twice for one reservation. So the count is
      // set to the number of stored reservations.
      set: { tat, reservations: reservations.length - toEnd.length },
      remove: toEnd.map(({ attribute }) => attribute),
      if: {
        tat: storedTat,
        reservations: count,
        ...Object.fromEntries(toEnd.map(({ attribute, stored }) => [attribute, stored])),
      },
    });
    if (attempt.done) return tat;
  }
  return undefined;
}

async function readBucket(
  name: string,
  { table }: LimiterContext,
): Promise<{ tat: number; count: number; reservations: Reservation[] }> {
  const [item = {}] = await table.getMany([rateKey(name)]);
  const { tat = 0, ...rest } = item as Record<string, unknown>;
  const texts = Object.fromEntries(Object.entries(rest).map(([attribute, value]) => [attribute, String(value)]));
  return { tat: Number(tat), count: Number(texts["reservations"]), reservations: reservationsIn(texts) };
}

/** Removes up to 25 ended reservations. Such a reservation is still stored, because its program did not settle it. */
const removeEnded = (
  name: string,
  ended: readonly Reservation[],
  context: LimiterContext,
): Promise<number | undefined> =>
  endReservations(
    name,
    ended.slice(0, maxRemovals).map(({ attribute, ms }) => ({ attribute, backMs: ms })),
    context,
  );

/** Reads a stored bucket, and removes up to 25 ended reservations. */
async function removeEndedIn(name: string, context: LimiterContext): Promise<void> {
  const now = context.now().getTime();
  const ended = (await readBucket(name, context)).reservations.filter(({ until }) => until <= now);
  if (ended.length > 0) await removeEnded(name, ended, context);
}

type SettleContext = { name: string; bucket: Bucket; limit: Limit; request: Charge; context: LimiterContext };

async function settleIn(
  reservation: Reservation | undefined,
  unused: number,
  { name, bucket, limit, request, context }: SettleContext,
): Promise<RateState | undefined> {
  if (!reservation && unused <= 0) return undefined;
  const backMs = costMs(limit, unused);
  try {
    const tat = await writeInTurn(bucket, () =>
      reservation
        ? endReservations(name, [{ attribute: reservation.attribute, backMs }], context)
        : giveBack(name, backMs, context),
    );
    const now = context.now().getTime();
    if (tat !== undefined) noteArrival(bucket, tat);
    return rateState(request, limit, bucket, now);
  } catch (error) {
    context.log.error("reservation not given back", { error: String(error) });
    return undefined;
  }
}

/** Gives back a part of a charge without a reservation. Returns the new arrival time. */
async function giveBack(name: string, backMs: number, { table }: LimiterContext): Promise<number | undefined> {
  const attempt = await table.attempt({ update: rateKey(name), add: { tat: 0 - backMs }, if: "present" });
  return attempt.done ? Number(attempt.updated["tat"]) : undefined;
}
