import fc from "fast-check";
import { expect, test } from "vitest";

import { routes } from "../functions/routes.ts";
import { withStep } from "./support/between-calls.ts";
import { listScenes, type Happening, type Reading } from "./support/list-scenes.ts";
import { request, type Answer } from "./support/request.ts";
import { sampleOf } from "./support/sample.ts";

const read = ({ path, as }: Reading, query: string): Promise<Answer> =>
  request("GET", `${path}${query === "" ? "" : (path.includes("?") ? "&" : "?") + query}`, { token: as.token });

const idOf = (item: Record<string, unknown>): string =>
  String(item["transaction_id"] ?? item["id"] ?? item["subject_id"]);

/** Fails unless an answer is a page as it must be, with all that was there from before it was asked for. */
function requireWhole(stable: readonly string[], { status, body, text }: Answer, what: string): void {
  expect(status, `${what}: ${text}`).toBe(200);
  const items: Record<string, unknown>[] = Array.isArray(body) ? body : body.items;
  const { page, page_size, total } = Array.isArray(body) ? { page: 1, page_size: 1e9, total: items.length } : body;
  expect(items.length, what).toBe(Math.max(0, Math.min(page_size, total - (page - 1) * page_size)));
  const ids = items.map(idOf);
  expect(new Set(ids).size, `${what}: ${ids.join(", ")}`).toBe(ids.length);
  const missing = page === 1 && total <= page_size ? stable.filter((id) => !ids.includes(id)) : [];
  expect(missing, what).toEqual([]);
}

/** Reads a list again and again, with something happening before each of its calls of the table in turn. */
async function readThrough(reading: Reading, query: string, { name, before, run, after }: Happening): Promise<void> {
  let calls = 1;
  for (let at = 0; at < calls; at++) {
    await before();
    const done = await withStep(at, run, () => read(reading, query));
    requireWhole(reading.stable, done.value, `${reading.path} ${query}, ${name} before call ${at}`);
    calls = done.calls;
    await after();
  }
}

const isPaged = ({ route }: Reading): boolean => !unpaged.has(route);
const unpaged = new Set(["auth.authorizations.list", "auth.role_assignments.list", "auth.service_accounts.list"]);
for (const [family, open] of Object.entries(listScenes)) {
  test(
    `${family}: page and total are of one moment, whatever happens between two calls of the table`,
    { timeout: 400_000 },
    async () => {
      const { readings, happenings } = await open();
      const cases = readings.flatMap((reading) =>
        (isPaged(reading) ? ["page_size=100", "page_size=1&page=2"] : [""]).flatMap((query) =>
          happenings.map((happening) => ({ reading, query, happening })),
        ),
      );
      for (const { reading, query, happening } of sampleOf(cases, 16, `lists of ${family}`)) {
        await readThrough(reading, query, happening);
      }
    },
  );

  test(`${family}: page and total are of one moment in a storm of changes`, { timeout: 120_000 }, async () => {
    const { readings, happenings } = await open();
    const order = fc.array(fc.record({ which: fc.nat(), isPage: fc.boolean() }), { minLength: 8, maxLength: 8 });
    const storm = async (picks: readonly { which: number; isPage: boolean }[]): Promise<void> => {
      let isOver = false;
      const writers = happenings.map(async ({ before, run, after }) => {
        for (const act of [before, run, after]) if (!isOver) await act();
      });
      for (const { which, isPage } of picks) {
        const reading = readings[which % readings.length] as Reading;
        const stable = [...reading.stable];
        const query = isPaged(reading) ? (isPage ? "page_size=1&page=2" : "page_size=100") : "";
        requireWhole(stable, await read(reading, query), `${reading.path} ${query}`);
      }
      isOver = true;
      await Promise.all(writers);
    };
    await fc.assert(fc.asyncProperty(order, storm), { numRuns: 4, endOnFailure: true });
  });
}

test("no list of the product is left out", async () => {
  const lists = routes.filter(({ method, name }) => method === "GET" && name.endsWith(".list")).map(({ name }) => name);
  const scenes = await Promise.all(Object.values(listScenes).map((open) => open()));
  const read = new Set(scenes.flatMap(({ readings }) => readings.map(({ route }) => route)));
  expect([...read].toSorted()).toEqual(lists.toSorted());
});
