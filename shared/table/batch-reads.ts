import type { SeenItems } from "./seen-items.ts";
import type { Table } from "./table.ts";
import { anyItem, type Item, type Key } from "./writes.ts";

type Request = { key: Key; resolve: (item: Item | undefined) => void; reject: (error: unknown) => void };

/**
 * Wraps a table so that one `getMany` reads all items that `get` and `getMany` request in one turn of the event loop.
 * An item that is requested twice is read once. Each read is as fresh as a separate read. `glimpse` answers from `seen`
 * if `seen` has the item.
 */
export function batchReads(table: Table, seen: SeenItems): Table {
  let waiting: Request[] = [];
  const flush = (): void => {
    const requests = waiting;
    waiting = [];
    table.getMany(requests.map(({ key }) => key)).then(
      (items) => requests.forEach(({ resolve }, index) => resolve(items[index])),
      (error: unknown) => requests.forEach(({ reject }) => reject(error)),
    );
  };
  const read = async (key: Key): Promise<Item | undefined> => {
    const item = await new Promise<Item | undefined>((resolve, reject) => {
      if (waiting.length === 0) setImmediate(flush);
      waiting.push({ key, resolve, reject });
    });
    seen.update(key, item);
    return item;
  };
  return {
    ...table,
    seen,
    get: async (key, schema) => {
      const item = await read(key);
      return item === undefined ? undefined : schema.parse(item);
    },
    getMany: (keys) => Promise.all(keys.map(read)),
    glimpse: async (key, schema) => {
      const item = seen.recall(key) ?? (await table.glimpse(key, anyItem));
      if (item) seen.note(item);
      return item === undefined ? undefined : schema.parse(item);
    },
  };
}
