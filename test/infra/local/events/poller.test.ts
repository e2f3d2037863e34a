import { expect, onTestFinished, test } from "vitest";

import { restAfter, startPoller, type Poller } from "../../../../infra/local/events/poller.ts";

/** A poller whose work ends only when `finish` is called. `errors` has the errors that it reported. */
function pollerOf(options: { idleMs?: number; fail?: boolean } = {}) {
  const started: (() => void)[] = [];
  const waiting: (() => void)[] = [];
  const errors: unknown[] = [];
  let count = 0;
  const poller: Poller = startPoller({
    idleMs: options.idleMs ?? 600_000,
    onError: (error) => errors.push(error),
    work: () =>
      new Promise((resolve, reject) => {
        count += 1;
        waiting.push(() => (options.fail === true ? reject(new Error("failed")) : resolve()));
        started.shift()?.();
      }),
  });
  const finish = (): void => waiting.shift()?.();
  /** Resolves when the next work has begun. */
  const begun = (): Promise<void> => new Promise((resolve) => void started.push(resolve));
  onTestFinished(async () => {
    const stopped = poller.stop();
    finish();
    await stopped;
  });
  return { poller, finish, begun, errors, count: () => count };
}

test("the poller works at once, and works again if it is woken during the work, even many times", async () => {
  const { poller, finish, begun, count } = pollerOf();
  expect(count()).toBe(1);
  const second = begun();
  for (let call = 0; call < 5; call++) poller.wake();
  finish();
  await second;
  expect(count()).toBe(2);
});

test("run waits for work that begins after the call, also if the work fails", async () => {
  const { poller, finish, begun, errors } = pollerOf({ fail: true });
  const second = begun();
  const ended: string[] = [];
  const ran = poller.run().then(() => ended.push("run"));
  finish();
  await second;
  ended.push("second began");
  finish();
  await ran;
  expect([ended, errors]).toEqual([
    ["second began", "run"],
    [new Error("failed"), new Error("failed")],
  ]);
});

test("run ends when the poller stops", async () => {
  const { poller, finish, count } = pollerOf();
  const ran = poller.run();
  const stopped = poller.stop();
  finish();
  await Promise.all([ran, stopped]);
  await poller.run();
  expect(count()).toBe(1);
});

test("the poller works again after the idle time if nothing wakes it", async () => {
  const { finish, begun, count } = pollerOf({ idleMs: 1 });
  const second = begun();
  finish();
  await second;
  expect(count()).toBe(2);
});

test("an error is reported and does not end the poller", async () => {
  const { poller, finish, begun, errors } = pollerOf({ fail: true });
  const second = begun();
  poller.wake();
  finish();
  await second;
  expect(errors).toEqual([new Error("failed")]);
});

test("stop waits for the current work, and no other work begins", async () => {
  const { poller, finish, count } = pollerOf();
  poller.wake();
  let isStopped = false;
  const stopped = poller.stop().then(() => (isStopped = true));
  await Promise.resolve();
  expect(isStopped).toBe(false);
  finish();
  await stopped;
  expect(count()).toBe(1);
});

test("the poller rests four times as long as the work took, at least 100 ms and at most a second", () => {
  expect([0, 10, 100, 200].map((tookMs) => restAfter(tookMs, 4))).toEqual([100, 100, 400, 800]);
  expect([251, 1_000, 60_000, Infinity].map((tookMs) => restAfter(tookMs, 4))).toEqual([1_000, 1_000, 1_000, 1_000]);
  expect(restAfter(60_000, 0)).toBe(100);
});
