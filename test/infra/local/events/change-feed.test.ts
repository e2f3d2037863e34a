import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { publishChanges } from "../../../../functions/workers/publish-changes.ts";
import { openChangeFeed } from "../../../../infra/local/events/change-feed.ts";
import { DeadLetter, deadLettersIn, embeddedPublisher, eventsIn } from "../../../../infra/local/events/event-log.ts";
import { eventSource } from "../../../../infra/local/events/event-source.ts";
import type { Event } from "../../../../shared/changes/record.ts";
import { createLog } from "../../../../shared/core/log.ts";
import { clock, dayMs, setClockAhead } from "../../../../shared/core/time.ts";
import type { Table } from "../../../../shared/table/table.ts";
import { changeOf, labelOf, listedAccount, newTable, record, recordPoison } from "../../../support/changes.ts";
import { newFolder } from "../../../support/folder.ts";

const log = createLog("silent", {});

type Given = { onEvent?: (event: Event) => void; now?: () => number; afterBatch?: () => Promise<void> };

/** A feed that publishes with the real worker into the event log of a folder, as the local runtime does. */
async function feedOf(table: Table, folder: string, { onEvent, now, afterBatch }: Given = {}) {
  const deliver = eventSource({
    handler: publishChanges(() => ({ publish: embeddedPublisher(eventsIn(folder), { onEvent }), log })),
    onDeadLetter: (letter) => deadLettersIn(folder).append([letter]),
    retryDelayMs: 0,
  });
  return openChangeFeed({
    table,
    file: join(folder, "change-feed.json"),
    deliver: async (rows) => {
      await deliver(rows);
      await afterBatch?.();
    },
    ...(now ? { now } : {}),
  });
}

const labelsIn = async (folder: string): Promise<string[]> =>
  (await eventsIn(folder).read()).map((event) => labelOf(event as Event));

test("the feed publishes existing and new changes, each once and in order", async () => {
  const [table, folder] = [await newTable(), newFolder()];
  const [first, second] = [await listedAccount(table), await listedAccount(table)];
  await record(table, first, [changeOf("a", 1), changeOf("b", 1)]);
  const feed = await feedOf(table, folder);
  await feed.poll();
  await feed.poll();
  expect(await labelsIn(folder)).toEqual(["a1", "b1"]);
  await record(table, first, [changeOf("a", 2)]);
  await record(table, second, [changeOf("c", 1)]);
  await feed.poll();
  expect(await labelsIn(folder)).toEqual(["a1", "b1", "a2", "c1"]);
});

test("after a restart published changes are not published again, and later changes are", async () => {
  const [table, folder] = [await newTable(), newFolder()];
  const account = await listedAccount(table);
  await record(table, account, [changeOf("a", 1)]);
  await (await feedOf(table, folder)).poll();
  await record(table, account, [changeOf("a", 2)]);
  await (await feedOf(table, folder)).poll();
  expect(await labelsIn(folder)).toEqual(["a1", "a2"]);
});

test("after a crash between publishing a change and noting it, the change is published again, and no change is missing", async () => {
  const [table, folder] = [await newTable(), newFolder()];
  const account = await listedAccount(table);
  await record(table, account, [changeOf("a", 1)]);
  await (await feedOf(table, folder)).poll();
  await record(table, account, [changeOf("a", 2)]);
  // After the crash, the disk has the note from before the publishing.
  const before = await readFile(join(folder, "change-feed.json"));
  await (await feedOf(table, folder)).poll();
  await writeFile(join(folder, "change-feed.json"), before);
  await record(table, account, [changeOf("a", 3)]);
  await (await feedOf(table, folder)).poll();
  expect(await labelsIn(folder)).toEqual(["a1", "a2", "a2", "a3"]);
});

test("if the note cannot be read, everything is published again", async () => {
  const [table, folder] = [await newTable(), newFolder()];
  await record(table, await listedAccount(table), [changeOf("a", 1)]);
  await (await feedOf(table, folder)).poll();
  await writeFile(join(folder, "change-feed.json"), '{"swept_at');
  await (await feedOf(table, folder)).poll();
  expect(await labelsIn(folder)).toEqual(["a1", "a1"]);
});

test("a change that appears up to half a minute after its time is still published, once", async () => {
  const [table, folder] = [await newTable(), newFolder()];
  const account = await listedAccount(table);
  let nowMs = Date.now();
  const feed = await feedOf(table, folder, { now: () => nowMs });
  await feed.poll();
  await record(table, account, [changeOf("a", 1)], new Date(nowMs - 29_000));
  for (const _ of [1, 2, 3]) {
    nowMs += 10_000;
    await feed.poll();
  }
  expect(await labelsIn(folder)).toEqual(["a1"]);
});

/** Moves the product's clock ahead of the machine's time, until the test has finished. */
function setAhead(ms: number): void {
  onTestFinished(() => setClockAhead(0));
  setClockAhead(ms);
}

