import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, onTestFinished, test, vi } from "vitest";

import { workers } from "../../../../infra/entry-points.ts";
import { eventQueueIn, type QueuedEvent } from "../../../../infra/local/events/event-queue.ts";
import {
  eventHandlers,
  startEventTarget,
  type EventTargetOptions,
} from "../../../../infra/local/events/event-target.ts";
import { timeOrderedId } from "../../../../shared/core/ids.ts";
import { newFolder } from "../../../support/folder.ts";

let count = 0;

/** An event that is newer than those before it. */
const newEvent = (account_id: unknown = "acc"): QueuedEvent => ({
  id: timeOrderedId(new Date(1_750_000_000_000 + count++)),
  type: "thing.changed",
  timestamp: "2026-07-01T12:00:00.000Z",
  account_id: String(account_id),
  resource: { type: "thing", id: "a" },
  actor: { type: "user", id: "u" },
  data: { n: count },
});

type Envelope = Parameters<EventTargetOptions["handler"]>[0];

/** A target on the queue of a folder. `calls` has the calls of its handler, and `givenUp` the events it gave up. */
function targetOn(folder: string, given: Partial<EventTargetOptions> = {}) {
  const queue = eventQueueIn(folder);
  const calls: Envelope[] = [];
  const givenUp: [string, string][] = [];
  const errors: unknown[] = [];
  const target = startEventTarget({
    queue,
    retryDelayMs: 0,
    onGivenUp: async ({ id }, reason) => void givenUp.push([id, reason]),
    onError: (error) => errors.push(error),
    ...given,
    handler: async (envelope) => {
      calls.push(envelope);
      await given.handler?.(envelope);
    },
  });
  onTestFinished(target.stop);
  const isEmpty = async () => expect(await queue.ids()).toEqual([]);
  return { queue, target, calls, givenUp, errors, emptied: () => vi.waitFor(isEmpty, 5_000) };
}

test("an event arrives as EventBridge brings it, once, and leaves the queue", async () => {
  const folder = newFolder();
  const event = newEvent();
  await eventQueueIn(folder).put(event);
  const { calls, emptied } = targetOn(folder);
  await emptied();
  expect(calls).toEqual([
    {
      version: "0",
      id: event.id,
      source: "hosted-mail",
      account: "000000000000",
      region: "local",
      time: event.timestamp,
      resources: ["thing/a"],
      "detail-type": "thing.changed",
      detail: event,
    },
  ]);
});

test("an added event is handled without a read of the queue, and stays in the queue until it is handled", async () => {
  const folder = newFolder();
  const queue = eventQueueIn(folder);
  const release = Promise.withResolvers<void>();
  const read = vi.fn<typeof queue.read>(queue.read);
  const { calls, emptied, target } = targetOn(folder, { queue: { ...queue, read }, handler: () => release.promise });
  const event = newEvent();
  await target.add(event);
  await vi.waitFor(() => expect(calls.map(({ detail }) => detail)).toEqual([event]));
  expect(await queue.ids()).toEqual([event.id]);
  release.resolve();
  await emptied();
  expect([calls.length, read.mock.calls]).toEqual([1, []]);
});

test("a call that does not end holds up no other event, and at most `atOnce` calls run at a time", async () => {
  const folder = newFolder();
  const queue = eventQueueIn(folder);
  const [release, three] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const events = Array.from({ length: 12 }, () => newEvent());
  for (const event of events) await queue.put(event);
  let [now, most] = [0, 0];
  const { emptied, calls } = targetOn(folder, {
    atOnce: 3,
    handler: async ({ id }) => {
      most = Math.max(most, ++now);
      if (now === 3) three.resolve();
      await three.promise;
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
      if (id === events[0]?.id) await release.promise;
      now -= 1;
    },
  });
  onTestFinished(() => release.resolve());
  await vi.waitFor(async () => expect(await queue.ids()).toEqual([events[0]?.id]), 10_000);
  expect([calls.length, most]).toEqual([12, 3]);
  release.resolve();
  await emptied();
});

