import { createServer } from "node:net";

import { expect, test } from "vitest";

import { Misuse, readArguments } from "../../../../infra/local/command-line.ts";
import { progressOn } from "../../../../infra/local/start/banner.ts";
import { freePortAbove, holderOf, programOf } from "../../../../infra/local/start/port-holder.ts";
import { portOf } from "../../../support/listen.ts";

test("without arguments nothing is deleted and no seed is made", () => {
  expect(readArguments([])).toEqual({ help: false, reset: false, yes: false, showTokens: false, seed: undefined });
});

test("the valid flags are read", () => {
  expect(readArguments(["--reset", "--yes", "--seed", "big"])).toMatchObject({ reset: true, yes: true, seed: "big" });
});

test.each([["--rest"], ["reset"], ["--seed"], ["--seed=small"], ["--reset=no"]])("%s is refused", (argument) => {
  expect(() => readArguments([argument])).toThrow(Misuse);
});

test("the process that has a port is found, on Linux", async () => {
  const server = createServer();
  const port = await portOf(server);
  expect(await holderOf(port)).toMatch(new RegExp(`process ${process.pid}$`));
  const other = await freePortAbove(port);
  expect(other).toBeGreaterThan(port);
  await new Promise((resolve) => server.close(resolve));
  expect(await holderOf(port)).toBeUndefined();
});

test.each([
  ["/n/bin/node\0-r\0./infra/local/check-node.cjs\0infra/local/main.ts\0--seed\0big\0", "node infra/local/main.ts"],
  ["/n/bin/node\0/home/me/work/main/infra/local/main.ts\0", "node infra/local/main.ts"],
  ["python3\0-m\0http.server\0--password\0hunter2\0", "python3"],
  ["/usr/sbin/nginx: master process\0", "nginx: master process"],
  ["", ""],
])("the command line %j is shown as %j, without arguments that may be secret", (commandLine, told) => {
  expect(programOf(commandLine)).toBe(told);
});

test("on a terminal progress is a bar, and the full bar ends its line", () => {
  const written: string[] = [];
  let now = 0;
  const show = progressOn({ isTTY: true, write: (text) => written.push(text) }, { of: 100, unit: "things" }, () => now);
  for (const count of [1, 2, 50, 100]) {
    show(count);
    now += 150;
  }
  expect(written).toHaveLength(3);
  expect(written.join("")).toMatch(/█{15}░{15} 50 of 100 things, 1 s left/);
  expect(written.at(-1)).toMatch(/█{30} 100 of 100 things\n$/);
});

test("without a terminal progress is one line for each tenth", () => {
  const written: string[] = [];
  let now = 0;
  const show = progressOn({ write: (text) => written.push(text) }, { of: 1000, unit: "things" }, () => (now += 1000));
  for (let count = 0; count <= 1000; count += 5) show(count);
  expect(written).toHaveLength(10);
  expect(written[0]).toMatch(/^100 of 1,000 things, .* left\n$/);
  expect(written.at(-1)).toBe("1,000 of 1,000 things\n");
});
