import type { RangeOptions } from "./reads.ts";
import type { Reader, Table } from "./table.ts";
import { type Item, type Key, keyText } from "./writes.ts";

/** The sort keys of a partition from `from` to `to`, both included. */
type Range = { partition: string; from: string; to: string };

/** The most rows of a range that are read ahead. There is a limit because the caller is not authorized yet. */
const mostRows = 200;

/** Items and ranges that a request will read. */
export type Ahead = {
  keys?: readonly Key[];
  ranges?: readonly (Range & RangeOptions)[];
  /**
   * Whether the result of a `get` serves the next `get` too. A route finds its resource, and the first run of its plan
   * reads the resource again.
   */
  again?: boolean;
};

/**
 * Begins to read items and ranges, and returns a table that answers with them.
 * - The first read of each takes what was read ahead. A later one reads it again. A key that is listed twice is read
 *   ahead for two reads, in one round trip.
 * - What was read ahead is dropped by a write, and when a plan runs again.
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

/** Like `readAhead`, for a reader. */
export const readerAhead = (table: Reader, ahead: Ahead): Reader => ({ ...table, ...readsAhead(table, ahead) });

type Reads = Pick<Reader, "get" | "getMany" | "between"> & { drop: () => void };

function readsAhead(table: Reader, { keys = [], ranges = [], again = false }: Ahead): Reads {
  const items = keys.map((key) => ({ name: keyText(key), found: handled(table.getMany([key])) }));
  const parts = ranges.map((range) => {
    const part = { ...range, limit: Math.min(range.limit ?? Infinity, mostRows) };
    return { ...part, items: handled(table.between(part.partition, part.from, part.to, part)) };
  });
  const drop = (): void => {
    items.length = 0;
    parts.length = 0;
  };
  const read = async (key: Key, isKept = false): Promise<Item | undefined> => {
    const place = items.findIndex(({ name }) => name === keyText(key));
    const [early] = place === -1 ? [] : items.splice(place, 1);
    const found = early?.found ?? table.getMany([key]);
    if (isKept && !early) items.push({ name: keyText(key), found: handled(found) });
    return (await found)[0];
  };
  return {
    get: async (key, schema) => {
      const item = await read(key, again);
      return item === undefined ? undefined : schema.parse(item);
    },
    getMany: (all) => (items.length === 0 ? table.getMany(all) : Promise.all(all.map((key) => read(key)))),
    between: async (partition, from, to, options) => {
      const early = await take(parts, { partition, from, to, ...options });
      return early ?? table.between(partition, from, to, options);
    },
    drop,
  };
}

type AheadRange = Range & RangeOptions & { items: Promise<Item[]> };

/** Takes the items of a range out of those that were read ahead; undefined if they were not all read. */
async function take(
  parts: AheadRange[],
  { partition, from, to, limit = Infinity, newestFirst = false }: Range & RangeOptions,
): Promise<Item[] | undefined> {
  const place = parts.findIndex((part) => part.partition === partition && part.from <= from && to <= part.to);
  const [part] = place === -1 ? [] : parts.splice(place, 1);
  if (!part) return undefined;
  const items = await part.items;
  const last = items.length === part.limit ? items.at(-1)?.SK : undefined;
  const isWhole = last === undefined || (part.newestFirst ? last <= from : to <= last);
  const inside = items.filter(({ SK }) => from <= SK && SK <= to);
  const isSameWay = (part.newestFirst ?? false) === newestFirst;
  if (!isWhole && !(isSameWay && inside.length >= limit)) return undefined;
  return (isSameWay ? inside : inside.toReversed()).slice(0, limit);
}

/** Marks a rejection as handled. The reader of the promise still sees it. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