test("an account whose calls do not end has at most eight places, even with more events, and holds up no other account", async () => {
  const folder = newFolder();
  const queue = eventQueueIn(folder);
  const release = Promise.withResolvers<void>();
  const stuck = Array.from({ length: 40 }, () => newEvent("stuck"));
  const quick = Array.from({ length: 3 }, () => newEvent("quick"));
  for (const event of [...stuck, ...quick]) await queue.put(event);
  const { calls, emptied, target } = targetOn(folder, {
    handler: async ({ detail }) => (detail.account_id === "stuck" ? release.promise : undefined),
  });
  onTestFinished(() => release.resolve());
  const callsOf = (account: string) => calls.filter(({ detail }) => detail.account_id === account).length;
  await vi.waitFor(() => expect(callsOf("quick")).toBe(3), 5_000);
  await queue.put(newEvent("quick"));
  target.wake();
  await vi.waitFor(() => expect(callsOf("quick")).toBe(4), 5_000);
  expect(callsOf("stuck")).toBe(8);
  release.resolve();
  await emptied();
  expect([callsOf("stuck"), callsOf("quick")]).toEqual([40, 4]);
});

test("200 events of an account are handled after a single read of the queue", async () => {
  const folder = newFolder();
  const queue = eventQueueIn(folder);
  for (let n = 0; n < 200; n++) await queue.put(newEvent());
  let looks = 0;
  const ids = (): Promise<string[]> => {
    looks += 1;
    return queue.ids();
  };
  const { calls, emptied } = targetOn(folder, { queue: { ...queue, ids } });
  await emptied();
  expect([calls.length, looks]).toEqual([200, 1]);
});

test("an event whose handler fails is handed over again, and given up with the reason after its retries", async () => {
  const folder = newFolder();
  const [bad, good] = [newEvent(), newEvent()];
  for (const event of [bad, good]) await eventQueueIn(folder).put(event);
  const handler = async ({ id }: Envelope) => {
    if (id === bad.id) throw new Error("no table");
  };
  const { calls, givenUp, emptied } = targetOn(folder, { handler, retries: 2 });
  await emptied();
  expect(calls.map(({ id }) => id).toSorted()).toEqual([bad.id, bad.id, bad.id, good.id]);
  expect(givenUp).toEqual([[bad.id, "no table"]]);
});

test("an event whose dead letter cannot be stored stays in the queue, and is logged", async () => {
  const folder = newFolder();
  const event = newEvent();
  await eventQueueIn(folder).put(event);
  const full = new Error("disk full");
  const { errors, queue } = targetOn(folder, {
    retries: 0,
    handler: () => Promise.reject(new Error("no table")),
    onGivenUp: () => Promise.reject(full),
  });
  await vi.waitFor(() => expect(errors).toEqual([full]));
  expect(await queue.ids()).toEqual([event.id]);
});

test("stop waits for the running call; an event whose call failed is handled after the next start", async () => {
  const folder = newFolder();
  const event = newEvent();
  await eventQueueIn(folder).put(event);
  const failed = Promise.withResolvers<void>();
  const first = targetOn(folder, { handler: () => failed.promise, retryDelayMs: 600_000 });
  await vi.waitFor(() => expect(first.calls).toHaveLength(1));
  let isStopped = false;
  const stopped = first.target.stop().then(() => (isStopped = true));
  await Promise.resolve();
  expect(isStopped).toBe(false);
  failed.reject(new Error("not now"));
  await stopped;
  expect(await first.queue.ids()).toEqual([event.id]);
  const second = targetOn(folder);
  await second.emptied();
  expect(second.calls.map(({ id }) => id)).toEqual([event.id]);
});

test("the queue has each event once, in the order of their ids, readable only by its owner, and no half-written event", async () => {
  const folder = newFolder();
  const queue = eventQueueIn(folder);
  expect(await queue.ids()).toEqual([]);
  const [first, second] = [newEvent(), newEvent()];
  for (const event of [second, first, second]) await queue.put(event);
  await writeFile(join(folder, "event-queue", "cut-off.json.new"), "{");
  expect(await queue.ids()).toEqual([first.id, second.id]);
  expect(await queue.read(first.id)).toEqual(first);
  for (const name of [".", ...(await readdir(join(folder, "event-queue"))).filter((one) => one.endsWith(".json"))]) {
    expect((await stat(join(folder, "event-queue", name))).mode & 0o077).toBe(0);
  }
});

test("every worker that gets events of some types on the deployed bus gets them locally", () => {
  const bound = workers.flatMap(({ name, source }) =>
    typeof source === "object" && "events" in source && source.events !== "all" ? [name] : [],
  );
  expect(Object.keys(eventHandlers).toSorted()).toEqual(bound.toSorted());
});
