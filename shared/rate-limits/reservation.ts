import { randomUUID } from "node:crypto";

import { Problem } from "../core/errors.ts";
import {
  costMs,
  leasedOf,
  newReservation,
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
  inTurn,
  type Charge,
  type LimiterContext,
  ownLimitOf,
  RateLimited,
  rateKey,
  rateState,
  type RateState,
} from "./limiter.ts";

/*
 * A program is charged the most that it can cost before it runs, and gets back what it did not use. Until then its
 * reservation takes no room from other requests, only from other programs.
 */

/** The cost up to which a charge is not worth a reservation: it drains by itself within a second or so. */
const unreservedCost = 10;

/** The number of reservations of one bucket from which on the ended ones are looked for and removed. */
const fewReservations = 25;
/** The most reservations of one bucket, and the most that one write removes. */
const mostReservations = 100;
const removedAtOnce = 25;
/** The most tries to end a reservation while other processes change the bucket. */
const mostTries = 10;

/** A cost that was charged before it is known. */
export type Reserved = {
  state: RateState | undefined;
  /** Whether the cost was charged to the account's own limit. */
  isOwn: boolean;
  /**
   * Gives back the cost without the part that was used. Never throws. What is not given back ends by itself, when the
   * whole cost would have drained.
   */
  settle: (used: number) => Promise<RateState | undefined>;
};

/** A program to charge. `isMember` tells whether its sender has access to its account. */
export type ProgramCharge = Charge & { isMember: () => Promise<boolean> };

/**
 * Reserves the most that a program can cost. Throws 429 `rate_limited` if there is no room.
 * - The cost is charged to the own limit of the program's account if that allows more than the usual one, and the sender
 *   is a member.
 * - A cost above half of the burst needs only half of the burst.
 */
