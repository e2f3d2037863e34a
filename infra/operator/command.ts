import type * as z from "zod";

import type { Table } from "../../shared/table/table.ts";

/** One thing an operator can do: its options by name, and what it answers. */
export type Command = {
  summary: string;
  options: Record<string, { description: string; schema: z.ZodType<string | undefined> }>;
  run: (table: Table, options: Record<string, string>, place: Place) => Promise<Record<string, unknown>>;
};

/** Where the table is: one on this machine has a data folder beside it. */
export type Place = { dataDir?: string };
