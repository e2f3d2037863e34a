import type { Table } from "./table.ts";
import type { Item, Key } from "./writes.ts";

type Waiting = {
  keys: Key[];
  resolve: (items: (Item | undefined)[]) => void;
  reject: (error: unknown) => void;
};

/**
 * Wraps a table so that all items requested in one turn of the event loop are read in one round trip. An item that is
 * requested twice is read once. Each read is as fresh as a separate read.
 */
export function batchReads(table: Table): Table {
  let waiting: Waiting[] = [];
  const flush = (): void => {
    const now = waiting;
    waiting = [];
    table.getMany(now.flatMap(({ keys }) => keys)).then(
      (items) => {
        let start = 0;
        for (const { keys, resolve } of now) resolve(items.slice(start, (start += keys.length)));
      },
      (error: unknown) => {
        for (const { reject } of now) reject(error);
      },
    );
  };
  const getMany = (keys: Key[]): Promise<(Item | undefined)[]> =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(flush);
      waiting.push({ keys, resolve, reject });
    });
  return {
    ...table,
    getMany,
    get: async (key, schema) => {
      const [item] = await getMany([key]);
      return item === undefined ? undefined : schema.parse(item);
    },
  };
}
