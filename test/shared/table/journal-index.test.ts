import { randomUUID } from "node:crypto";

import fc from "fast-check";
import { expect, test } from "vitest";

import { timeOf, timeOrderedId } from "../../../shared/core/ids.ts";
import { dayMs, hourMs, minuteMs } from "../../../shared/core/time.ts";
import type { Journal } from "../../../shared/table/journal-keys.ts";
import { appendEntries, indexEntries, readEntries } from "../../../shared/table/journal.ts";
import { testTable } from "../../support/world.ts";

const usage = { readUnits: 0, writeUnits: 0, calls: 0 };
const table = testTable(usage);

// In the future, so that the engine does not remove the entries by their TTL.
const midnightMs = Date.parse("2100-03-01T00:00:00.000Z");
const newJournal = (): Journal => ({ partition: `TEST#${randomUUID()}`, name: "entries", retentionDays: 60 });

async function append(journal: Journal, ids: readonly string[], now: Date): Promise<void> {
  const rows = ids.map((id) => ({ id }));
  await table.commit(async () => ({ value: undefined, writes: appendEntries(journal, rows, now) }));
}

const index = (journal: Journal, now: Date) =>
  indexEntries(table, journal, { since: new Date(now.getTime() - dayMs) }, now);

const newestFirst = (ids: readonly string[]): string[] => ids.toSorted((a, b) => (a < b ? 1 : -1));

const lagMs = fc.constantFrom(0, 1, 20_000, 60_000, 3 * hourMs);
const time = fc.option(fc.integer({ min: -hourMs, max: dayMs + hourMs }), { nil: undefined });
const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ append: fc.integer({ min: 1, max: 95 }), lagMs, stepMs: fc.constantFrom(0, 1, 90) }),
  },
  { weight: 2, arbitrary: fc.record({ waitMs: fc.constantFrom(1, 20_000, minuteMs, 2 * minuteMs, 7 * hourMs) }) },
  { weight: 2, arbitrary: fc.constant("index" as const) },
  { weight: 4, arbitrary: fc.record({ skip: fc.double({ min: 0, max: 1, noNaN: true }), since: time, until: time }) },
);

test(
  "the pages of a journal are those of a sorted array, before and after a day is indexed",
  { timeout: 60_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 10, maxLength: 40, size: "max" }), async (commands) => {
        const journal = newJournal();
        let nowMs = midnightMs + 4 * hourMs;
        let model: string[] = [];
        for (const step of commands) {
          const now = new Date(nowMs);
          if (step === "index") await index(journal, now);
          else if ("waitMs" in step) nowMs += step.waitMs;
          else if ("append" in step) {
            const at = (place: number) => new Date(nowMs - step.lagMs + place * step.stepMs);
            const ids = Array.from({ length: step.append }, (_, place) => timeOrderedId(at(place)));
            await append(journal, ids, now);
            model = newestFirst([...model, ...ids]);
          } else {
            const [since, until] = [step.since, step.until].map((ms) =>
              ms === undefined ? ms : new Date(midnightMs + ms),
            );
            const isIn = (id: string): boolean => {
              const at = timeOf(id) ?? now;
              return (!since || at >= since) && (!until || at < until);
            };
            const expected = model.filter(isIn);
            const skip = Math.floor(step.skip * expected.length);
            const span = { ...(since ? { since } : {}), ...(until ? { until } : {}) };
            const { rows, total } = await readEntries(table, journal, { skip, take: 40, ...span }, now);
            expect(total).toBe(expected.length);
            expect(rows.map(({ id }) => id)).toEqual(expected.slice(skip, skip + 40));
          }
        }
      }),
      { numRuns: 40 },
    );
  },
);

/** A journal with 98 entries in each burst of a day, and a time after this day. A burst is in one millisecond. */
async function fullDay(bursts = 100) {
  const journal = newJournal();
  const ids: string[] = [];
  for (let burst = 0; burst < bursts; burst++) {
    const at = new Date(midnightMs + burst * 10 * minuteMs);
    const some = Array.from({ length: 98 }, () => timeOrderedId(at));
    await append(journal, some, at);
    ids.push(...some);
  }
  return { journal, ids: newestFirst(ids), now: new Date(midnightMs + dayMs + hourMs) };
}

let indexed: Promise<Awaited<ReturnType<typeof fullDay>>> | undefined;

/** A full day with its index, which several tests share. The last of these tests appends an entry. */
const indexedDay = () =>
  (indexed ??= fullDay().then(async (day) => {
    await index(day.journal, day.now);
    return day;
  }));

