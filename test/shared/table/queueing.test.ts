import { TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";

import { newLocks } from "../../../shared/table/locks.ts";
import type { Input } from "../../../shared/table/operations.ts";
import { openTable } from "../../../shared/table/table.ts";
import type { Write } from "../../../shared/table/writes.ts";

/** The locks of this process. */
const locks = newLocks();

type Sent = { names: string[]; settle: () => void; refuse: (...codes: string[]) => void };

/** A table whose transactions the test answers itself, and the transactions that it got. */
function slowTable(name: string = crypto.randomUUID(), limitMs = 10_000) {
  const sent: Sent[] = [];
  const send = (_: string, input: Input<"TransactWriteItems">) =>
    new Promise((resolve, reject) => {
      const names = (input.TransactItems ?? []).map(({ Put, Update }) => String((Put?.Item ?? Update?.Key)?.["SK"]));
      const settle = () => resolve({});
      const refuse = (...codes: string[]) => {
        const CancellationReasons = codes.map((Code) => ({ Code }));
        reject(new TransactionCanceledException({ message: "canceled", $metadata: {}, CancellationReasons }));
      };
      sent.push({ names, settle, refuse });
    });
  const table = openTable({ send, locks } as never, name, undefined, limitMs);
  const commit = (...writes: Write[]) => table.commit(async () => ({ value: undefined, writes }));
  return { commit, sent };
}

/** Runs everything that waits only for the event loop. */
const idle = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((done) => setImmediate(done));
};

const key = (SK: string) => ({ PK: "p", SK });
/** A write to an item that the transaction has read, at version 1. */
const byReading = (SK: string): Write => ({ put: { ...key(SK), version: 2 }, if: { version: 1 } });

describe("of two transactions of this process at the same time", () => {
  /** How many of the two transactions are sent before the first one is settled. */
  const sentAtOnce = async (first: Write[], second: Write[]) => {
    const { commit, sent } = slowTable();
    const both = Promise.all([commit(...first), commit(...second)]);
    await idle();
    const count = sent.length;
    while (sent.length > 0) {
      for (const { settle } of sent.splice(0)) settle();
      await idle();
    }
    await both;
    return count;
  };

  test("the second one waits if both write to items that they read", async () => {
    expect(await sentAtOnce([byReading("a")], [byReading("a")])).toBe(1);
    expect(await sentAtOnce([byReading("a"), byReading("b")], [byReading("c"), byReading("b")])).toBe(1);
    expect(await sentAtOnce([byReading("a")], [{ delete: key("a"), if: { version: 1 } }])).toBe(1);
  });

  test.each<[string, Write]>([
    ["only check an item", { check: key("a"), if: { version: 1 } }],
    ["add to an item", { update: key("a"), add: { n: 1 } }],
    ["write to an item if it is absent", { put: key("a"), if: "absent" }],
    ["write to an item if it is present", { delete: key("a"), if: "present" }],
  ])("neither waits if they %s", async (_, write) => {
    expect(await sentAtOnce([write], [write])).toBe(2);
  });

  test("neither waits if they write to different items, or in different tables", async () => {
    expect(await sentAtOnce([byReading("a")], [byReading("b")])).toBe(2);
    const [one, other] = [slowTable(), slowTable()];
    const both = [one.commit(byReading("a")), other.commit(byReading("a"))];
    await idle();
    expect([one.sent.length, other.sent.length]).toEqual([1, 1]);
    for (const { settle } of [...one.sent, ...other.sent]) settle();
    await Promise.all(both);
  });

  test("the second one continues if the first one is refused", async () => {
    const { commit, sent } = slowTable();
    const refused = new Error("taken");
    const first = commit({ ...byReading("a"), orElse: () => refused });
    const second = commit(byReading("a"));
    await idle();
    sent[0]?.refuse("ConditionalCheckFailed");
    await expect(first).rejects.toBe(refused);
    await idle();
    expect(sent).toHaveLength(2);
    sent[1]?.settle();
    await second;
  });

  test("the second one gets a 503 if its turn does not come in time", async () => {
    const name = crypto.randomUUID();
    const [slow, hasty] = [slowTable(name), slowTable(name, 5)];
    const first = slow.commit(byReading("a"));
    await idle();
    await expect(hasty.commit(byReading("a"))).rejects.toMatchObject({ code: "busy", extras: { retry_after: 1 } });
    expect(hasty.sent).toEqual([]);
    slow.sent[0]?.settle();
    await first;
  });
});

describe("a transaction that loses a race against another process", () => {
  test("at an item that it has read: it holds only this item when it tries again", async () => {
    const { commit, sent } = slowTable();
    const first = commit(byReading("a"), { put: key("b"), if: "absent" });
    await idle();
    sent[0]?.refuse("ConditionalCheckFailed", "TransactionConflict");
    await idle();
    const [second, third] = [commit(byReading("b")), commit(byReading("a"))];
    while (sent.length < 3) await idle();
    expect(new Set(sent.slice(1).map(({ names }) => names.join(" ")))).toEqual(new Set(["b", "a b"]));
    for (const { settle } of sent) settle();
    await Promise.all([first, second]);
    while (sent.length < 4) await idle();
    sent[3]?.settle();
    await third;
  });

  test("at another item: it waits for its turn at this item before it tries again", async () => {
    const { commit, sent } = slowTable();
    const counting: Write = { update: key("n"), add: { n: 1 } };
    const holder = commit(byReading("n"));
    const loser = commit(counting);
    await idle();
    expect(sent).toHaveLength(2);
    sent[1]?.refuse("TransactionConflict");
    await idle();
    expect(sent).toHaveLength(2);
    sent[0]?.settle();
    await holder;
    await idle();
    expect(sent).toHaveLength(3);
    sent[2]?.settle();
    await loser;
  });
});
