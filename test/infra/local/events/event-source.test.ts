import type { DynamoDBStreamEvent } from "aws-lambda";
import { expect, test } from "vitest";

import type { DeadLetter } from "../../../../infra/local/events/event-log.ts";
import { eventSource } from "../../../../infra/local/events/event-source.ts";
import type { Item } from "../../../../shared/table/writes.ts";

const row = (name: string): Item => ({ PK: "ACCOUNT#acc", SK: name, count: 3 });
const rows = (names: string): Item[] => names.split("").map(row);
const nameOf = (record: DynamoDBStreamEvent["Records"][number]): string => record.dynamodb?.Keys?.["SK"]?.S ?? "";

/**
 * An event source with a handler that fails as `fail` says: `fail` gets the names of a batch, and returns the name of
 * the failing record, or an error to throw. `calls` has the batches, and `dead` the names in dead letters.
 */
function sourceFor(fail: (names: string) => string | Error | undefined, retries = 2) {
  const calls: string[] = [];
  const letters: DeadLetter[] = [];
  const deliver = eventSource({
    retries,
    retryDelayMs: 0,
    onDeadLetter: async (letter) => void letters.push(letter),
    handler: async ({ Records }) => {
      const names = Records.map(nameOf).join("");
      calls.push(names);
      const failed = fail(names);
      if (failed instanceof Error) throw failed;
      const record = Records.find((one) => nameOf(one) === failed);
      return { batchItemFailures: record ? [{ itemIdentifier: record.dynamodb?.SequenceNumber ?? "" }] : [] };
    },
  });
  return { deliver, calls, dead: () => letters.map(({ sk }) => sk).join(""), letters };
}

test("rows arrive as the INSERT records of a stream, with sequence numbers that ascend", async () => {
  const events: DynamoDBStreamEvent[] = [];
  const deliver = eventSource({
    handler: async (event) => {
      events.push(event);
      return { batchItemFailures: [] };
    },
    onDeadLetter: () => Promise.reject(new Error("nothing failed")),
  });
  await deliver(rows("ab"));
  const records = events.flatMap(({ Records }) => Records);
  expect(records[0]).toMatchObject({
    eventName: "INSERT",
    eventSource: "aws:dynamodb",
    dynamodb: {
      Keys: { PK: { S: "ACCOUNT#acc" }, SK: { S: "a" } },
      NewImage: { PK: { S: "ACCOUNT#acc" }, SK: { S: "a" }, count: { N: "3" } },
    },
  });
  const [first = "", second = ""] = records.map(({ dynamodb }) => dynamodb?.SequenceNumber);
  expect(BigInt(first)).toBeLessThan(BigInt(second));
});

test("a batch is tried again from the record that the handler names", async () => {
  const failures = ["c", undefined];
  const { deliver, calls, dead } = sourceFor(() => failures.shift());
  await deliver(rows("abcd"));
  expect([calls, dead()]).toEqual([["abcd", "cd"], ""]);
});

test("a record that fails every time is a dead letter after its retries, and the records behind it are delivered", async () => {
  const { deliver, calls, dead, letters } = sourceFor((names) => (names.includes("b") ? "b" : undefined));
  await deliver(rows("abc"));
  expect(calls).toEqual(["abc", "bc", "bc", "c"]);
  expect(dead()).toBe("b");
  expect(letters[0]).toEqual({ at: expect.any(String), pk: "ACCOUNT#acc", sk: "b", reason: expect.any(String) });
});

test("a batch at which the handler throws is split until the failing record is alone", async () => {
  const { deliver, calls, dead, letters } = sourceFor(
    (names) => (names.includes("c") ? new Error("the cause") : undefined),
    1,
  );
  await deliver(rows("abcd"));
  expect(calls).toEqual(["abcd", "ab", "cd", "c", "c", "d"]);
  expect([dead(), letters[0]?.reason]).toEqual(["c", "the cause"]);
});

test("if a dead letter cannot be stored, the delivery fails, so that the row is not lost", async () => {
  const deliver = eventSource({
    retries: 0,
    handler: () => Promise.reject(new Error("no")),
    onDeadLetter: () => Promise.reject(new Error("disk full")),
  });
  await expect(deliver(rows("a"))).rejects.toThrow("disk full");
});
