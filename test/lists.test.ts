import fc from "fast-check";
import { expect, test } from "vitest";

import { routes } from "../functions/routes.ts";
import { Problem } from "../shared/core/errors.ts";
import { listScenes, type Happening, type Reading, type Scene } from "./lists-scenes.ts";
import { withStep } from "./support/between-calls.ts";
import { request, type Answer } from "./support/request.ts";
import { isExhaustive, sampleOf } from "./support/sample.ts";

function read({ path, as }: Reading, query: string): Promise<Answer> {
  const separator = path.includes("?") ? "&" : "?";
  return request("GET", query === "" ? path : `${path}${separator}${query}`, { token: as.token });
}

/** Reads like a client that asks again after a 503 `busy`. Reads three times at most. */
async function readPatiently(reading: Reading, query: string): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    const answer = await read(reading, query);
    if (answer.body.code !== "busy" || tries === 3) return answer;
  }
}

const idOf = (item: Record<string, unknown>): string =>
  String(item["transaction_id"] ?? item["id"] ?? item["subject_id"] ?? item["key"]);

/**
 * The fault of a page. Undefined if the page is right. A page that has the whole list must have all ids of `stable`,
 * which were in the list before the request.
 */
function faultOf(stable: readonly string[], { status, body, text }: Answer): string | undefined {
  if (status !== 200) return text;
  const items: Record<string, unknown>[] = Array.isArray(body) ? body : body.items;
  const { page, page_size, total } = Array.isArray(body) ? { page: 1, page_size: 1e9, total: items.length } : body;
  const length = Math.max(0, Math.min(page_size, total - (page - 1) * page_size));
  if (items.length !== length) return `${items.length} items, where a total of ${total} leaves ${length}`;
  const ids = items.map(idOf);
  if (new Set(ids).size < ids.length) return `something twice: ${ids.join(", ")}`;
  const missing = page === 1 && total <= page_size ? stable.filter((id) => !ids.includes(id)) : [];
  return missing.length > 0 ? `without ${missing.join(", ")}` : undefined;
}

/**
 * Reads a list once for each act and each call of the table, and does the act right before this call. Returns the
 * faults.
 */
async function readThrough(reading: Reading, query: string, { name, before, acts }: Happening) {
  const faults: string[] = [];
  let calls = 1;
  for (let at = 0; at < calls; at++) {
    await before?.();
    for (const act of acts) {
      const done = await withStep(at, act, () => read(reading, query));
      const fault = faultOf(reading.stable, done.value);
      if (fault !== undefined) faults.push(`${reading.path} ${query}, ${name} before call ${at}: ${fault}`);
      calls = done.calls;
    }
  }
  return faults;
}

const isPaged = ({ route }: Reading): boolean => !unpaged.has(route);
const unpaged = new Set(["auth.authorizations.list", "auth.role_assignments.list", "auth.service_accounts.list"]);

const opened = new Map<string, Promise<Scene>>();

/**
 * The scene of a family. Several tests share it. A storm opens a scene of its own, because some of the things that it
 * adds stay.
 */
function sceneOf(family: string): Promise<Scene> {
  const scene = opened.get(family) ?? (listScenes[family] as () => Promise<Scene>)();
  opened.set(family, scene);
  return scene;
}

/** Repeats an act as long as the product answers `busy`, which asks a caller to try again. */
async function untilDone(act: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "busy") throw error;
    if (!signal.aborted) await untilDone(act, signal);
  }
}

/** The number of acts after which a sampling run ends a family. */
const actsOfSample = 16;

for (const [family, open] of Object.entries(listScenes)) {
  test(
    `${family}: page and total show one moment, whatever happens between two calls of the table`,
    { timeout: 1_800_000 },
    async () => {
      const { readings, happenings } = await sceneOf(family);
      const cases = readings.flatMap((reading) =>
        (isPaged(reading) ? ["page_size=100", "page_size=1&page=2"] : [""]).flatMap((query) =>
          happenings.map((happening) => ({ reading, query, happening })),
        ),
      );
      let acts = 0;
      for (const { reading, query, happening } of sampleOf(cases, cases.length, `lists of ${family}`)) {
        if (acts >= actsOfSample && !isExhaustive) break;
        acts += happening.acts.length;
        expect(await readThrough(reading, query, happening)).toEqual([]);
      }
    },
  );

  test(`${family}: page and total show one moment in a storm of changes`, { timeout: 120_000 }, async () => {
    const { readings, happenings } = await open();
    const order = fc.array(fc.record({ which: fc.nat(), isPage: fc.boolean() }), { minLength: 32, maxLength: 32 });
    const storm = async (picks: readonly { which: number; isPage: boolean }[]): Promise<string[]> => {
      const faults: string[] = [];
      const over = new AbortController();
      let calm = Promise.resolve();
      const write = async ({ before, acts }: Happening): Promise<void> => {
        while (!over.signal.aborted) {
          await before?.();
          for (const act of acts) await untilDone(act, over.signal);
          await calm;
        }
      };
      const writers = happenings.flatMap((happening) => happening.acts.map(() => write(happening)));
      /** Reads again for a caller who was told that a list is busy. The writers wait until this read is over. */
      const readInCalm = async (reading: Reading, query: string): Promise<Answer> => {
        const { promise, resolve } = Promise.withResolvers<void>();
        calm = promise;
        return readPatiently(reading, query).finally(resolve);
      };
      for (const { which, isPage } of picks) {
        const reading = readings[which % readings.length] as Reading;
        const stable = [...reading.stable];
        const pageQuery = isPage ? "page_size=1&page=2" : "page_size=100";
        const query = isPaged(reading) ? pageQuery : "";
        // While the storm goes on, a read may find no moment without a change.
        const stormy = await read(reading, query);
        const fault = faultOf(stable, stormy.body.code === "busy" ? await readInCalm(reading, query) : stormy);
        if (fault !== undefined) faults.push(`${reading.path} ${query}: ${fault}`);
      }
      over.abort();
      await Promise.all(writers);
      return faults;
    };
    await fc.assert(
      fc.asyncProperty(order, async (picks) => {
        expect(await storm(picks)).toEqual([]);
      }),
      { numRuns: 1, endOnFailure: true },
    );
  });
}

test("the tests above read every list of the product", async () => {
  const lists = routes
    .filter(({ http: { method }, name }) => method === "GET" && name.endsWith(".list"))
    // The plans belong to the product, and are not a list of an account.
    .filter(({ name }) => name !== "billing.plans.list")
    .map(({ name }) => name);
  const scenes = await Promise.all(Object.keys(listScenes).map(sceneOf));
  const covered = new Set(scenes.flatMap(({ readings }) => readings.map(({ route }) => route)));
  expect([...covered].toSorted()).toEqual(lists.toSorted());
});
