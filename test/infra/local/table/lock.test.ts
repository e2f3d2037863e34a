import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { Locked, holdLock, lockAddress } from "../../../../infra/local/table/lock.ts";

test("a lock has one holder, and another process learns who holds it", async () => {
  const name = randomUUID();
  const release = await holdLock(name);
  const refusal = await holdLock(name).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(Locked);
  expect(refusal).toMatchObject({ pid: process.pid });
  await release();
  onTestFinished(await holdLock(name));
});

test("a lock whose holder is ending, and does not answer any more, is free in a moment", async () => {
  const name = randomUUID();
  const ending = createServer((socket) => {
    socket.destroy();
    ending.close();
  });
  await once(ending.listen(lockAddress(name)), "listening");
  onTestFinished(await holdLock(name));
  expect(await holdLock(name).catch((error: unknown) => error)).toBeInstanceOf(Locked);
});

test("locks with different names are independent", async () => {
  onTestFinished(await holdLock(randomUUID()));
  await expect(holdLock(randomUUID()).then((release) => release())).resolves.toBeUndefined();
});
