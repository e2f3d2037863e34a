import type { Table } from "../../shared/table/table.ts";

/**
 * A table whose process dies after a number of calls. Every later call fails, and does nothing. A transaction counts as
 * one call, and the reads of its plan count too.
 */
export function mortal(table: Table, calls: number): Table {
  let left = calls;
  const counted =
    <A extends unknown[], T>(call: (...given: A) => Promise<T>) =>
    async (...given: A): Promise<T> => {
      if (left-- <= 0) throw new Error("The process is dead.");
      return call(...given);
    };
  const { attempt, between, commit, getMany } = table;
  return {
    ...table,
    get: (key, schema) => counted(() => table.get(key, schema))(),
    glimpse: (key, schema) => counted(() => table.glimpse(key, schema))(),
    attempt: counted(attempt),
    between: counted(between),
    getMany: counted(getMany),
    commit: (plan) =>
      commit(async () => {
        const planned = await plan();
        await counted(async () => undefined)();
        return planned;
      }),
  };
}