test("every page of a day with 9,800 entries costs about as much as the first page, even if a span cuts the day", async () => {
  const { journal, ids, now } = await indexedDay();
  const cut = { since: new Date(midnightMs + 95 * minuteMs), until: new Date(midnightMs + 905 * minuteMs) };
  for (const span of [{}, cut]) {
    const expected = "since" in span ? ids.slice(9 * 98, -10 * 98) : ids;
    const costOf = async (skip: number): Promise<number> => {
      const before = usage.readUnits;
      const { rows, total } = await readEntries(table, journal, { skip, take: 25, ...span }, now);
      expect(total).toBe(expected.length);
      expect(rows.map(({ id }) => id)).toEqual(expected.slice(skip, skip + 25));
      return usage.readUnits - before;
    };
    const first = await costOf(0);
    for (let skip = 25; skip < expected.length; skip += 975) expect(await costOf(skip)).toBeLessThan(1.2 * first + 10);
  }
});

test("a call that finds nothing new to index writes nothing", async () => {
  const { journal, now } = await indexedDay();
  const before = usage.writeUnits;
  await index(journal, now);
  expect(usage.writeUnits).toBe(before);
});

test("a late entry is listed at once, and the day is indexed again", async () => {
  const { journal, ids, now } = await indexedDay();
  const late = timeOrderedId(new Date(midnightMs + 55 * minuteMs));
  await append(journal, [late], now);
  const expected = newestFirst([...ids, late]);
  const page = async () => {
    const before = usage.readUnits;
    const { rows, total } = await readEntries(table, journal, { skip: 4_000, take: 25 }, now);
    expect(total).toBe(expected.length);
    expect(rows.map(({ id }) => id)).toEqual(expected.slice(4_000, 4_025));
    return usage.readUnits - before;
  };
  expect(await page()).toBeGreaterThan(50);
  await index(journal, now);
  expect(await page()).toBeLessThan(10);
});

test("an index that lacks an entry is made again by the call that indexes the whole day", async () => {
  const [journal, start] = [newJournal(), new Date(midnightMs + hourMs)];
  const ids = Array.from({ length: 90 }, () => timeOrderedId(start));
  await append(journal, ids, start);
  // The clock of this worker is fast, so it indexes up to a time at which entries are still appended.
  await index(journal, new Date(midnightMs + 2 * hourMs));
  const missed = new Date(midnightMs + hourMs + minuteMs);
  await append(journal, [timeOrderedId(missed)], missed);
  const now = new Date(midnightMs + dayMs + hourMs);
  await index(journal, now);
  const before = usage.writeUnits;
  await index(journal, now);
  expect(usage.writeUnits).toBe(before);
  const [day] = await table.between(journal.partition, "JOURNAL#entries#INDEX#", "JOURNAL#entries#INDEX#~");
  expect(day).toMatchObject({ count: 91 });
});

test("an entry that is appended late while its day is indexed is left to the next call", async () => {
  const { journal, ids, now } = await fullDay(30);
  const late = timeOrderedId(new Date(midnightMs + 255 * minuteMs));
  let steps = 0;
  const commit: typeof table.commit = async (plan) => {
    const done = await table.commit(plan);
    steps += 1;
    if (steps === 1) await append(journal, [late], now);
    if (steps > 10) throw new Error("the call does not end");
    return done;
  };
  await indexEntries({ ...table, commit }, journal, { since: new Date(midnightMs) }, now);
  await index(journal, now);
  const [day] = await table.between(journal.partition, "JOURNAL#entries#INDEX#", "JOURNAL#entries#INDEX#~");
  expect(day).toMatchObject({ count: ids.length + 1, late: 1 });
  const { rows } = await readEntries(table, journal, { skip: 400, take: 25 }, now);
  expect(rows.map(({ id }) => id)).toEqual(newestFirst([...ids, late]).slice(400, 425));
});

test("several workers can index a journal at once, while entries are appended", async () => {
  const { journal, ids, now } = await fullDay();
  const more = Array.from({ length: 20 }, () => timeOrderedId(now));
  await Promise.all([...[0, 1, 2].map(() => index(journal, now)), ...more.map((id) => append(journal, [id], now))]);
  const expected = newestFirst([...ids, ...more]);
  for (const skip of [0, 500, 5_000, 9_700]) {
    const { rows, total } = await readEntries(table, journal, { skip, take: 25 }, now);
    expect(total).toBe(expected.length);
    expect(rows.map(({ id }) => id)).toEqual(expected.slice(skip, skip + 25));
  }
});
