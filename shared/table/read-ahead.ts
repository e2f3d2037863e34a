import type { Range, RangeOptions } from "./reads.ts";
import type { Reader, Table } from "./table.ts";
import { type Item, type Key, keyText } from "./writes.ts";

/** The most rows of a range that are read ahead. A caller who is not authorized yet must not cause larger reads. */
const mostRows = 200;

/** Items and ranges that a request will read. */
export type Ahead = {
  keys?: readonly Key[];
  ranges?: readonly (Range & RangeOptions)[];
  /**
   * Whether the result of a `get` that was not read ahead is kept for one more `get` of the key. This saves a read in a
   * route that finds its resource before its plan runs, because the first run of the plan gets the resource again.
   */
  again?: boolean;
};

/**
 * Begins to read items and ranges, and returns a table that answers from the results.
 * - The first read of an item or range takes the result. A later read goes to the table. A key that is listed twice in
 *   `ahead` serves two reads.
 * - A write drops all results, and so does a plan that runs again.
 */
export function readAhead(table: Table, ahead: Ahead): Table {
  const { drop, ...reads } = readsAhead(table, ahead);
  return {
    ...table,
    ...reads,
    dropAhead: drop,
    attempt: (write) => table.attempt(write).finally(drop),
    commit: (plan) => {
      let runs = 0;
      const planned: typeof plan = () => {
        runs += 1;
        if (runs > 1) drop();
        return plan();
      };
      return table.commit(planned).finally(drop);
    },
  };
}

/** Like `readAhead`, for a reader, which cannot write. */
export const readerAhead = (table: Reader, ahead: Ahead): Reader => ({ ...table, ...readsAhead(table, ahead) });

type Reads = Pick<Reader, "get" | "glimpse" | "getMany" | "between"> & { drop: () => void };

function readsAhead(table: Reader, { keys = [], ranges = [], again = false }: Ahead): Reads {
  const earlyItems = keys.map((key) => ({ name: keyText(key), result: handled(table.getMany([key])) }));
  const earlyRanges = ranges.map((range) => {
    const limited = { ...range, limit: Math.min(range.limit ?? Infinity, mostRows) };
    return { ...limited, items: handled(table.between(limited.partition, limited.from, limited.to, limited)) };
  });
  const drop = (): void => {
    earlyItems.length = 0;
    earlyRanges.length = 0;
  };
  const read = async (key: Key, keepsResult = false): Promise<Item | undefined> => {
    const index = earlyItems.findIndex(({ name }) => name === keyText(key));
    const [early] = index === -1 ? [] : earlyItems.splice(index, 1);
    const result = early?.result ?? table.getMany([key]);
    if (keepsResult && !early) earlyItems.push({ name: keyText(key), result: handled(result) });
    return (await result)[0];
  };
  return {
    get: async (key, schema) => {
      const item = await read(key, again);
      return item === undefined ? undefined : schema.parse(item);
    },
    glimpse: async (key, schema) => {
      if (!earlyItems.some(({ name }) => name === keyText(key))) return table.glimpse(key, schema);
      const item = await read(key);
      if (item) table.seen?.note(item);
      return item === undefined ? undefined : schema.parse(item);
    },
    getMany: (all) => (earlyItems.length === 0 ? table.getMany(all) : Promise.all(all.map((key) => read(key)))),
    between: async (partition, from, to, options) => {
      const items = await takeRange(earlyRanges, { partition, from, to, ...options });
      return items ?? table.between(partition, from, to, options);
    },
    drop,
  };
}

type EarlyRange = Range & RangeOptions & { items: Promise<Item[]> };

/** Takes the items of a range from the ranges that were read ahead; undefined if not all of the items were read. */
async function takeRange(
  earlyRanges: EarlyRange[],
  { partition, from, to, limit = Infinity, newestFirst = false }: Range & RangeOptions,
): Promise<Item[] | undefined> {
  const index = earlyRanges.findIndex((range) => range.partition === partition && range.from <= from && to <= range.to);
  const [early] = index === -1 ? [] : earlyRanges.splice(index, 1);
  if (!early) return undefined;
  const items = await early.items;
  // If the limit cut off the range that was read ahead, only the rows up to the last row are known.
  const last = items.length === early.limit ? items.at(-1)?.SK : undefined;
  const isWhole = last === undefined || (early.newestFirst ? last <= from : to <= last);
  const inside = items.filter(({ SK }) => from <= SK && SK <= to);
  const isSameOrder = (early.newestFirst ?? false) === newestFirst;
  if (!isWhole && !(isSameOrder && inside.length >= limit)) return undefined;
  return (isSameOrder ? inside : inside.toReversed()).slice(0, limit);
}

/**
 * Marks a rejection as handled, because the promise may never be awaited. A caller who awaits it still gets the error.
 */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
