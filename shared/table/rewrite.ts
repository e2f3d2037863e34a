import * as z from "zod";

import { readAgain } from "./read-again.ts";
import { pagesOf, type Range } from "./reads.ts";
import type { Table } from "./table.ts";
import type { Item } from "./writes.ts";

const Versioned = z.object({ version: z.int() });

/**
 * Returns the members that an older version of the code did not write to a row, with their values. Undefined if the row
 * has all members.
 */
type MissingMembers = (row: Item) => Record<string, unknown> | undefined;

/**
 * Adds the missing members to the rows of a range. The other members stay as they are. If a row changes meanwhile, this
 * function reads the row again. It notices a change by the row's `version`, so all writers of these rows must compare
 * and raise `version`.
 */
export async function rewriteRows(table: Table, range: Range, missingIn: MissingMembers): Promise<void> {
  for await (const page of pagesOf(table, range)) for (const row of page) await rewriteRow(table, row, missingIn);
}

async function rewriteRow(table: Table, row: Item, missingIn: MissingMembers): Promise<void> {
  const { PK, SK } = row;
  let found: Item | undefined = row;
  await readAgain(async () => {
    const set = found && missingIn(found);
    if (!found || !set) return true;
    const { version } = Versioned.parse(found);
    const write = { update: { PK, SK }, set: { ...set, version: version + 1 }, if: { version } };
    if ((await table.attempt(write)).done) return true;
    [found] = await table.getMany([{ PK, SK }]);
    // Another process changed the row: try again.
    return undefined;
  });
}
