import type { Table } from "../../shared/table/table.ts";
import type { Write } from "../../shared/table/writes.ts";

/** One run of the plan and no more: a second one says that the first met contention. */
export const once = (table: Table, writes: Write[]) => {
  let runs = 0;
  return table.commit(async () => {
    if (runs++ > 0) throw new Error("contention");
    return { writes, value: "committed" };
  });
};
