import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { clockPaths } from "../../../infra/local/clock.ts";
import { clock, setClockAhead } from "../../../shared/clock.ts";

async function open(dataDir: string) {
  const moves: string[] = [];
  const [get, post] = await clockPaths(dataDir, () => moves.push(clock().toISOString()));
  const request = (body: string, type = "application/json") => ({
    headers: new Map([["content-type", type]]),
    body: Buffer.from(body),
    query: new URLSearchParams(),
    params: {},
    port: 80,
  });
  const answer = async (path: typeof get, body = "", type?: string) => {
    const { status, body: text } = (await path?.handle(request(body, type))) ?? { status: 0, body: Buffer.from("{}") };
    return { status, ...JSON.parse(text.toString()) };
  };
  return { moves, read: () => answer(get), move: (body: string, type?: string) => answer(post, body, type) };
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "clock-"));
  onTestFinished(async () => {
    setClockAhead(0);
    await rm(folder, { recursive: true, force: true });
  });
  return folder;
}

test("moves the product's time ahead, tells the workers, and keeps to it after a restart", async () => {
  const folder = await newFolder();
  const { move, moves } = await open(folder);
  expect(await move('{"days": 31, "hours": 1}')).toMatchObject({ status: 200, ahead_seconds: 31 * 86_400 + 3_600 });
  expect(clock().getTime() - Date.now()).toBeGreaterThan(31 * 86_400_000);
  expect(moves).toHaveLength(1);
  setClockAhead(0);
  expect(await (await open(folder)).read()).toMatchObject({ ahead_seconds: 31 * 86_400 + 3_600 });
});

test.each(["", "{}", '{"days": -1}', '{"days": 1.5}', '{"weeks": 1}', '{"days": 1e9}'])(
  "does not take %j, and stays where it is",
  async (body) => {
    const { move, read } = await open(await newFolder());
    expect((await move(body)).status).toBe(422);
    expect(await read()).toMatchObject({ ahead_seconds: 0 });
  },
);

test("takes no form of another site's page", async () => {
  const { move } = await open(await newFolder());
  expect((await move("days=31", "application/x-www-form-urlencoded")).status).toBe(415);
});
