import { randomUUID } from "node:crypto";

import fc from "fast-check";
import { expect, test } from "vitest";

import { timeOf, timeOrderedId } from "../../../shared/core/ids.ts";
import { entryKey, type Journal } from "../../../shared/table/journal-keys.ts";
import { appendEntries, readEntries } from "../../../shared/table/journal.ts";
import { testTable } from "../../support/world.ts";

const usage = { readUnits: 0, writeUnits: 0, calls: 0 };
const table = testTable(usage);
const dayMs = 86_400_000;

// In the future, so that the engine does not remove the entries by their TTL.
const now = new Date("2100-03-01T23:59:59.999Z");

const newJournal = (retentionDays = 60): Journal => {
  return { partition: `TEST#${randomUUID()}`, name: "entries", retentionDays };
};

type Entry = { id: string; value: number };

const entriesAt = (at: Date, count: number, from = 0): Entry[] =>
  Array.from({ length: count }, (_, index) => ({ id: timeOrderedId(at), value: from + index }));

async function append(journal: Journal, entries: Entry[], at: Date): Promise<void> {
  await table.commit(async () => ({ value: undefined, writes: appendEntries(journal, entries, at) }));
}

const values = (rows: readonly Record<string, unknown>[]): unknown[] => rows.map((row) => row["value"]);
const newestFirst = (entries: readonly Entry[]): Entry[] => entries.toSorted((a, b) => (a.id < b.id ? 1 : -1));

/** The result of `run`, with its read units and its calls. */
async function costOf<T>(run: () => Promise<T>): Promise<{ answer: T; readUnits: number; calls: number }> {
  const before = { ...usage };
  const answer = await run();
  return { answer, readUnits: usage.readUnits - before.readUnits, calls: usage.calls - before.calls };
}

const days = ["2099-12-30", "2099-12-31", "2100-01-01", "2100-01-31", "2100-02-28", "2100-03-01"];
const instant = fc
  .tuple(fc.constantFrom(...days), fc.oneof(fc.constantFrom(0, 1, dayMs - 1), fc.nat(dayMs - 1)))
  .map(([day, offsetMs]) => new Date(Date.parse(day) + offsetMs));

const command = fc.oneof(
  fc.record({ at: instant, count: fc.nat(12), stepMs: fc.constantFrom(0, 1, 60_000) }),
  fc.record({
    page: fc.nat(5),
    size: fc.integer({ min: 1, max: 9 }),
    since: fc.option(instant, { nil: undefined }),
    until: fc.option(instant, { nil: undefined }),
    evenOnly: fc.boolean(),
    order: fc.constantFrom(undefined, "asc" as const, "desc" as const),
    now: fc.constantFrom(now, new Date(now.getTime() + 1)),
  }),
);

test("the pages and totals of a journal are those of a sorted array", { timeout: 30_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 25, size: "max" }), async (commands) => {
      const journal = newJournal();
      const model: Entry[] = [];
      for (const step of commands) {
        if ("at" in step) {
          const added = Array.from({ length: step.count }, (_, index) => ({
            id: timeOrderedId(new Date(step.at.getTime() + index * step.stepMs)),
            value: model.length + index,
          }));
          await append(journal, added, step.at);
          model.push(...added);
          continue;
        }
        const { page, size, since, until, evenOnly, order } = step;
        const oldestMs = Math.floor(step.now.getTime() / dayMs) * dayMs - 60 * dayMs;
        const expected = newestFirst(model).filter(({ id, value }) => {
          const atMs = timeOf(id)?.getTime() ?? 0;
          const isInRange = atMs >= Math.max(since?.getTime() ?? 0, oldestMs) && (!until || atMs < until.getTime());
          return isInRange && (!evenOnly || value % 2 === 0);
        });
        const listed = order === "asc" ? expected.toReversed() : expected;
        const options = {
          skip: page * size,
          take: size,
          ...(order === undefined ? {} : { order }),
          ...(since ? { since } : {}),
          ...(until ? { until } : {}),
          ...(evenOnly ? { keep: (row: Record<string, unknown>) => Number(row["value"]) % 2 === 0 } : {}),
        };
        const { rows, total } = await readEntries(table, journal, options, step.now);
        expect(total).toBe(expected.length);
        expect(values(rows)).toEqual(values(listed.slice(page * size, (page + 1) * size)));
      }
    }),
    { numRuns: 60 },
  );
});

test("if many transactions append at once, no entry is lost or counted twice", async () => {
  const journal = newJournal();
  const batches = Array.from({ length: 50 }, (_, index) => entriesAt(now, 2, index * 2));
  await Promise.all(batches.map((batch) => append(journal, batch, now)));
  const { rows, total } = await readEntries(table, journal, { skip: 0, take: 200 }, now);
  expect(total).toBe(100);
  expect(rows.map((row) => row["id"])).toEqual(newestFirst(batches.flat()).map(({ id }) => id));
});

test("a page that is read while entries are appended has as many entries as its total says", async () => {
  const journal = newJournal();
  const writing = Promise.all(Array.from({ length: 20 }, (_, index) => append(journal, entriesAt(now, 1, index), now)));
  const reading = Array.from({ length: 20 }, () => readEntries(table, journal, { skip: 0, take: 50 }, now));
  const pages = await Promise.all(reading);
  await writing;
  for (const { rows, total } of pages) expect(rows).toHaveLength(total);
});