export async function reserve(request: ProgramCharge, context: LimiterContext): Promise<Reserved> {
  const usual = limitClasses[request.class];
  try {
    const { accountId } = request;
    const own = accountId === undefined ? undefined : await ownLimitOf(accountId, request.class, context);
    const isRoomier = own !== undefined && own.perMinute >= usual.perMinute && own.burst >= usual.burst;
    const isOwn = isRoomier && (await request.isMember());
    return { ...(await reserveIn(isOwn ? own : undefined, request, context)), isOwn };
  } catch (error) {
    const isUnavailable = error instanceof Problem && error.code === "upstream_unavailable";
    if (!isUnavailable || usual.whenTableFails === "closed") throw error;
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
  let { tat } = bucket;
  for (;;) {
    const now = context.now().getTime();
    const leased = leasedOf(bucket, now);
    const ceiling = reservableUntil(limit, cost, (own ? 0 : prepaid) + leased, now);
    const taken = Math.min(leased, cost);
    const reservation = newReservation(id, costMs(limit, cost - taken), now);
    const kept = cost > unreservedCost ? reservation : undefined;
    // The reservation uses the requests charged in advance, so other requests must not use them meanwhile.
    bucket.leased -= taken;
    const attempt = await inTurn(bucket, () =>
      context.table.attempt(chargingWrite(name, tat, { addMs: reservation.ms, ceiling, now }, kept)),
    ).catch((error: unknown) => {
      bucket.leased += taken;
      throw error;
    });
    const found = attempt.done ? [] : reservationsIn(attempt.found);
    // A repeated write finds the reservation that its first try made.
    if (attempt.done || found.some(({ attribute }) => attribute === reservation.attribute)) {
      if (attempt.done) Object.assign(bucket, { tat: Number(attempt.updated["tat"]) - (kept?.ms ?? 0), refusedAt: 0 });
      const settle = (used: number) => settleIn(kept, cost - used, { name, bucket, limit, request, context });
      const count = attempt.done ? Number(attempt.updated["reservations"] ?? 0) : 0;
      if (count > fewReservations) await removeEndedIn(name, context);
      if (count > mostReservations) {
        await settle(0);
        throw new RateLimited(request, limit, 1_000, stateAt(bucket.tat, now));
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

  function stateAt(seen: number, now: number): RateState {
    return rateState(request, limit, { ...bucket, tat: seen }, now);
  }
}

/** The milliseconds until a cost fits. The reservations of other programs end by themselves at the latest. */
function waitOf(tat: number, ceiling: number, others: readonly Reservation[], now: number): number {
  const wait = tat - ceiling;
  if (tat - reservedMs(others) > ceiling) return wait;
  return Math.min(wait, Math.max(...others.map(({ until }) => until)) - now);
}

/** A reservation to end, and the part of it to give back, in milliseconds. */
type Ending = { attribute: string; backMs: number };

/**
 * Ends reservations that are still stored, and gives back parts of them, but no time that has passed. Returns the new
 * arrival time; undefined if there was none of them, or other processes change the bucket too often.
 */
async function endReservations(
  name: string,
  ending: readonly Ending[],
  context: LimiterContext,
): Promise<number | undefined> {
  const backs = new Map(ending.map(({ attribute, backMs }) => [attribute, backMs]));
  for (let tries = 0; tries < mostTries; tries++) {
    const { tat: full, reservations } = await readBucket(name, context);
    const own = reservations.filter(({ attribute }) => backs.has(attribute));
    if (own.length === 0) return undefined;
    const others = reservedMs(reservations.filter(({ attribute }) => !backs.has(attribute)));
    const back = own.reduce((sum, { attribute, ms }) => sum + (ms === 0 ? 0 : (backs.get(attribute) ?? 0)), 0);
    const tat = Math.max(full - back, Math.min(full, context.now().getTime() + others));
    const attempt = await context.table.attempt({
      update: rateKey(name),
      set: { tat },
      add: { reservations: 0 - own.length },
      remove: own.map(({ attribute }) => attribute),
      if: { tat: full, ...Object.fromEntries(own.map(({ attribute, stored }) => [attribute, stored])) },
    });
    if (attempt.done) return tat;
  }
  return undefined;
}

async function readBucket(
  name: string,
  { table }: LimiterContext,
): Promise<{ tat: number; reservations: Reservation[] }> {
  const [item = {}] = await table.getMany([rateKey(name)]);
  const { tat = 0, ...rest } = item as Record<string, unknown>;
  const texts = Object.fromEntries(Object.entries(rest).map(([attribute, value]) => [attribute, String(value)]));
  return { tat: Number(tat), reservations: reservationsIn(texts) };
}

/** Ends some reservations of programs that died: all of it may have been used. */
const removeEnded = (
  name: string,
  ended: readonly Reservation[],
  context: LimiterContext,
): Promise<number | undefined> =>
  endReservations(
    name,
    ended.slice(0, removedAtOnce).map(({ attribute, ms }) => ({ attribute, backMs: ms })),
    context,
  );

/** Looks for ended reservations in a stored bucket, and removes some. */
async function removeEndedIn(name: string, context: LimiterContext): Promise<void> {
  const now = context.now().getTime();
  const ended = (await readBucket(name, context)).reservations.filter(({ until }) => until <= now);
  if (ended.length > 0) await removeEnded(name, ended, context);
}

type Place = { name: string; bucket: Bucket; limit: Limit; request: Charge; context: LimiterContext };

async function settleIn(
  reservation: Reservation | undefined,
  unused: number,
  { name, bucket, limit, request, context }: Place,
): Promise<RateState | undefined> {
  if (!reservation && unused <= 0) return undefined;
  const backMs = costMs(limit, unused);
  try {
    const tat = await inTurn(bucket, () =>
      reservation
        ? endReservations(name, [{ attribute: reservation.attribute, backMs }], context)
        : giveBack(name, backMs, context),
    );
    const now = context.now().getTime();
    if (tat !== undefined) Object.assign(bucket, { tat, refusedAt: 0 });
    return rateState(request, limit, bucket, now);
  } catch (error) {
    context.log.error("reservation not given back", { error: String(error) });
    return undefined;
  }
}

/** Gives back a part of a charge that has no reservation. */
async function giveBack(name: string, backMs: number, { table }: LimiterContext): Promise<number | undefined> {
  const attempt = await table.attempt({ update: rateKey(name), add: { tat: 0 - backMs }, if: "present" });
  return attempt.done ? Number(attempt.updated["tat"]) : undefined;
}
