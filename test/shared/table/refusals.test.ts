import { TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";

import { Contention, failureOf, refusalOf, scalars } from "../../../shared/table/failures.ts";
import { newLocks } from "../../../shared/table/locks.ts";
import { openTable } from "../../../shared/table/table.ts";
import type { Write } from "../../../shared/table/writes.ts";

const named = (name: string, more: object = {}): Error => Object.assign(new Error(name), { name, ...more });
const canceled = (...codes: (string | undefined)[]) =>
  new TransactionCanceledException({
    message: "canceled",
    $metadata: {},
    CancellationReasons: codes.map((Code) => ({ ...(Code ? { Code } : {}), Item: { n: { N: "1" } } })),
  });

describe("the caller's error when the table fails", () => {
  test.each([
    ["TransactionConflictException", "Too many requests change the same resource at once. Try again."],
    ["ThrottlingException", "The table is throttled. Try again."],
    ["ProvisionedThroughputExceededException", "The table is throttled. Try again."],
    ["RequestLimitExceeded", "The table is throttled. Try again."],
  ])("is a 503 with a wait of one second for %s: %s", (name, message) => {
    expect(failureOf(named(name))).toMatchObject({ code: "busy", message, extras: { retry_after: 1 } });
  });

  test.each([
    named("TimeoutError"),
    named("InternalServerError"),
    named("ServiceUnavailable"),
    named("AbortError"),
    named("NetworkingError"),
    named("Error", { code: "ECONNREFUSED" }),
    named("Error", { code: "ECONNRESET" }),
    named("Error", { code: "ETIMEDOUT" }),
    named("Error", { code: "EPIPE" }),
  ])("is a 503 with a wait of two seconds for %s", (error) => {
    expect(failureOf(error)).toMatchObject({ code: "upstream_unavailable", extras: { retry_after: 2 } });
  });

  test("is the same error for our own mistake, or for an error that other code handles", () => {
    for (const error of [
      named("ValidationException"),
      named("Error", { code: 7 }),
      named("Error", { code: "EOTHER" }),
      canceled("TransactionConflict"),
      "no error",
      undefined,
    ]) {
      expect(failureOf(error)).toBe(error);
    }
  });
});

describe("the meaning of a failed transaction", () => {
  const key = { PK: "p", SK: "s" };
  const plain: Write = { put: key };
  const told: Write = { put: key, orElse: ({ n }) => new Error(`there was ${n}`) };

  test("is the error of the failed condition, and the first error of several failed conditions", () => {
    expect(refusalOf(canceled("None", "ConditionalCheckFailed"), [plain, told])).toMatchObject({
      message: "there was 1",
    });
    const second: Write = { ...told, orElse: () => new Error("second") };
    expect(refusalOf(canceled("ConditionalCheckFailed", "ConditionalCheckFailed"), [second, told])).toMatchObject({
      message: "second",
    });
  });

  test.each(["ConditionalCheckFailed", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"])(
    "is a lost race at the write for %s, if the write has no error of its own",
    (code) => {
      const refusal = refusalOf(canceled("None", code, undefined), [told, plain, plain]);
      expect(refusal).toBeInstanceOf(Contention);
      expect((refusal as Contention).writes).toEqual([plain]);
    },
  );

  test("is a lost race for a conflict, even if the write has an error of its own", () => {
    expect(refusalOf(canceled("TransactionConflict"), [told])).toBeInstanceOf(Contention);
  });

  test("is the same error for every other failure", () => {
    for (const error of [canceled("ValidationError"), canceled(), named("ValidationException")]) {
      expect(refusalOf(error, [plain])).toBe(error);
    }
  });
});

test("`scalars` returns the strings and numbers of an item as texts", () => {
  expect(scalars({ a: { S: "x" }, b: { N: "1" }, c: { BOOL: true }, d: { S: "" } })).toEqual({ a: "x", b: "1", d: "" });
  expect(scalars()).toEqual({});
});

describe("a transaction that the table is still at work on", () => {
  const plan = async () => ({ value: "done", writes: [{ put: { PK: "p", SK: "s" } }] });
  const busyFor = (times: number, limitMs: number) => {
    const tokens: unknown[] = [];
    const send = async (_: string, input: { ClientRequestToken: string }) => {
      tokens.push(input.ClientRequestToken);
      if (tokens.length <= times) throw named("TransactionInProgressException");
      return { ConsumedCapacity: [{ CapacityUnits: 2 }, {}] };
    };
    const usage = { readUnits: 0, writeUnits: 0, calls: 0 };
    return { table: openTable({ send, locks: newLocks() } as never, "t", usage, limitMs), tokens, usage };
  };

  test("is sent again with the same token until it is settled, and costs the reported units", async () => {
    const { table, tokens, usage } = busyFor(3, 10_000);
    expect(await table.commit(plan)).toBe("done");
    expect([tokens.length, new Set(tokens).size]).toEqual([4, 1]);
    expect(usage).toEqual({ readUnits: 0, writeUnits: 2, calls: 4 });
  });

  test("is a 503 if this takes too long", async () => {
    await expect(busyFor(Infinity, 30).table.commit(plan)).rejects.toMatchObject({
      code: "busy",
      extras: { retry_after: 1 },
    });
  });
});
