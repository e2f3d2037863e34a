import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";
import * as z from "zod";

import {
  dueKey,
  dueWrite,
  forgetDue,
  moveDue,
  readDue,
  type TaskSubject,
  type Queue,
} from "../../../shared/table/due.ts";
import { testTable } from "../../support/world.ts";

const newQueue = (shards = 4): Queue => ({ name: `TEST#${randomUUID()}`, shards });
const [early, late] = ["2026-03-01T00:00:00.000Z", "2026-03-02T00:00:00.000Z"];
const write = (writes: Parameters<ReturnType<typeof testTable>["attempt"]>[0][]) =>
  testTable().commit(async () => ({ value: undefined, writes }));
const dueAt = async (queue: Queue, at: string) => (await readDue(testTable(), queue, new Date(at))).flat();

test("a task is found at its due time and not before, with its subject, the earliest first", async () => {
  const queue = newQueue();
  const one: TaskSubject = ["account", "domain", "one"];
  const other: TaskSubject = ["account", "domain", "two"];
  await write([dueWrite(queue, one, late), dueWrite(queue, other, early)]);
  expect(await dueAt(queue, "2026-02-28T23:59:59.999Z")).toEqual([]);
  expect(await dueAt(queue, early)).toEqual([{ at: early, subject: other }]);
  expect(await dueAt(queue, late)).toEqual([
    { at: early, subject: other },
    { at: late, subject: one },
  ]);
});

test("an account's tasks are in one shard, and the accounts are spread over all shards", () => {
  const queue = newQueue(8);
  const accounts = Array.from({ length: 200 }, () => randomUUID());
  const shards = accounts.map((id) => dueKey(queue, [id, "a"], early).PK);
  expect(new Set(shards)).toEqual(new Set(Array.from({ length: 8 }, (_, shard) => `${queue.name}#${shard}`)));
  expect(accounts.map((id) => dueKey(queue, [id, "b"], late).PK)).toEqual(shards);
});

test("an account's tasks are in the same shard as in earlier versions of the product", () => {
  const keyOf = (digit: number) =>
    dueKey({ name: "Q", shards: 8 }, [`00000000-0000-4000-8000-00000000000${digit}`, "a"], early);
  // The first byte of the SHA-256 of the account's id, modulo the number of shards.
  expect([keyOf(1), keyOf(2)]).toEqual([
    { PK: "Q#1", SK: `${early}#00000000-0000-4000-8000-000000000001#a` },
    { PK: "Q#7", SK: `${early}#00000000-0000-4000-8000-000000000002#a` },
  ]);
});

test("a task that is not done expires 400 days after its due time", () => {
  expect(dueWrite(newQueue(), ["account"], "1970-01-02T00:00:00.500Z")).toMatchObject({
    put: { ttl: 86_401 + 400 * 86_400 },
  });
});

test("a move between due times writes and deletes only if something changes", () => {
  const [queue, place] = [newQueue(), ["account"] as const];
  const [gone, there] = [{ delete: dueKey(queue, place, early) }, dueWrite(queue, place, late)];
  expect(moveDue(queue, place, early, early)).toEqual([]);
  expect(moveDue(queue, place, null, null)).toEqual([]);
  expect(moveDue(queue, place, early, null)).toEqual([gone]);
  expect(moveDue(queue, place, null, late)).toEqual([there]);
  expect(moveDue(queue, place, early, late)).toEqual([gone, there]);
});

test("`forgetDue` removes a task from its queue only if nothing is due any more", async () => {
  const [queue, table] = [newQueue(), testTable()];
  const due = dueKey(queue, ["account"], early);
  await write([dueWrite(queue, ["account"], early)]);
  const unchanged = { check: { PK: queue.name, SK: "nothing" }, if: "absent" as const };
  await forgetDue(table, due, async () => ({ isDue: true, unchanged }));
  expect(await table.get(due, z.unknown())).toBeDefined();
  await forgetDue(table, due, async () => ({ isDue: false, unchanged }));
  expect(await table.get(due, z.unknown())).toBeUndefined();
});
