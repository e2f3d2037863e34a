import fc from "fast-check";
import { expect, test } from "vitest";

import { routes } from "../functions/routes.ts";
import { withStep } from "./support/between-calls.ts";
import { listScenes, type Happening, type Reading } from "./support/list-scenes.ts";
import { request, type Answer } from "./support/request.ts";
import { sampleOf, seed } from "./support/sample.ts";

const read = ({ path, as }: Reading, query: string): Promise<Answer> =>
  request("GET", `${path}${query === "" ? "" : (path.includes("?") ? "&" : "?") + query}`, { token: as.token });

const idOf = (item: Record<string, unknown>): string =>
  String(item["transaction_id"] ?? item["id"] ?? item["subject_id"]);

/** Whether an answer is a page as it must be, whatever happened while it was read. */
function requireWhole({ stable }: Reading, { status, body, text }: Answer, what: string): void {
  expect(status, `${what}: ${text}`).toBe(200);
  const items: Record<string, unknown>[] = Array.isArray(body) ? body : body.items;
  const { page = 1, page_size = Infinity, total = items.length } = Array.isArray(body) ? {} : body;
  const skip = page === 1 ? 0 : (page - 1) * page_size;
  expect(items.length, what).toBe(Math.max(0, Math.min(page_size, total - skip)));
  const ids = items.map(idOf);
  expect(new Set(ids).size, `${what}: ${ids.join()}`).toBe(ids.length);
  if (total <= page_size) expect(stable.filter((id) => !ids.includes(id)), what).toEqual([]);
}

/** Reads a list again and again, with something happening before each of its calls of the table in turn. */
async function readThrough(reading: Reading, { name, before, run, after }: Happening, query: string): Promise<void> {
  let calls = 1;
  for (let at = 0; at < calls; at++) {
    await before();
    const done = await withStep(at, run, () => read(reading, query));
    requireWhole(reading, done.value, `${reading.path} ${query}, ${name} before call ${at}`);
    calls = done.calls;
    await after();
  }
}

const families = Object.keys(listScenes);

for (const family of families) {
  test(`${family}: page and total are of one moment, whatever happens between two calls of the table`, { timeout: 400_000 }, async () => {
    const { readings, happenings } = await (listScenes[family] as () => ReturnType<(typeof listScenes)[string]>)();
    const pairs = readings.flatMap((reading) => happenings.map((happening) => ({ reading, happening })));
    const isPaged = ({ reading }: { reading: Reading }) => !/auth\/(authorizations|role|service)/.test(reading.path);
    for (const { reading, happening } of sampleOf(pairs, 24, `lists of ${family}`)) {
      await readThrough(reading, happening, isPaged({ reading }) ? "page_size=100" : "");
    }
  });
}
