import { randomUUID } from "node:crypto";

import type { Write } from "../table/writes.ts";
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
  bucketTtlSeconds,
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

/** The time after which a reservation ends by itself, in milliseconds. It is longer than a Lambda of an API runs. */
const reservationMs = 35_000;

/** A cost that was charged before it is known. */
export type Reserved = {
  state: RateState | undefined;
  /** Whether the cost was charged to the account's own limit. */
  isOwn: boolean;
  /** Gives back the cost without the part that was used. Never throws: what is not given back ends by itself. */
  settle: (used: number) => Promise<RateState | undefined>;
};

/**
 * Reserves the most that a program can cost. Throws 429 `rate_limited` if there is no room.
 * - The cost is charged to the own limit of the program's account if that allows more than the usual one.
 * - A cost above half of the burst needs only half of the burst.
 */
export async function reserve(request: Charge, context: LimiterContext): Promise<Reserved> {
  const usual = limitClasses[request.class];
  try {
    const { accountId } = request;
    const own = accountId === undefined ? undefined : await ownLimitOf(accountId, request.class, context);
    const isOwn = own !== undefined && own.perMinute >= usual.perMinute && own.burst >= usual.burst;
    return { ...(await reserveIn(isOwn ? own : undefined, request, context)), isOwn };
  } catch (error) {
    if (error instanceof RateLimited || usual.whenTableFails === "closed") throw error;
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
    const reservation = newReservation(id, costMs(limit, cost - taken), now + reservationMs);
    const kept = cost > unreservedCost ? reservation : undefined;
    // The reservation uses the requests charged in advance, so other requests must not use them meanwhile.
    bucket.leased -= taken;
    const attempt = await inTurn(bucket, () =>
      context.table.attempt(reservingWrite(name, tat, { addMs: reservation.ms, kept, ceiling, now })),
    ).catch((error: unknown) => {
      bucket.leased += taken;
      throw error;
    });
    const found = attempt.done ? [] : reservationsIn(attempt.found);
    // A repeated write finds the reservation that its first try made.
    if (attempt.done || found.some(({ attribute }) => attribute === reservation.attribute)) {
      if (attempt.done) Object.assign(bucket, { tat: Number(attempt.updated["tat"]) - (kept?.ms ?? 0), refusedAt: 0 });
      const settle = (used: number) => settleIn(kept, cost - used, { name, bucket, limit, request, context });
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

type Reserving = { addMs: number; kept: Reservation | undefined; ceiling: number; now: number };

function reservingWrite(name: string, tat: number, { addMs, kept, ceiling, now }: Reserving): Write {
  const ttl = Math.ceil(now / 1000) + bucketTtlSeconds;
  const set = { ttl, ...(kept ? { [kept.attribute]: kept.stored } : {}) };
  return tat <= now
    ? { update: rateKey(name), set: { ...set, tat: now + addMs }, if: { absentOr: { tat: { atMost: now } } } }
    : { update: rateKey(name), set, add: { tat: addMs }, if: { tat: { above: now, atMost: ceiling } } };
}

/** The milliseconds until a cost fits. The reservations of other programs end by themselves at the latest. */
function waitOf(tat: number, ceiling: number, others: readonly Reservation[], now: number): number {
  const wait = tat - ceiling;
  if (tat - reservedMs(others) > ceiling) return wait;
  return Math.min(wait, Math.max(...others.map(({ until }) => until)) - now);
}

/** Gives back the reservations of programs that died. Another process may do so at the same time. */
async function removeEnded(name: string, ended: readonly Reservation[], { table }: LimiterContext): Promise<void> {
  await table.attempt({
    update: rateKey(name),
    add: { tat: 0 - reservedMs(ended) },
    remove: ended.map(({ attribute }) => attribute),
    if: Object.fromEntries(ended.map(({ attribute, stored }) => [attribute, stored])),
  });
}

type Place = { name: string; bucket: Bucket; limit: Limit; request: Charge; context: LimiterContext };

async function settleIn(
  reservation: Reservation | undefined,
  unused: number,
  { name, bucket, limit, request, context }: Place,
): Promise<RateState | undefined> {
  if (!reservation && unused <= 0) return undefined;
  const giveBack: Write = {
    update: rateKey(name),
    add: { tat: 0 - costMs(limit, unused) },
    ...(reservation
      ? { remove: [reservation.attribute], if: { [reservation.attribute]: reservation.stored } }
      : { if: "present" }),
  };
  try {
    const attempt = await inTurn(bucket, () => context.table.attempt(giveBack));
    const now = context.now().getTime();
    if (attempt.done) Object.assign(bucket, { tat: Number(attempt.updated["tat"]), refusedAt: 0 });
    return rateState(request, limit, bucket, now);
  } catch (error) {
    context.log.error("reservation not given back", { error: String(error) });
    return undefined;
  }
}
