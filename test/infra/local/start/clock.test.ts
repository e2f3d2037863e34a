import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterEach, expect, test } from "vitest";

import { StartProblem } from "../../../../infra/local/command-line.ts";
import { clockPaths, restoreClock } from "../../../../infra/local/start/clock.ts";
import { clock, setClockAhead } from "../../../../shared/core/time.ts";
import { newFolder } from "../../../support/folder.ts";
import { asking } from "../asking.ts";

afterEach(() => setClockAhead(0));

async function open(dataDir: string) {
  const moves: string[] = [];
  const send = asking(await clockPaths(dataDir, async () => void moves.push(clock().toISOString())));
  const read = async (method: string, asked = {}) => {
    const { status, text } = await send(method, asked);
    return { status, ...JSON.parse(text) };
  };
  const move = (body: string, type = "application/json") => read("POST", { body, type });
  return { moves, read: () => read("GET"), move };
}

test("the page moves the product's time ahead, tells the workers, and the move outlives a restart", async () => {
  const folder = newFolder();
  const { move, moves } = await open(folder);
  expect(await move('{"days": 31, "hours": 1}')).toMatchObject({ status: 200, ahead_seconds: 31 * 86_400 + 3_600 });
  expect(clock().getTime() - Date.now()).toBeGreaterThan(31 * 86_400_000);
  expect(moves).toHaveLength(1);
  setClockAhead(0);
  expect(await (await open(folder)).read()).toMatchObject({ ahead_seconds: 31 * 86_400 + 3_600 });
});

test("the page answers after the due work is done", async () => {
  const done: string[] = [];
  const paths = await clockPaths(newFolder(), async () => {
    await new Promise((resolve) => void setImmediate(resolve));
    done.push("work");
  });
  const { status } = await asking(paths)("POST", { body: '{"days": 1}', type: "application/json" });
  expect([status, done]).toEqual([200, ["work"]]);
});

test.each(["", "{}", '{"days": -1}', '{"days": 1.5}', '{"weeks": 1}', '{"days": 1e9}'])(
  "the page refuses %j, and the clock does not move",
  async (body) => {
    const { move, read } = await open(newFolder());
    expect((await move(body)).status).toBe(422);
    expect(await read()).toMatchObject({ ahead_seconds: 0 });
  },
);

test("the page refuses a time after the year 9999, because stored times are compared as text", async () => {
  const folder = newFolder();
  const ahead_ms = Date.parse("9999-12-30T00:00:00Z") - Date.now();
  await writeFile(join(folder, "clock.json"), JSON.stringify({ ahead_ms }));
  const { move, moves } = await open(folder);
  const text = await readFile(join(folder, "clock.json"), "utf8");
  expect(await move('{"days": 3}')).toMatchObject({ status: 422, message: expect.stringContaining("9999") });
  expect([moves, await readFile(join(folder, "clock.json"), "utf8")]).toEqual([[], text]);
  expect(await move('{"days": 1}')).toMatchObject({ status: 200 });
});

test.each(["", "{", "{}", '{"ahead_ms":-1}'])(
  "an error names a clock file with the content %j and the ways out, and does not change the file",
  async (content) => {
    const folder = newFolder();
    const file = join(folder, "clock.json");
    await writeFile(file, content);
    const problem = await restoreClock(folder).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(StartProblem);
    expect(String(problem)).toContain(file);
    expect(String(problem)).toContain(`DATA_DIR=${folder} npm start -- --reset`);
    expect(await readFile(file, "utf8")).toBe(content);
  },
);

test("an error names a clock file that cannot be read, because without it stored times would be in the future", async () => {
  const folder = newFolder();
  await mkdir(join(folder, "clock.json"));
  await expect(restoreClock(folder)).rejects.toThrow(join(folder, "clock.json"));
});

test("the page refuses a form, which a page of another site could send", async () => {
  const { move } = await open(newFolder());
  expect((await move("days=31", "application/x-www-form-urlencoded")).status).toBe(415);
});
