import { describe, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";

import type { TableClient } from "../../../shared/table/client.ts";
import type { Input } from "../../../shared/table/operations.ts";
import { openTable } from "../../../shared/table/table.ts";

/** A table that answers with `answer`, and the inputs of its calls. */
function tableOf<I>(answer: (input: I) => object) {
  const asked: I[] = [];
  const client = {
    send: async (_: string, input: I) => {
      asked.push(input);
      return answer(input);
    },
  } as unknown as TableClient;
  const usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  return { table: openTable(client, "t", usage), asked, usage };
}

const key = (index: number) => ({ PK: "p", SK: String(index) });
const keys = (count: number) => Array.from({ length: count }, (_, index) => key(index));

test("`get` reads an item consistently, `glimpse` reads it for half the price, and both parse it", async () => {
  const { table, asked } = tableOf<Input<"GetItem">>(({ Key }) => (Key?.["SK"] === "0" ? { Item: { n: 1 } } : {}));
  const schema = z.object({ n: z.int().transform((n) => n + 1) });
  expect([await table.get(key(0), schema), await table.glimpse(key(0), schema)]).toEqual([{ n: 2 }, { n: 2 }]);
  expect([await table.get(key(1), schema), await table.glimpse(key(1), schema)]).toEqual([undefined, undefined]);
  expect(asked.map(({ ConsistentRead }) => ConsistentRead)).toEqual([true, false, true, false]);
});

describe("many items", () => {
  type Batch = Input<"BatchGetItem">;
  const keysIn = ({ RequestItems }: Batch) => RequestItems?.["t"]?.Keys ?? [];

  test.each([
    [0, []],
    [1, [1]],
    [100, [100]],
    [101, [100, 1]],
    [250, [100, 100, 50]],
  ])("(%i) are read consistently, in batches of at most 100", async (count, batches) => {
    const { table, asked } = tableOf<Batch>((input) => ({ Responses: { t: keysIn(input) } }));
    expect(await table.getMany(keys(count))).toEqual(keys(count));
    expect(asked.map((input) => keysIn(input).length)).toEqual(batches);
    expect(asked.every(({ RequestItems }) => RequestItems?.["t"]?.ConsistentRead === true)).toBe(true);
  });

  test("come in the order of the keys, a repeated key twice, and a missing item as undefined", async () => {
    const { table, asked } = tableOf<Batch>((input) => ({
      Responses: {
        t: keysIn(input)
          .filter(({ SK }) => SK !== "1")
          .toReversed(),
      },
    }));
    expect(await table.getMany([key(2), key(1), key(0), key(2)])).toEqual([key(2), undefined, key(0), key(2)]);
    expect(asked.map((input) => keysIn(input).length)).toEqual([3]);
  });

  test("that the table leaves out are requested again, and their costs are added up", async () => {
    const { table, asked, usage } = tableOf<Batch>((input) => {
      const [first, ...rest] = keysIn(input);
      const more = rest.length > 0 ? { UnprocessedKeys: { t: { Keys: rest } } } : {};
      return { Responses: { t: [first] }, ConsumedCapacity: [{ CapacityUnits: 0.5 }], ...more };
    });
    expect(await table.getMany(keys(3))).toEqual(keys(3));
    expect(asked.map((input) => keysIn(input).length)).toEqual([3, 2, 1]);
    expect(usage).toEqual({ readUnits: 1.5, writeUnits: 0, calls: 3 });
  });

  test("that the table leaves out seven times are a 503", async () => {
    const chance = vi.spyOn(Math, "random").mockReturnValue(0);
    onTestFinished(() => chance.mockRestore());
    const { table, asked } = tableOf<Batch>((input) => ({ UnprocessedKeys: { t: { Keys: keysIn(input) } } }));
    await expect(table.getMany(keys(1))).rejects.toMatchObject({ code: "busy", extras: { retry_after: 1 } });
    expect(asked).toHaveLength(7);
    expect(chance).toHaveBeenCalledTimes(6);
  });
});

describe("a range", () => {
  type Query = Input<"Query">;
  /** Answers with two of the five items at a time, like a table whose pages have room for two items. */
  const inPages = (input: Query) => {
    const all = input.ScanIndexForward ? keys(5) : keys(5).toReversed();
    const from = input.ExclusiveStartKey ? all.findIndex(({ SK }) => SK === input.ExclusiveStartKey?.["SK"]) + 1 : 0;
    const Items = all.slice(from, from + Math.min(2, input.Limit ?? 2));
    const isLast = from + Items.length >= all.length;
    return { Items, ConsumedCapacity: { CapacityUnits: 1 }, ...(isLast ? {} : { LastEvaluatedKey: Items.at(-1) }) };
  };

  test("is read to its end, consistently, in its order or in reverse order", async () => {
    const { table, asked, usage } = tableOf<Query>(inPages);
    expect(await table.between("p", "0", "9")).toEqual(keys(5));
    expect(await table.between("p", "0", "9", { newestFirst: true })).toEqual(keys(5).toReversed());
    expect(asked.every(({ ConsistentRead, Limit }) => ConsistentRead === true && Limit === undefined)).toBe(true);
    expect(asked[0]?.ExpressionAttributeValues).toEqual({ ":partition": "p", ":from": "0", ":to": "9" });
    expect(usage).toEqual({ readUnits: 6, writeUnits: 0, calls: 6 });
  });

  test.each([
    [1, [1]],
    [2, [2]],
    [3, [3, 1]],
    [4, [4, 2]],
    [9, [9, 7, 5]],
  ])("with the limit %i is not read further than this limit", async (limit, limits) => {
    const { table, asked } = tableOf<Query>(inPages);
    expect(await table.between("p", "0", "9", { limit })).toEqual(keys(Math.min(5, limit)));
    expect(asked.map(({ Limit }) => Limit)).toEqual(limits);
  });
});
