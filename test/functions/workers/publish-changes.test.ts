import { expect, test } from "vitest";

import { publishChanges } from "../../../functions/workers/publish-changes.ts";
import type { Event } from "../../../shared/changes/record.ts";
import type { LogFields } from "../../../shared/core/log.ts";
import { changeOf, labelOf, poisonRecord, recordsOf, streamEvent } from "../../support/changes.ts";

const change = (label: string) => recordsOf("acc", [changeOf(label.charAt(0), Number(label.slice(1)))]);

/** A worker with a bus that refuses the events in `refuse`. Keeps the published events and the logged lines. */
function worker(refuse: string[] = []) {
  const published: Event[] = [];
  const lines: [string, LogFields][] = [];
  const write = (message: string, fields: LogFields = {}) => void lines.push([message, fields]);
  const publish = async (events: readonly Event[]): Promise<number[]> => {
    published.push(...events.filter((event) => !refuse.includes(labelOf(event))));
    return events.flatMap((event, index) => (refuse.includes(labelOf(event)) ? [index] : []));
  };
  const handler = publishChanges(() => ({ publish, log: { debug: write, info: write, error: write } }));
  return { handler, lines, events: published, published: () => published.map(labelOf) };
}

const numberOf = ([record]: ReturnType<typeof change>) => record?.dynamodb?.SequenceNumber;

test("publishes a change with its actor and both states, but without the actor's address", async () => {
  const { handler, events } = worker();
  const [row] = recordsOf("acc", [changeOf("a", 2)]);
  expect(await handler(streamEvent(...(row ? [row] : [])))).toEqual({ batchItemFailures: [] });
  expect(events).toEqual([
    {
      id: row?.dynamodb?.NewImage?.["id"]?.S,
      type: "thing.updated",
      timestamp: row?.dynamodb?.NewImage?.["at"]?.S,
      account_id: "acc",
      actor: { type: "user", id: "u-1" },
      resource: { type: "thing", id: "a" },
      data: { n: 2 },
      previous_data: { n: 1 },
    },
  ]);
});

test("skips everything that is not a new change: counters, other rows, expired rows", async () => {
  const { handler, published } = worker();
  const [row, counter] = change("a1");
  if (!row || !counter) throw new Error("a change is a row and a counter");
  const expired = { ...row, eventName: "REMOVE" as const };
  const other = { ...row, dynamodb: { ...row.dynamodb, Keys: { PK: { S: "ACCOUNT#acc" }, SK: { S: "ACCOUNT" } } } };
  expect(await handler(streamEvent(counter, expired, other))).toEqual({ batchItemFailures: [] });
  expect(published()).toEqual([]);
});

test("after a failure, later changes of the same resource wait, other changes are published, and the first failure is returned", async () => {
  const { handler, published } = worker(["a2"]);
  const [a1, b1, a2, a3, b2] = ["a1", "b1", "a2", "a3", "b2"].map(change);
  const all = [a1, b1, a2, a3, b2].flatMap((records) => records ?? []);
  expect(await handler(streamEvent(...all))).toEqual({ batchItemFailures: [{ itemIdentifier: numberOf(a2 ?? []) }] });
  expect(published()).toEqual(["a1", "b1", "b2"]);
});

test("a batch that comes again after a failure is published in order, also the events that were published before", async () => {
  const refuse = ["a1"];
  const { handler, published } = worker(refuse);
  const batch = streamEvent(...["a1", "b1", "a2"].flatMap(change));
  await handler(batch);
  refuse.pop();
  expect(await handler(batch)).toEqual({ batchItemFailures: [] });
  expect(published()).toEqual(["b1", "a1", "b1", "a2"]);
});

test("an unreadable change is returned as failed and logged without its content, and later changes wait", async () => {
  const { handler, published, lines } = worker();
  const poison = poisonRecord("acc");
  const answer = await handler(streamEvent(...change("a1"), poison, ...change("b1")));
  expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: poison.dynamodb?.SequenceNumber }] });
  expect(published()).toEqual(["a1"]);
  const line = lines.find(([message]) => message === "change not readable");
  expect(line?.[1]).toMatchObject({ sequence_number: poison.dynamodb?.SequenceNumber });
  expect(JSON.stringify(line)).not.toContain('"{"');
});

test("a batch that begins with an unreadable change throws, so that Lambda splits it; alone, the change is returned as failed", async () => {
  const { handler, published } = worker();
  const poison = poisonRecord("acc");
  await expect(handler(streamEvent(poison, ...change("a1")))).rejects.toThrow("cannot be read");
  expect(published()).toEqual([]);
  const failed = { batchItemFailures: [{ itemIdentifier: poison.dynamodb?.SequenceNumber }] };
  expect(await handler(streamEvent(poison))).toEqual(failed);
});

test("logs one line for each batch: the number of changes and of failures, and the age of the oldest change", async () => {
  const { handler, lines } = worker(["b1"]);
  await handler(streamEvent(...["a1", "b1"].flatMap(change)));
  expect(lines).toEqual([["changes", { count: 2, failures: 1, lag_ms: expect.any(Number) }]]);
});
