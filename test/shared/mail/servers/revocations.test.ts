import { randomUUID } from "node:crypto";

import fc from "fast-check";
import { expect, test } from "vitest";

import { noteRevocation, readRevocations } from "../../../../shared/mail/servers/revocations.ts";
import { createMemoryStore, openMemoryTable } from "../../../support/memory-table.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const start = Date.parse("2026-03-04T05:00:00.000Z");
const at = (ms: number): Date => new Date(start + ms);

function scene() {
  const table = openMemoryTable(createMemoryStore());
  const pause = async (ms: number, id: string = randomUUID()) => {
    const event = {
      id,
      type: "mailbox.paused",
      timestamp: at(ms).toISOString(),
      account_id: "a",
      resource: { id: "m" },
      data: {},
      previous_data: {},
    };
    await noteRevocation(table, event, at(ms));
    return id;
  };
  const read = async (since: string, ms: number, limit = 100) => {
    const { items, ...page } = await readRevocations(table, { since, limit }, at(ms));
    return { ids: items.map(({ id }) => id), ...page };
  };
  return { table, pause, read };
}

test("pages of revocations are in order, and the cursor of the last page is a minute before now", async () => {
  const { pause, read } = scene();
  const ids = [];
  for (const ms of [0, 0, hourMs - 1, hourMs, 3 * hourMs]) ids.push(await pause(ms));
  const all = [...ids.slice(0, 2).toSorted(), ...ids.slice(2)];
  const seen: string[] = [];
  let since = at(0).toISOString();
  for (const isLast of [false, false, true]) {
    const page = await read(since, 3 * hourMs + 30_000, 2);
    seen.push(...page.ids);
    expect(page.has_more).toBe(!isLast);
    since = page.next;
  }
  expect(seen).toEqual(all);
  expect(since).toBe(at(3 * hourMs - 30_000).toISOString());
  expect((await read(since, 3 * hourMs + 30_000)).ids).toEqual(ids.slice(4));
});

test("a mail server catches up two days at a time, and a cursor of more than 30 days ago is refused", async () => {
  const { pause, read } = scene();
  const id = await pause(20 * dayMs);
  let [since, requests] = [at(0).toISOString(), 0];
  const seen: string[] = [];
  for (let isMore = true; isMore; requests++) {
    const page = await read(since, 30 * dayMs);
    seen.push(...page.ids);
    ({ next: since, has_more: isMore } = page);
  }
  expect([seen, requests]).toEqual([[id], 16]);
  await expect(read(at(0).toISOString(), 30 * dayMs + 1)).rejects.toMatchObject({
    errors: [{ loc: ["query", "since"], type: "cursor_expired" }],
  });
});

test("a cursor from the future misses nothing", async () => {
  const { pause, read } = scene();
  const id = await pause(0);
  const { next } = await read(at(5 * hourMs).toISOString(), 0);
  expect((await read(next, 1)).ids).toEqual([id]);
});

test("a mail server gets every revocation, even if two clocks differ by up to a minute", async () => {
  const minute = 60_000;
  const step = fc.record({
    passMs: fc.nat({ max: 2 * minute }),
    what: fc.constantFrom("pause", "pause", "read"),
    /** How far the clock of the writer is behind or ahead. */
    skewMs: fc.integer({ min: 1 - minute, max: minute }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 5 }), async (steps, limit) => {
      const { pause, read } = scene();
      let [ms, since] = [58 * minute, at(57 * minute).toISOString()];
      const noted = new Set<string>();
      const seen = new Set<string>();
      const catchUp = async () => {
        for (let isMore = true; isMore;) {
          const page = await read(since, ms, limit);
          for (const id of page.ids) seen.add(id);
          ({ next: since, has_more: isMore } = page);
        }
      };
      for (const { passMs, what, skewMs } of steps) {
        ms += passMs;
        if (what === "pause") noted.add(await pause(ms + skewMs));
        else await catchUp();
      }
      ms += 2 * minute;
      await catchUp();
      expect(seen).toEqual(noted);
    }),
    { numRuns: 200 },
  );
});
