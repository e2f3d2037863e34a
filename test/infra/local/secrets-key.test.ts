import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { readSecretsKey } from "../../../infra/local/secrets-key.ts";
import { StartProblem } from "../../../infra/local/start-problem.ts";
import { secretsOf } from "../../../shared/providers/secrets.ts";

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "hosted-mail-key-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

test("makes a key once, for its owner's eyes, and keeps it", async () => {
  const folder = await newFolder();
  const key = await readSecretsKey(folder);
  expect(Buffer.from(key, "base64")).toHaveLength(32);
  expect(await readSecretsKey(folder)).toBe(key);
  expect(await readdir(folder)).toEqual(["secrets.key"]);
  expect((await stat(join(folder, "secrets.key"))).mode & 0o777).toBe(0o600);
  expect(await readSecretsKey(await newFolder())).not.toBe(key);
});

test("secrets outlive a restart", async () => {
  const folder = await newFolder();
  const sealed = await secretsOf({ SECRETS_KEY: await readSecretsKey(folder) }).seal("hush", {});
  expect(await secretsOf({ SECRETS_KEY: await readSecretsKey(folder) }).open(sealed, {})).toBe("hush");
});

test("never replaces what is no key", async () => {
  const folder = await newFolder();
  const file = join(folder, "secrets.key");
  await writeFile(file, "half a k");
  await expect(readSecretsKey(folder)).rejects.toThrow(StartProblem);
  expect(await readFile(file, "utf8")).toBe("half a k");
});

test("says so when the key cannot be read", async () => {
  const folder = await newFolder();
  await mkdir(join(folder, "secrets.key"));
  await expect(readSecretsKey(folder)).rejects.toThrow(StartProblem);
});
