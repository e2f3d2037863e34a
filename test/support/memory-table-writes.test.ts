import { randomUUID } from "node:crypto";

import fc from "fast-check";
import { expect, test } from "vitest";

import type { Table } from "../../shared/table/table.ts";
import type { Item, Key, Write } from "../../shared/table/writes.ts";
import { once } from "./memory-once.ts";
import { createMemoryStore, openMemoryTable } from "./memory-table.ts";
import type { Attributes } from "./memory-writes.ts";
import { throughSdk } from "./table-calls.ts";
import { testTable } from "./world.ts";

type Condition = NonNullable<Write["if"]>;

const name = fc.constantFrom("a", "b", "c");
const text = fc.constantFrom("", "x", "y", "é", "\ue000", "😀");
const scalar = fc.oneof(fc.integer({ min: -3, max: 3 }), text, fc.boolean());
const bound = fc.oneof(fc.integer({ min: -3, max: 3 }), text);
const value: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: scalar },
  fc.constant(undefined),
  fc.constant(null),
  fc.array(fc.option(scalar, { nil: undefined }), { maxLength: 3 }),
  fc.dictionary(name, fc.option(scalar, { nil: undefined }), { maxKeys: 2 }),
  fc.uint8Array({ maxLength: 4 }),
);
const expected = fc.oneof(scalar, fc.record({ atMost: bound }), fc.record({ above: bound }));
const attributes = fc.dictionary(name, expected, { minKeys: 1, maxKeys: 2 }) as fc.Arbitrary<Attributes>;
const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.constant("absent" as const),
  fc.constant("present" as const),
  attributes,
  attributes.map((absentOr) => ({ absentOr })),
);
const values = fc.dictionary(name, value, { maxKeys: 3 });
const sums = fc.dictionary(name, fc.integer({ min: -3, max: 3 }), { maxKeys: 2 });

/** A write of the item with this sort key. The error of `orElse` has the item that was found. */
const writeOf = (SK: string): fc.Arbitrary<Write> => {
  const key: Key = { PK: "?", SK };
  const action = fc.oneof(
    { weight: 3, arbitrary: values.map((item) => ({ put: { ...item, ...key } })) },
    {
      weight: 3,
      arbitrary: fc
        .record({ set: values, add: sums, remove: fc.uniqueArray(name) }, { requiredKeys: [] })
        .map((update) => ({ update: key, ...disjoint(update) })),
    },
    fc.constant({ delete: key }),
    fc.constant({ check: key }),
  );
  const more = fc.record({ if: condition, tells: fc.boolean() }, { requiredKeys: [] });
  return fc.tuple(action, more).map(([write, { tells, ...conditional }]) => ({
    ...write,
    ...conditional,
    ...(tells
      ? { orElse: (found: Record<string, string>) => new Error(`found ${JSON.stringify(sorted(found))}`) }
      : {}),
  }));
};

type Update = { set?: Record<string, unknown>; add?: Record<string, number>; remove?: string[] };

/**
 * An update that names each attribute once, and at least one. DynamoDB requires both, and the engine does not always.
 */
function disjoint({ set = {}, add = {}, remove = [] }: Update): Update {
  const added = Object.fromEntries(Object.entries(add).filter(([name]) => !(name in set)));
  const isEmpty = Object.values(set).every((value) => value === undefined) && Object.keys(added).length === 0;
  const removed = remove.filter((name) => !(name in set) && !(name in added));
  return { set, add: added, remove: isEmpty && removed.length === 0 ? ["d"] : removed };
}

const sorted = (record: Record<string, unknown>) => Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1));

const sortKey = fc.constantFrom("1", "2", "\ue000", "😀");
const step = fc.oneof(
  { weight: 2, arbitrary: sortKey.chain(writeOf).map((write) => ({ attempt: write })) },
  {
    weight: 4,
    arbitrary: fc
      .uniqueArray(sortKey, { maxLength: 3 })
      .chain((keys) => fc.tuple(...keys.map(writeOf)))
      .map((commit) => ({ commit })),
  },
  { weight: 1, arbitrary: fc.tuple(writeOf("1"), writeOf("1")).map((commit) => ({ commit })) },
  {
    weight: 1,
    arbitrary: fc
      .record({ from: sortKey, to: sortKey, limit: fc.integer({ min: 1, max: 3 }), newestFirst: fc.boolean() })
      .map((range) => ({ range })),
  },
);

const placed = <W extends Write>(write: W, PK: string): W =>
  Object.fromEntries(
    Object.entries(write).map(([member, one]) => [
      member,
      ["put", "update", "delete", "check"].includes(member) ? { ...(one as Key), PK } : one,
    ]),
  ) as W;

/** What a caller of the table sees: the answer, or the error. The messages of an invalid request may differ. */
async function outcomeOf(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return { answer: await work() };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error.message.startsWith("found ")) return { error: error.message };
    return { error: "code" in error ? error.code : isInvalid(error) ? "invalid" : error.message };
  }
}

const isInvalid = ({ name }: Error) => name === "ValidationException" || name === "TransactionCanceledException";

const withoutPartition = (item: Item | undefined) => (item ? { ...item, PK: "" } : item);

async function play(table: Table, partition: string, steps: readonly Step[]): Promise<unknown[]> {
  const seen: unknown[] = [];
  for (const step of steps) {
    seen.push(
      await outcomeOf(async () => {
        if ("attempt" in step) {
          const { done, ...rest } = await table.attempt(placed(step.attempt, partition));
          return { done, ...rest, ...("found" in rest ? { found: { ...rest.found, PK: "" } } : {}) };
        }
        if ("commit" in step)
          return once(
            table,
            step.commit.map((write) => placed(write, partition)),
          );
        const { from, to, ...options } = step.range;
        return (await table.between(partition, from, to, options)).map(withoutPartition);
      }),
    );
    const keys = ["1", "2", "\ue000", "😀", "none", "1"].map((SK) => ({ PK: partition, SK }));
    seen.push((await table.getMany(keys)).map(withoutPartition));
  }
  return JSON.parse(JSON.stringify(seen).replaceAll(partition, "")) as unknown[];
}

type Step =
  | { attempt: Write }
  | { commit: Write[] }
  | { range: { from: string; to: string; limit: number; newestFirst: boolean } };

test("random writes come to the same on the table in memory as on the engine", { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step as fc.Arbitrary<Step>, { minLength: 1, maxLength: 12 }), async (steps) => {
      const played = (table: Table) => play(table, `TEST#${randomUUID()}`, steps);
      const expected = await throughSdk(() => played(testTable()));
      expect(await played(openMemoryTable(createMemoryStore()))).toEqual(expected);
      // The product's own client gives the same outcome as the SDK.
      expect(await played(testTable())).toEqual(expected);
    }),
    { numRuns: 60 },
  );
});
