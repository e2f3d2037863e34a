import { mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { StartProblem } from "../../../../infra/local/command-line.ts";
import { readSecretsKey } from "../../../../infra/local/start/environment.ts";
import { secretsOf } from "../../../../shared/providers/secrets/factory.ts";
import { newFolder } from "../../../support/folder.ts";

test("the key is made once, in a file that only its owner can read, and stays the same", async () => {
  const folder = newFolder();
  const key = await readSecretsKey(folder);
  expect(Buffer.from(key, "base64")).toHaveLength(32);
  expect(await readSecretsKey(folder)).toBe(key);
  expect(await readdir(folder)).toEqual(["secrets.key"]);
  expect((await stat(join(folder, "secrets.key"))).mode & 0o777).toBe(0o600);
  expect(await readSecretsKey(newFolder())).not.toBe(key);
});

test("secrets outlive a restart", async () => {
  const folder = newFolder();
  const sealed = await secretsOf({ SECRETS_KEY: await readSecretsKey(folder) }).seal("hush", {});
  expect(await secretsOf({ SECRETS_KEY: await readSecretsKey(folder) }).open(sealed, {})).toBe("hush");
});

test("a file that has no key stops the start, and is not replaced", async () => {
  const folder = newFolder();
  const file = join(folder, "secrets.key");
  await writeFile(file, "half a k");
  await expect(readSecretsKey(folder)).rejects.toThrow(StartProblem);
  expect(await readFile(file, "utf8")).toBe("half a k");
});

test("a key that cannot be read stops the start", async () => {
  const folder = newFolder();
  await mkdir(join(folder, "secrets.key"));
  await expect(readSecretsKey(folder)).rejects.toThrow(StartProblem);
});