test("the feed forgets the ids of published changes also while the clock is ahead of the machine's time", async () => {
  const [table, folder] = [await newTable(), newFolder()];
  const account = await listedAccount(table);
  const feed = await feedOf(table, folder);
  setAhead(dayMs);
  await record(table, account, [changeOf("a", 1)], clock());
  for (const second of [0, 60, 120, 180]) {
    setAhead(dayMs + second * 1_000);
    await feed.poll();
  }
  expect(await labelsIn(folder)).toEqual(["a1"]);
  expect(JSON.parse(await readFile(join(folder, "change-feed.json"), "utf8")).ids).toEqual([]);
});

test("the feed publishes a change that appears after a move of the clock and has a time from before the move", async () => {
  const [table, folder] = [await newTable(), newFolder()];
  const account = await listedAccount(table);
  const feed = await feedOf(table, folder);
  for (const second of [0, 60]) {
    setAhead(second * 1_000);
    await feed.poll();
  }
  const before = clock();
  setAhead(dayMs);
  await feed.poll();
  await record(table, account, [changeOf("a", 1)], before);
  setAhead(dayMs + 10_000);
  await feed.poll();
  expect(await labelsIn(folder)).toEqual(["a1"]);
});

test("the feed publishes new changes after the clock went back, because the file of the clock was lost", async () => {
  const [table, folder] = [await newTable(), newFolder()];
  const account = await listedAccount(table);
  setAhead(dayMs);
  await (await feedOf(table, folder)).poll();
  setAhead(0);
  const feed = await feedOf(table, folder);
  await record(table, account, [changeOf("a", 1)]);
  await feed.poll();
  expect(await labelsIn(folder)).toEqual(["a1"]);
});

test("an unreadable change becomes a dead letter, once, and the changes behind it are published", async () => {
  const [table, folder] = [await newTable(), newFolder()];
  const account = await listedAccount(table);
  await record(table, account, [changeOf("a", 1)], new Date(Date.now() - 20));
  const id = await recordPoison(table, account, new Date(Date.now() - 10));
  await record(table, account, [changeOf("a", 2), changeOf("b", 1), changeOf("c", 1)]);
  const feed = await feedOf(table, folder);
  await feed.poll();
  await feed.poll();
  expect(await labelsIn(folder)).toEqual(["a1", "a2", "b1", "c1"]);
  const letters = (await deadLettersIn(folder).read()).map((letter) => DeadLetter.parse(letter));
  expect(letters.map(({ sk }) => sk.split("#").at(-1))).toEqual([id]);
  await record(table, account, [changeOf("a", 3)]);
  await feed.poll();
  expect((await labelsIn(folder)).at(-1)).toBe("a3");
});

test("a listener that fails once gets the event again, and gets later events of the resource after it", async () => {
  const [table, folder] = [await newTable(), newFolder()];
  await record(table, await listedAccount(table), [changeOf("a", 1), changeOf("a", 2)]);
  const heard: string[] = [];
  const onEvent = (event: Event): void => {
    heard.push(labelOf(event));
    if (heard.length === 1) throw new Error("not now");
  };
  await (await feedOf(table, folder, { onEvent })).poll();
  expect(heard).toEqual(["a1", "a1", "a2"]);
});

test("changes during a poll are all published, and the changes of each resource are in order", async () => {
  const [table, folder] = [await newTable(), newFolder()];
  const accounts = [await listedAccount(table), await listedAccount(table)];
  const feed = await feedOf(table, folder);
  const things = ["a", "b", "c", "d"];
  const writing = Promise.all(
    things.map(async (thing, index) => {
      for (let n = 1; n <= 20; n++) await record(table, accounts[index % 2] ?? "", [changeOf(thing, n)]);
    }),
  );
  const states = { isWriting: true };
  void writing.then(() => (states.isWriting = false));
  while (states.isWriting) await feed.poll();
  await feed.poll();
  const labels = await labelsIn(folder);
  for (const thing of things) {
    const own = labels.filter((label) => label.startsWith(thing));
    expect(own).toEqual(Array.from({ length: 20 }, (_, index) => `${thing}${index + 1}`));
  }
});

test("stop lets the current batch finish; the rest is published after the next start", async () => {
  const [table, folder] = [await newTable(), newFolder()];
  const account = await listedAccount(table);
  const changes = (from: number) => Array.from({ length: 60 }, (_, index) => changeOf("a", from + index));
  await record(table, account, changes(1), new Date(Date.now() - 10));
  await record(table, account, changes(61));
  const feed = await feedOf(table, folder, { afterBatch: async () => feed.stop() });
  await feed.poll();
  expect(await labelsIn(folder)).toHaveLength(100);
  await (await feedOf(table, folder)).poll();
  expect(await labelsIn(folder)).toEqual(Array.from({ length: 120 }, (_, index) => `a${index + 1}`));
});
