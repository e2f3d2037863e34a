import { describe, expect, test } from "vitest";

import {
  ceilingOf,
  chargeOf,
  costMs,
  isRefusing,
  newBucket,
  noteCharged,
  noteRefused,
  remaining,
  secondsUntilEmpty,
  takeAllLeased,
  takeLeased,
  waitMs,
  type Bucket,
} from "../../../shared/rate-limits/bucket.ts";

/** A limit of one request every 100 ms, and of 100 requests at once. */
const limit = { perMinute: 600, burst: 100 };
const now = 1_000_000;
const bucket = (more: Partial<Bucket> = {}): Bucket => ({ ...newBucket(), ...more });
/** A bucket in which `count` requests count. */
const filled = (count: number, more: Partial<Bucket> = {}) => bucket({ tat: now + count * 100, ...more });
const leased = (count: number) => ({ leased: count, leasedUntil: now + 1 });

test("a new bucket is empty, and each request in a bucket takes room until its time is over", () => {
  expect([remaining(bucket(), limit, now), secondsUntilEmpty(bucket(), limit, now)]).toEqual([100, 0]);
  expect([remaining(filled(30), limit, now), secondsUntilEmpty(filled(30), limit, now)]).toEqual([70, 3]);
  expect([remaining(filled(31), limit, now + 50), secondsUntilEmpty(filled(31), limit, now + 50)]).toEqual([69, 4]);
  expect([remaining(filled(240), limit, now), secondsUntilEmpty(filled(240), limit, now)]).toEqual([0, 24]);
  expect(costMs(limit, 3)).toBe(300);
});

test("owed requests take room, and leased requests give room until the lease ends", () => {
  expect(remaining(filled(30, { owed: 5 }), limit, now)).toBe(65);
  expect(remaining(filled(30, leased(10)), limit, now)).toBe(80);
  expect(remaining(filled(30, leased(10)), limit, now + 1)).toBe(70);
  expect(remaining(filled(5, leased(10)), limit, now)).toBe(100);
});

describe("leased requests", () => {
  test("can be spent until the lease ends, up to their number", () => {
    const one = filled(0, leased(3));
    expect([takeLeased(one, 2, now), takeLeased(one, 2, now), takeLeased(one, 1, now)]).toEqual([true, false, true]);
    expect([one.leased, takeLeased(one, 1, now)]).toEqual([0, false]);
    expect(takeLeased(filled(0, leased(3)), 1, now + 1)).toBe(false);
  });

  test("can be taken back all at once", () => {
    const one = filled(0, leased(3));
    expect([takeAllLeased(one), one.leased]).toEqual([3, 0]);
  });

  test("last five seconds from their charge", () => {
    const one = filled(9, { owed: 4 });
    noteCharged(one, now + 500, 10, now);
    expect(one).toEqual({ tat: now + 500, refusedAt: 0, owed: 0, leased: 10, leasedUntil: now + 5_000 });
  });
});

describe("the charge of one write", () => {
  test("is a tenth of the burst higher for one request, while more than half of the burst is left", () => {
    expect(chargeOf(filled(49), limit, { cost: 1 }, now)).toEqual({ total: 11, leasing: 10 });
    expect(chargeOf(filled(50), limit, { cost: 1 }, now)).toEqual({ total: 1, leasing: 0 });
    expect(chargeOf(filled(0), limit, { cost: 2 }, now)).toEqual({ total: 2, leasing: 0 });
    expect(chargeOf(bucket(), { perMinute: 60, burst: 15 }, { cost: 1 }, now)).toEqual({ total: 2, leasing: 1 });
  });

  test("includes owed requests, and is reduced by leased requests", () => {
    expect(chargeOf(filled(60, { owed: 3, ...leased(4) }), limit, { cost: 20 }, now)).toEqual({
      total: 19,
      leasing: 0,
    });
  });

  test("must fit into the burst, and a cost above the burst needs an empty bucket", () => {
    expect(ceilingOf(bucket(), limit, { cost: 20 }, 20, now)).toBe(now + 8_000);
    expect(ceilingOf(bucket(), limit, { cost: 240 }, 240, now)).toBe(now);
    expect(ceilingOf(filled(7, leased(5)), limit, { cost: 240, prepaid: 2 }, 235, now)).toBe(now + 700);
  });
});

describe("a request without room", () => {
  test("waits until there is room for its whole cost", () => {
    expect(waitMs(filled(80), limit, { cost: 20 }, now)).toBe(0);
    expect(waitMs(filled(80), limit, { cost: 21 }, now)).toBe(100);
    expect(waitMs(filled(80, { owed: 5 }), limit, { cost: 20 }, now)).toBe(500);
    expect(waitMs(filled(80, leased(10)), limit, { cost: 30 }, now)).toBe(0);
    expect(waitMs(filled(80), limit, { cost: 500 }, now)).toBe(8_000);
    expect(waitMs(filled(80), limit, { cost: 500, prepaid: 80 }, now)).toBe(0);
  });

  test("is accepted and owes its cost, if the table refused it only because of leased requests", () => {
    const one = filled(10, { owed: 2, ...leased(3) });
    expect(noteRefused(one, limit, { cost: 5 }, now + 6_000, now)).toBe(true);
    expect(one).toMatchObject({ tat: now + 6_000, owed: 4, leased: 0 });
  });

  test("is refused without asking the table for a second after its state was seen", () => {
    const one = filled(100);
    noteRefused(one, limit, { cost: 1 }, now + 10_000, now);
    expect([isRefusing(one, now + 999), isRefusing(one, now + 1_000), isRefusing(newBucket(), now)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("is refused if the table has no room, and accepted if the table has become emptier", () => {
    const one = filled(10);
    expect(noteRefused(one, limit, { cost: 5 }, now + 9_600, now)).toBe(false);
    expect(one).toMatchObject({ tat: now + 9_600, owed: 0 });
    const known = filled(50);
    expect(noteRefused(known, limit, { cost: 5 }, now, now)).toBe(true);
    expect([known.tat, known.owed]).toEqual([now, 5]);
  });
});
