import type { Table } from "../table/table.ts";
import { type Item, itemKey, type Write } from "../table/writes.ts";

/** Ends a rehearsal at the first write of a route. */
export class RehearsalOver extends Error {}

/**
 * A table for a rehearsal, which writes nothing. `commit` runs its plan. For a plan without writes, it returns the
 * plan's value. Otherwise it compares the conditions that have an `orElse` with the stored items, and throws the error
 * of the first failed condition, or `RehearsalOver` if none failed. `attempt` throws `RehearsalOver` at once.
 */
export const planOnly = (table: Table): Table => ({
  ...table,
  attempt: async () => {
    throw new RehearsalOver();
  },
  commit: async (plan) => {
    const { writes, value } = await plan();
    if (writes.length === 0) return value;
    const guarded = writes.filter(({ orElse }) => orElse !== undefined);
    const stored = await table.getMany(guarded.map(itemKey));
    const failed = guarded.findIndex((write, index) => !holds(write.if, stored[index]));
    throw guarded[failed]?.orElse?.(scalarsOf(stored[failed])) ?? new RehearsalOver();
  },
});

/** Whether an item fulfils a condition. Bounds and `absentOr` count as fulfilled. */
function holds(condition: Write["if"], item: Item | undefined): boolean {
  if (condition === "absent") return item === undefined;
  if (condition === "present") return item !== undefined;
  return Object.entries(condition ?? {}).every(
    ([name, expected]) => typeof expected === "object" || item?.[name] === expected,
  );
}

const scalarsOf = (item: Item | undefined): Record<string, string> =>
  Object.fromEntries(
    Object.entries(item ?? {}).flatMap(([name, value]) =>
      typeof value === "string" || typeof value === "number" ? [[name, String(value)]] : [],
    ),
  );
