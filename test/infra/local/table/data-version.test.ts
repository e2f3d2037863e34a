import { existsSync } from "node:fs";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { StartProblem, defaultDataDir, startCommand, startProblemOf } from "../../../../infra/local/command-line.ts";
import {
  dataVersion,
  markFile,
  prepareDataDir,
  readMark,
  unreadableVersion,
} from "../../../../infra/local/table/data-version.ts";
import { newFolder } from "../../../support/folder.ts";

const problemOf = async (attempt: Promise<unknown>): Promise<string> => {
  const error = await attempt.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StartProblem);
  return (error as StartProblem).message;
};

const marked = async (version: number): Promise<string> => {
  const folder = newFolder();
  const mark = { product: "hosted-mail-api", data_version: version };
  await writeFile(join(folder, markFile), JSON.stringify(mark));
  await writeFile(join(folder, "table.db"), "rows");
  return folder;
};

test("a new folder is marked with the version of its data, and is accepted again", async () => {
  const folder = join(newFolder(), "deep", "down");
  await prepareDataDir(folder);
  expect(await readMark(folder)).toBe(dataVersion);
  await writeFile(join(folder, "table.db"), "rows");
  await prepareDataDir(folder);
});

test("a folder with other files is refused, and does not change", async () => {
  const folder = newFolder();
  await mkdir(join(folder, "docs"));
  await writeFile(join(folder, "version.json"), '{"name":"my project"}');
  expect(await problemOf(prepareDataDir(folder))).toMatch(/not empty \(docs, version.json\). Set DATA_DIR/);
  expect(await readFile(join(folder, "version.json"), "utf8")).toBe('{"name":"my project"}');
  expect(await readdir(folder)).toEqual(["docs", "version.json"]);
});

test("data of a version without the mark file is refused with the command for new data, and does not change", async () => {
  const folder = newFolder();
  await writeFile(join(folder, "table.db"), "rows");
  const problem = await problemOf(prepareDataDir(folder));
  expect(problem).toContain("older version");
  expect(problem).toContain("npm start -- --reset");
  expect(problem).toMatch(/DATA_DIR=\S+ npm start/);
  expect(await readdir(folder)).toEqual(["table.db"]);
});

test.each(["", "{", "[]", '{"product":"hosted-mail-api"}'])(
  "the error for a garbled mark file (%j) says that the file cannot be read, not that the version is older",
  async (mark) => {
    const folder = await marked(dataVersion);
    await writeFile(join(folder, markFile), mark);
    const problem = await problemOf(prepareDataDir(folder));
    expect(problem).toContain(`${join(folder, markFile)} cannot be read`);
    expect(problem).not.toContain("older version");
    expect(problem).toContain(`DATA_DIR=${folder} npm start -- --reset`);
  },
);

test("the command for new data names the data folder, unless it is the default folder", () => {
  expect(startCommand("/tmp/my data", "--reset")).toBe("DATA_DIR='/tmp/my data' npm start -- --reset");
  expect(startCommand(defaultDataDir, "--reset")).toBe("npm start -- --reset");
});

test("data of an older version is refused", async () => {
  expect(await problemOf(prepareDataDir(await marked(-1)))).toContain("older version");
});

test("data whose reset did not finish is refused with the command that resets it", async () => {
  const folder = await marked(unreadableVersion);
  const problem = await problemOf(prepareDataDir(folder));
  expect(problem).toContain(`A reset of ${folder} did not finish`);
  expect(problem).toContain(`DATA_DIR=${folder} npm start -- --reset`);
  expect(await readFile(join(folder, "table.db"), "utf8")).toBe("rows");
});

test("data of a newer version is refused with the commands for an update, and does not change", async () => {
  const folder = await marked(dataVersion + 1);
  const problem = await problemOf(prepareDataDir(folder));
  expect(problem).toContain(`data version ${dataVersion + 1}`);
  expect(problem).toContain("git pull && npm ci");
  expect(await readFile(join(folder, "table.db"), "utf8")).toBe("rows");
});

test("a full disk is reported before anything is written to it", async () => {
  const folder = newFolder();
  expect(await problemOf(prepareDataDir(folder, async () => 5 * 1024 * 1024))).toMatch(/is full: 5 MiB are free/);
  expect(existsSync(join(folder, markFile))).toBe(false);
});

test("the message about a folder that cannot be created or written names the setting", async () => {
  const file = join(newFolder(), "a-file");
  await writeFile(file, "");
  expect(await problemOf(prepareDataDir(join(file, "under-it")))).toContain("DATA_DIR");
  const folder = newFolder();
  const goneMeanwhile = async (): Promise<number> => {
    await rm(folder, { recursive: true });
    return 1e9;
  };
  expect(await problemOf(prepareDataDir(folder, goneMeanwhile))).toMatch(
    /cannot be written.*\n.*DATA_DIR=\S+ npm start/,
  );
});

test("missing parents of the data folder are created too", async () => {
  const folder = join(newFolder(), "a/b");
  await prepareDataDir(folder);
  expect(await readMark(folder)).toBe(dataVersion);
});

test.runIf(process.platform === "linux")(
  "a data folder in /proc, where nobody can create a folder, is reported at once",
  async () => {
    for (const folder of ["/proc/none", "/proc/none/below"])
      expect(await problemOf(prepareDataDir(folder))).toMatch(/\(DATA_DIR\) cannot be created/);
  },
);

test.each(["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM"])(
  "the error %s is explained in words, with the file",
  (code) => {
    const error = Object.assign(new Error(`${code}: open '/data/x'`), { code, path: "/data/x" });
    expect(startProblemOf(error)?.message).toMatch(/^[A-Z].* \S.*\/data\/x/);
  },
);

test("an error of the product is not reported as a problem of its user", () => {
  expect(startProblemOf(new TypeError("x is not a function"))).toBeUndefined();
});
