import { execFile } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

import { expect, onTestFinished, test, vi } from "vitest";

import { startDynamoDbLocal } from "../../../infra/local/table/dynamodb-local.ts";
import { binaryPath } from "../../../infra/local/table/engine-process.ts";
import { newFolder } from "../../support/folder.ts";
import { listen } from "../../support/listen.ts";
import { failMain, get, startMain } from "./product.ts";

const project = resolve(import.meta.dirname, "../../..");
const supported = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64"];

/** The environment of a Node process that reports another platform, such as `darwin-arm64`. */
const pretending = (platform: string): Record<string, string> => ({
  PRETENDED_PLATFORM: platform,
  NODE_OPTIONS: `--require "${resolve(import.meta.dirname, "pretend-platform.cjs")}"`,
});

/** The packages that `npm ci` would install on a platform. npm has only the lock file: no registry, and no cache. */
async function installedOn(platform: string): Promise<string[]> {
  const folder = newFolder();
  for (const file of ["package.json", "package-lock.json", "test/mutate/typescript-6/package.json"]) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await copyFile(join(project, file), join(folder, file));
  }
  const { PATH = "", HOME = "" } = process.env;
  const { stdout } = await promisify(execFile)(
    "npm",
    ["ci", "--dry-run", "--offline", "--ignore-scripts", "--cache", join(folder, "cache")],
    { cwd: folder, env: { PATH, HOME, ...pretending(platform) } },
  );
  return stdout.split("\n").flatMap((line) => /^add (\S+)/.exec(line)?.[1] ?? []);
}

test.each(supported)("npm ci installs on %s, with the binaries of that platform", async (platform) => {
  const installed = await installedOn(platform);
  const binaries = (scope: string) => installed.filter((name) => name.startsWith(scope));
  expect(binaries("@dynoxide/")).toEqual([`@dynoxide/${platform}`]);
  expect(binaries("@esbuild/")).toEqual([`@esbuild/${platform}`]);
  expect(binaries("@oxlint-tsgolint/")).toEqual([`@oxlint-tsgolint/${platform}`]);
  for (const scope of ["@oxlint/binding-", "@oxfmt/binding-", "@rolldown/binding-", "@typescript/typescript-"]) {
    expect(binaries(scope)).toEqual([expect.stringContaining(platform)]);
  }
});

test("on a platform without an embedded engine, npm ci installs the other packages", async () => {
  const installed = await installedOn("freebsd-x64");
  expect(installed).toContain("zod");
  expect(installed.filter((name) => name.startsWith("@dynoxide/"))).toEqual([]);
});

test.each(supported)("the engine of %s is found in its package", (platform) => {
  expect(binaryPath(platform, (id) => `/modules/${id}`)).toBe(
    `/modules/@dynoxide/${platform}/dynoxide${platform === "win32-x64" ? ".exe" : ""}`,
  );
});

const notInstalled = (): never => {
  throw new Error("not found");
};

test("the error for an engine that is not installed names its package and how to install it", () => {
  expect(() => binaryPath("darwin-arm64", notInstalled)).toThrow(/@dynoxide\/darwin-arm64 is not installed[^]*npm ci/);
});

test("a start without an engine prints an instruction on one screen, and exits with 1", async () => {
  const { code, said } = await failMain({ ...pretending("freebsd-x64"), DATA_DIR: newFolder(), PATH: newFolder() });
  expect(code).toBe(1);
  expect(said).toMatch(/freebsd-x64[^]*docker run[^]*java -jar[^]*AWS_ENDPOINT_URL_DYNAMODB/);
  const lines = said.split("\n");
  expect(lines.length).toBeLessThan(24);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100);
});

/** Makes a program with this name. It notes its arguments, and runs the embedded engine on the port in them. */
async function standIn(name: string): Promise<{ PATH: string; calls: string }> {
  const folder = newFolder();
  const calls = join(folder, "calls.txt");
  const source = `#!/bin/sh
echo "$*" >>'${calls}'
case "$1" in info | -version) exit 0 ;; esac
port=$(echo "$*" | sed -En 's/.*(127.0.0.1:|-port )([0-9]+).*/\\2/p')
exec '${binaryPath()}' serve --host 127.0.0.1 -p "$port"
`;
  await writeFile(join(folder, name), source, { mode: 0o755 });
  return { PATH: `${folder}:/bin`, calls };
}

test.each(["docker", "java"])("without an engine, --yes starts the product on DynamoDB Local with %s", async (name) => {
  const dataDir = newFolder();
  const { PATH, calls } = await standIn(name);
  const env = { ...pretending("freebsd-x64"), DATA_DIR: dataDir, PATH };
  expect(await failMain(env)).toMatchObject({ code: 1, said: expect.stringContaining("--yes") });
  const folder = join(dataDir, "dynamodb-local");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "DynamoDBLocal.jar"), "");
  const product = await startMain(env, "--yes");
  expect((await get(`${product.baseUrl}/v1/public/accounts`, product.token)).status).toBe(200);
  expect(await readFile(calls, "utf8")).toContain(folder);
  const inUse = expect.stringContaining(`held by process ${product.child.pid}`);
  expect(await failMain(env, "--reset", "--yes")).toEqual({ code: 1, said: inUse });
  product.child.kill("SIGTERM");
  expect(await product.exit()).toBe(0);
});

test("without a jar, DynamoDB Local is downloaded from the archive and run with Java", async () => {
  const dataDir = newFolder();
  const { PATH, calls } = await standIn("java");
  const packed = join(newFolder(), "archive.tar.gz");
  await writeFile(join(dataDir, "DynamoDBLocal.jar"), "");
  await promisify(execFile)("tar", ["-czf", packed, "-C", dataDir, "DynamoDBLocal.jar"]);
  const archive = await readFile(packed);
  const server = createServer((_, response) => response.end(archive));
  const source = `http://127.0.0.1:${await listen(server)}/`;
  vi.stubEnv("PATH", PATH);
  onTestFinished(() => void vi.unstubAllEnvs());
  const options = { reason: "There is no engine.", dataDir, confirm: async () => true, say: () => {} };
  const engine = await startDynamoDbLocal({ ...options, source });
  onTestFinished(engine.stop);
  expect(await readFile(calls, "utf8")).toContain(join(dataDir, "dynamodb-local/DynamoDBLocal.jar"));
  await expect(startDynamoDbLocal({ ...options, confirm: async () => false })).rejects.toThrow("docker run");
});

test("an installation has no headers of Node, and no source maps of three large packages", () => {
  const packages = join(project, "node_modules");
  expect(existsSync(join(packages, `node/node_modules/node-${process.platform}-${process.arch}/include`))).toBe(false);
  expect(globSync("{zod,@aws-sdk/client-s3,vitest}/**/*.js.map", { cwd: packages })).toEqual([]);
});

test("no npm script needs a certain shell, except for `exec` in two scripts, which the installation makes known to cmd.exe", async () => {
  const { scripts } = JSON.parse(await readFile(join(project, "package.json"), "utf8"));
  for (const [name, script] of Object.entries<string>(scripts)) {
    const words = ["start", "mail-server"].includes(name) ? script.replace(/^exec /, "") : script;
    expect(words).not.toMatch(/(?:^|&& )[A-Z_]+=|\bexec\b|[;$'`{}]| & |\/dev\/|\/bin\/sh/);
  }
  expect(await readFile(join(project, scripts.postinstall.replace("node ", "")), "utf8")).toContain(
    'writeFileSync(join(packages, ".bin/exec.cmd"), "@%*\\r\\n")',
  );
});
