import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { expect, test } from "vitest";

import { newFolder } from "../../support/folder.ts";

const main = resolve(import.meta.dirname, "../../../infra/deploy/main.ts");

/**
 * Stand-ins for git and npm, which note their calls. `failing` is the npm script that fails, `dirty` is the output of
 * `git status`, `head` is the commit that is checked out, and `diff` is the output of `cdk diff`. The commit 1234abc
 * was deployed last, and before it 0000fff.
 */
async function machine({ failing = "none", dirty = "", head = "5678def", diff = "" } = {}) {
  const folder = newFolder();
  const calls = join(folder, "calls.txt");
  const git = `#!/bin/sh
echo "git $*" >>'${calls}'
case "$*" in
  status*) printf '${dirty}' ;;
  *HEAD*) echo ${head} ;;
  *deployed-dev-before*) echo 0000fff ;;
  rev-parse*) echo 1234abc ;;
esac
`;
  const npm = `#!/bin/sh
shift 2
echo "$*" >>'${calls}'
case "$*" in *diff*) echo '${diff}' ;; esac
case "$*" in *--outputs-file*)
  file=$(echo "$*" | sed 's/.*--outputs-file \\([^ ]*\\).*/\\1/')
  mkdir -p "$(dirname "$file")"
  echo '{"hosted-mail-dev": {"ApiUrl": "https://api.example.com"}}' >"$file"
esac
[ "$1" != '${failing}' ]
`;
  for (const [name, text] of Object.entries({ git, npm })) await writeFile(join(folder, name), text, { mode: 0o755 });
  const env = { PATH: `${folder}:/usr/bin:/bin`, SMOKE_TOKEN: "secret" };
  const run = (...args: string[]): Promise<{ code: number; said: string; calls: string[] }> =>
    new Promise((settle) => {
      execFile(process.execPath, [main, ...args], { env }, (error, stdout, stderr) => {
        const code = typeof error?.code === "number" ? error.code : 0;
        const noted = readFile(calls, "utf8").catch(() => "");
        void noted.then((text) => settle({ code, said: stdout + stderr, calls: text.trim().split("\n") }));
      });
    });
  return { run, env };
}

const stage = ["--stage", "dev"];

test("the command tests, shows the differences, deploys, runs the smoke test, tags the commit, and says how to go back", async () => {
  const { run } = await machine();
  const { code, said, calls } = await run(...stage, "--yes");
  expect(code).toBe(0);
  expect(calls.filter((call) => !call.startsWith("git "))).toEqual([
    "test",
    "cdk -- diff --all -c stage=dev",
    expect.stringMatching(/^cdk -- deploy --all --require-approval never --outputs-file \S+ -c stage=dev$/),
    "smoke -- --url https://api.example.com",
  ]);
  expect(calls.slice(-2)).toEqual([
    "git tag --force deployed-dev-before 1234abc",
    "git tag --force deployed-dev 5678def",
  ]);
  expect(said).toContain("git checkout 1234abc && npm ci && SMOKE_TOKEN=… npm run deploy -- --stage dev --skip-tests");
  expect(said + calls.join("\n")).not.toContain("secret");
});

test.each(["test", "cdk"])("the command deploys nothing if npm run %s fails", async (failing) => {
  const { run } = await machine({ failing });
  const { code, said, calls } = await run(...stage, "--yes");
  expect([code, said]).toEqual([1, expect.stringContaining(`npm run ${failing} failed`)]);
  expect(calls.join("\n")).not.toContain("deploy --all");
});

test("if the smoke test fails, the command says that the stage is deployed, and how to go back", async () => {
  const { run } = await machine({ failing: "smoke" });
  const { code, said, calls } = await run(...stage, "--yes", "--skip-tests");
  expect([code, said]).toEqual([1, expect.stringMatching(/is deployed, but[^]*git checkout 1234abc/)]);
  expect(calls).not.toContain("test");
  expect(calls.join("\n")).not.toContain("git tag");
});

test("after a second deployment of the same commit, the way back leads to the commit before, not to the same commit", async () => {
  const { run } = await machine({ head: "1234abc" });
  const { said, calls } = await run(...stage, "--yes", "--skip-tests");
  expect(said).toContain("git checkout 0000fff &&");
  expect(calls).toContain("git tag --force deployed-dev-before 0000fff");
});

test("the command asks before it deploys, and without a terminal needs --yes", async () => {
  const { run } = await machine();
  const { code, said, calls } = await run(...stage, "--skip-tests");
  expect([code, said]).toEqual([1, expect.stringContaining("--yes")]);
  expect(calls.join("\n")).not.toContain("deploy --all");
});

test.each([
  ["changes that are not committed", { dirty: " M file" }, stage, 1, "Commit your changes first"],
  ["no stage", {}, [], 2, "--stage prod"],
  ["a stage without a file", {}, ["--stage", "nowhere"], 2, "infra/stages/nowhere.ts"],
  ["an unknown option", {}, [...stage, "--force"], 2, "--force"],
])("the command refuses %s, and does nothing", async (_, given, args, code, said) => {
  const { run } = await machine(given);
  const refused = await run(...args);
  expect([refused.code, refused.said]).toEqual([code, expect.stringContaining(said)]);
  expect(refused.calls.filter((call) => call !== "" && !call.startsWith("git status"))).toEqual([]);
});

test("the command does not deploy a change that would give a deployed stage a new table", async () => {
  const { run } = await machine({ diff: "[+] AWS::DynamoDB::Table Table TableCD117FA1" });
  const { code, said, calls } = await run(...stage, "--yes");
  expect([code, said]).toEqual([1, expect.stringContaining("a new, empty table")]);
  expect(calls.join("\n")).not.toContain("deploy --all");
  const other = await machine({ diff: "[~] AWS::DynamoDB::Table Table TableCD117FA1" });
  expect((await other.run(...stage, "--yes")).code).toBe(0);
});
