import { existsSync } from "node:fs";
import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import { StartProblem } from "../../../../infra/local/command-line.ts";
import { resetDataDir } from "../../../../infra/local/start/reset.ts";
import { markFile, prepareDataDir } from "../../../../infra/local/table/data-version.ts";
import { holdLock } from "../../../../infra/local/table/lock.ts";
import { newFolder } from "../../../support/folder.ts";

/** A data folder with files of every kind. */
async function dataFolder(): Promise<string> {
  const folder = newFolder();
  await prepareDataDir(folder);
  for (const name of ["table.db", "table.db-wal", "demo.json", "issuer.json", "events.ndjson.1", "secrets.key.new"]) {
    await writeFile(join(folder, name), "{}");
  }
  await mkdir(join(folder, "event-queue"));
  await writeFile(join(folder, "event-queue", "one.json"), "{}");
  return folder;
}

async function reset(folder: string, answer = true): Promise<string[]> {
  const said: string[] = [];
  await resetDataDir(folder, {
    confirm: async (question) => {
      said.push(question);
      return answer;
    },
    say: (text) => said.push(text),
  });
  return said;
}

test("a reset deletes the product's files, keeps and names other files, and does not follow links", async () => {
  const folder = await dataFolder();
  const elsewhere = newFolder();
  await writeFile(join(elsewhere, "precious"), "");
  await symlink(elsewhere, join(folder, "files"));
  await writeFile(join(folder, "notes.txt"), "mine");
  const [question, said] = await reset(folder);
  expect(question).toContain(folder);
  expect(said).toContain("notes.txt");
  expect(await readdir(folder)).toEqual(["notes.txt", markFile]);
  await prepareDataDir(folder);
  expect(existsSync(join(elsewhere, "precious"))).toBe(true);
});

test("data of a version without the mark file can be reset too", async () => {
  const folder = newFolder();
  for (const name of ["table.db", "issuer.json"]) await writeFile(join(folder, name), "");
  await reset(folder);
  expect(await readdir(folder)).toEqual([markFile]);
});

test("the table of DynamoDB Local is deleted together with the keys of its secrets", async () => {
  const folder = newFolder();
  await prepareDataDir(folder);
  await writeFile(join(folder, "secrets.key"), "");
  await mkdir(join(folder, "dynamodb-local"));
  await writeFile(join(folder, "dynamodb-local", "shared-local-instance.db"), "");
  await reset(folder);
  expect(await readdir(folder)).toEqual([markFile]);
});

test("if there is nothing to delete, nobody is asked", async () => {
  const folder = join(newFolder(), "none");
  expect(await reset(folder)).toEqual([`There is nothing to delete in ${folder}.`]);
  expect(existsSync(folder)).toBe(false);
});

describe("nothing is deleted", () => {
  test("in a folder that is not a data folder of the product", async () => {
    const folder = newFolder();
    for (const name of ["table.db", "package.json", "docs"]) await writeFile(join(folder, name), "");
    await expect(reset(folder)).rejects.toThrow(/not a data folder.*DATA_DIR/);
    expect(await readdir(folder)).toHaveLength(3);
  });

  test("while a process has the data, and the error names the process", async () => {
    const folder = await dataFolder();
    onTestFinished(await holdLock(join(folder, "table.db")));
    const before = await readdir(folder);
    await expect(reset(folder)).rejects.toThrow(`process ${process.pid}`);
    expect(await readdir(folder)).toEqual(before);
  });

  test("if the person answers no", async () => {
    const folder = await dataFolder();
    const before = await readdir(folder);
    await expect(reset(folder, false)).rejects.toThrow(StartProblem);
    expect(await readdir(folder)).toEqual(before);
  });
});
