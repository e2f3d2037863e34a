import type { Table } from "../../shared/table/table.ts";
import type { Write } from "../../shared/table/writes.ts";

/** Commits with one run of the plan. Throws if the plan is run again, because the first run met contention then. */
export const once = (table: Table, writes: Write[]) => {
  let runs = 0;
  return table.commit(async () => {
    if (runs++ > 0) throw new Error("contention");
    return { writes, value: "committed" };
  });
};
