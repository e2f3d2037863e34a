import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { expect, test } from "vitest";

import { newFolder } from "../../support/folder.ts";
import { startMcp } from "../../support/mcp-server.ts";
import { newUser } from "../../support/world.ts";

const modules = resolve(import.meta.dirname, "../../../node_modules");
const suites = { released: "@modelcontextprotocol/conformance", next: "conformance-next" };

type Ran = { code: number; said: string; folder: string };

/** Runs a version of the official suite against our own server. `baseline` is a file with the expected failures. */
async function run(suite: keyof typeof suites, baseline: string, ...more: string[]): Promise<Ran> {
  const url = await startMcp(() => newUser().token);
  const folder = newFolder();
  const expected = join(import.meta.dirname, "conformance", baseline);
  const script = join(modules, suites[suite], "dist/index.js");
  const args = [script, "server", "--url", url, "--expected-failures", expected, "--output-dir", folder, ...more];
  return new Promise((done) => {
    execFile(process.execPath, args, (error, stdout, stderr) => {
      done({ code: error ? Number(error.code) : 0, said: stdout + stderr, folder });
    });
  });
}

/** The checks of a scenario that did not pass. */
async function failedIn({ folder }: Ran, scenario: string): Promise<string[]> {
  const place = (await readdir(folder)).find((name) => name.startsWith(`server-${scenario}-`)) ?? scenario;
  const checks: { id: string; status: string }[] = JSON.parse(
    await readFile(join(folder, place, "checks.json"), "utf8"),
  );
  return checks.filter(({ status }) => status === "FAILURE" || status === "WARNING").map(({ id }) => id);
}

test("our MCP server passes the checks of the released suite for 2025-11-25", { timeout: 60_000 }, async () => {
  expect(await run("released", "legacy.yml")).toMatchObject({ code: 0 });
});

test("our MCP server passes the required checks of the next suite for 2025-11-25", { timeout: 60_000 }, async () => {
  expect(await run("next", "legacy.yml", "--requirements", "2025-11-25")).toMatchObject({ code: 0 });
});

test(
  "our MCP server passes the required checks for 2026-07-28, except checks that need other tools, prompts or resources",
  {
    timeout: 60_000,
  },
  async () => {
    const ran = await run("next", "modern.yml", "--requirements", "2026-07-28");
    expect(ran).toMatchObject({ code: 0 });
    expect(await failedIn(ran, "server-stateless")).toEqual([
      "sep-2575-server-rejects-undeclared-capability",
      "sep-2575-missing-capability-http-400",
      "sep-2575-http-server-no-independent-requests-on-stream",
      "sep-2575-server-no-log-without-loglevel",
    ]);
    expect(await failedIn(ran, "caching")).toEqual([
      "sep-2549-prompts-list-caching-hints",
      "sep-2549-resources-list-caching-hints",
      "sep-2549-resources-templates-list-caching-hints",
    ]);
    expect(await failedIn(ran, "http-header-validation")).toEqual([]);
  },
);