test("entries older than the retention are neither listed nor counted, and expire two days later", async () => {
  const journal = newJournal(30);
  const [kept, dropped] = [new Date("2100-01-30T00:00:00.000Z"), new Date("2100-01-29T23:59:59.999Z")];
  await append(journal, entriesAt(kept, 1, 1), kept);
  const [old = { id: "", value: 0 }] = entriesAt(dropped, 1, 2);
  await append(journal, [old], dropped);
  const options = { skip: 0, take: 10, since: new Date("2100-01-01") };
  const { rows, total } = await readEntries(table, journal, options, now);
  expect({ values: values(rows), total }).toEqual({ values: [1], total: 1 });
  const [stored] = await table.getMany([entryKey(journal, old.id)]);
  expect(stored?.["ttl"]).toBe(Math.ceil((dropped.getTime() + 32 * dayMs) / 1000));
});

test("no entries cause no writes, and an id without a time is refused", () => {
  expect(appendEntries(newJournal(), [], now)).toEqual([]);
  expect(() => appendEntries(newJournal(), [{ id: randomUUID() }], now)).toThrow("not a UUIDv7");
});

test("a range that ends where it begins has no entries, in every year", async () => {
  const journal = newJournal();
  await append(journal, entriesAt(now, 3), now);
  const [year10000, year0] = [new Date(Date.UTC(10_000, 0, 1)), new Date("0000-01-01T00:00:00Z")];
  for (const at of [now, year10000, year0]) {
    const page = await readEntries(table, journal, { skip: 0, take: 10, since: at, until: at }, now);
    expect(page).toEqual({ rows: [], total: 0 });
  }
  const all = await readEntries(table, journal, { skip: 0, take: 10, since: year0, until: year10000 }, now);
  expect(all.total).toBe(3);
});

const manyDays = Array.from({ length: 40 }, (_, index) => new Date(now.getTime() - index * dayMs));

async function pagesOf(journal: Journal, total: number): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  for (let skip = 0; skip < total; skip += 25) {
    const { answer, readUnits, calls } = await costOf(() => readEntries(table, journal, { skip, take: 25 }, now));
    expect(answer.total).toBe(total);
    expect(answer.rows).toHaveLength(Math.min(25, total - skip));
    expect(calls).toBeLessThanOrEqual(4);
    expect(readUnits).toBeLessThan(8);
    rows.push(...answer.rows);
  }
  return rows;
}

test("every page of 2,800 entries costs a few reads, and a filter that keeps all entries returns the same page", async () => {
  const journal = newJournal();
  const entries = manyDays.map((at) => entriesAt(at, 70));
  for (const [index, at] of manyDays.entries()) await append(journal, entries[index] ?? [], at);
  const ids = newestFirst(entries.flat()).map(({ id }) => id);
  expect((await pagesOf(journal, 2_800)).map(({ id }) => id)).toEqual(ids);
  const { rows, total } = await readEntries(table, journal, { skip: 1_990, take: 25, keep: () => true }, now);
  expect(total).toBe(2_800);
  expect(rows.map(({ id }) => id)).toEqual(ids.slice(1_990, 2_015));
});

test("the first and the last page of one full day cost a few reads", async () => {
  const journal = newJournal();
  for (let count = 0; count < 990; count += 99) await append(journal, entriesAt(now, 99, count), now);
  for (const skip of [0, 965]) {
    const { answer, readUnits } = await costOf(() => readEntries(table, journal, { skip, take: 25 }, now));
    expect(answer).toMatchObject({ total: 990, rows: { length: 25 } });
    expect(readUnits).toBeLessThan(4);
  }
});

test("appends at the same time raise different counters", () => {
  const journal = newJournal();
  const writes = Array.from({ length: 100 }, () => appendEntries(journal, entriesAt(now, 1), now)).flat();
  const raised = writes.flatMap((write) => ("update" in write ? [write.update.SK] : []));
  expect(raised).toHaveLength(100);
  expect(new Set(raised).size).toBeGreaterThan(4);
});

test("a filter over more than 20,000 entries is refused with their number, and a smaller range is accepted", async () => {
  const journal = newJournal();
  await append(journal, entriesAt(now, 3), now);
  // Only the counters are stored, because a refused filter reads no entries.
  const others = entriesAt(manyDays[1] ?? now, 20_001);
  const counters = appendEntries(journal, others, now).filter((write) => "update" in write);
  await table.commit(async () => ({ value: undefined, writes: counters }));
  const search = (since: string) =>
    readEntries(table, journal, { skip: 0, take: 10, since: new Date(since), keep: () => true }, now);
  const wrong = [{ loc: ["query", "since"], msg: expect.stringContaining("20004"), type: "value_error" }];
  await expect(search("2100-01-01T00:00:00Z")).rejects.toThrow(expect.objectContaining({ errors: wrong }));
  expect(await search("2100-02-28T00:00:00.001Z")).toMatchObject({ total: 3 });
});

test("a filter over 20,000 entries is accepted, and a filter over one more entry is refused", async () => {
  const journal = newJournal();
  const count = async (entries: number) => {
    const counters = appendEntries(journal, entriesAt(now, entries), now).filter((write) => "update" in write);
    await table.commit(async () => ({ value: undefined, writes: counters }));
  };
  const search = () => readEntries(table, journal, { skip: 0, take: 10, keep: () => true }, now);
  await count(20_000);
  // Only the counters are stored.
  expect(await search()).toEqual({ rows: [], total: 0 });
  await count(1);
  await expect(search()).rejects.toThrow(
    expect.objectContaining({ errors: [expect.objectContaining({ type: "value_error" })] }),
  );
});
