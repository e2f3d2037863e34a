import { randomUUID } from "node:crypto";

import { expect, onTestFinished, test } from "vitest";

import { Locked, holdLock } from "../../../../infra/local/table/lock.ts";

test("a lock has one holder, and another process learns who holds it", async () => {
  const name = randomUUID();
  const release = await holdLock(name);
  const refusal = await holdLock(name).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(Locked);
  expect(refusal).toMatchObject({ pid: process.pid });
  await release();
  onTestFinished(await holdLock(name));
});

test("locks with different names are independent", async () => {
  onTestFinished(await holdLock(randomUUID()));
  await expect(holdLock(randomUUID()).then((release) => release())).resolves.toBeUndefined();
});
