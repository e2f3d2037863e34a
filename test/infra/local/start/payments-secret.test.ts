import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { StartProblem } from "../../../../infra/local/command-line.ts";
import { readPaymentsSecret } from "../../../../infra/local/start/environment.ts";
import { PaymentsEnvironment } from "../../../../shared/providers/payments/factory.ts";
import { newFolder } from "../../../support/folder.ts";

test("the secret is made once, in a file that only its owner can read, and stays the same", async () => {
  const folder = newFolder();
  const secret = await readPaymentsSecret(folder);
  expect(PaymentsEnvironment.parse({ PAYMENTS_WEBHOOK_SECRET: secret }).PAYMENTS_WEBHOOK_SECRET).toBe(secret);
  expect(secret).toMatch(/^whsec_[\w-]{43}$/);
  expect(await readPaymentsSecret(folder)).toBe(secret);
  expect(await readdir(folder)).toEqual(["payments.secret"]);
  expect((await stat(join(folder, "payments.secret"))).mode & 0o777).toBe(0o600);
  expect(await readPaymentsSecret(newFolder())).not.toBe(secret);
});

test("an invalid secret is replaced", async () => {
  const folder = newFolder();
  await writeFile(join(folder, "payments.secret"), "whsec_");
  expect(await readPaymentsSecret(folder)).toMatch(/^whsec_[\w-]{43}$/);
});

test("a secret that cannot be read stops the start", async () => {
  const folder = newFolder();
  await mkdir(join(folder, "payments.secret"));
  await expect(readPaymentsSecret(folder)).rejects.toThrow(StartProblem);
});
