import { execFile, spawnSync } from "node:child_process";
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

import { expect, test } from "vitest";

import { binaryPath } from "../../../infra/local/table/engine-process.ts";
import { newFolder } from "../../support/folder.ts";
import { pretending } from "../../support/pretend-platform.ts";
import { failMain } from "./product.ts";

const project = resolve(import.meta.dirname, "../../..");
const supported = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];

/** What `npm ci` would install on a platform, by the lock file alone: no registry, and nothing in the cache. */
async function installedOn(platform: string): Promise<string[]> {
  const folder = newFolder();
  for (const file of ["package.json", "package-lock.json", "infra/client/typescript-6/package.json"]) {
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

test.each([...supported, "win32-x64"])(
  "npm ci installs on %s, with the binaries of that platform",
  async (platform) => {
    const installed = await installedOn(platform);
    const binaries = (scope: string) => installed.filter((name) => name.startsWith(scope));
    expect(binaries("@dynoxide/")).toEqual([`@dynoxide/${platform}`]);
    expect(binaries("@esbuild/")).toEqual([`@esbuild/${platform}`]);
    expect(binaries("@oxlint-tsgolint/")).toEqual([`@oxlint-tsgolint/${platform}`]);
    for (const scope of ["@oxlint/binding-", "@oxfmt/binding-", "@rolldown/binding-", "@typescript/typescript-"]) {
      expect(binaries(scope)).toEqual([expect.stringContaining(platform)]);
    }
  },
);

test("npm ci installs where there is no embedded engine, without one", async () => {
  const installed = await installedOn("freebsd-x64");
  expect(installed).toContain("zod");
  expect(installed.filter((name) => name.startsWith("@dynoxide/"))).toEqual([]);
});

test.each(supported)("the engine of %s is found in its package", (platform) => {
  expect(binaryPath(platform, (id) => `/modules/${id}`)).toBe(`/modules/@dynoxide/${platform}/dynoxide`);
});

const notInstalled = (): never => {
  throw new Error("not found");
};

test("a package that is not installed is named, with how to install it and how to do without", () => {
  const problem = /@dynoxide\/darwin-arm64 is not installed[^]*npm ci[^]*docker run[^]*AWS_ENDPOINT_URL_DYNAMODB=/;
  expect(() => binaryPath("darwin-arm64", notInstalled)).toThrow(problem);
});

test("Windows without a Linux beside it is told of WSL2", () => {
  expect(() => binaryPath("win32-x64")).toThrow("WSL2");
});

test("a start where there is no engine says in one screen what to do instead, and exits 1", async () => {
  const { code, said } = await failMain({ DATA_DIR: newFolder(), ...pretending("freebsd-x64") });
  expect(code).toBe(1);
  expect(said).toMatch(/freebsd-x64[^]*docker run[^]*java -jar[^]*AWS_ENDPOINT_URL_DYNAMODB=\S+ npm start/);
  const lines = said.split("\n");
  expect(lines.length).toBeLessThan(24);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100);
});

test("npm start looks for Windows before it runs a command that Windows' shell cannot read", async () => {
  const { scripts } = JSON.parse(await readFile(join(project, "package.json"), "utf8"));
  const [command, file] = scripts.prestart.split(" ");
  const run = (env: Record<string, string>) =>
    spawnSync(process.execPath, [file], { cwd: project, encoding: "utf8", env });
  expect(command).toBe("node");
  expect(run(pretending("win32-x64"))).toMatchObject({ status: 1, stderr: expect.stringContaining("wsl --install") });
  expect(run({})).toMatchObject({ status: 0, stderr: "" });
});
