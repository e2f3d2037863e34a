import { entryKey } from "../table/journal.ts";
import type { Reader } from "../table/table.ts";
import type { Item } from "../table/writes.ts";
import { changeKey, changeJournalOf } from "./record.ts";

/** The prefix of the sort key of every change, the same for all accounts. */
export const changeKeyPrefix: string = changeKey("", "").SK;

const pageSize = 500;

/**
 * Reads an account's changes from `sinceMs` on and before `untilMs`, oldest first, a page at a time. It does not parse
 * the rows.
 */
export async function* changeRows(
  table: Reader,
  accountId: string,
  { sinceMs, untilMs = Infinity }: { sinceMs: number; untilMs?: number },
): AsyncGenerator<Item[]> {
  const { partition } = changeJournalOf(accountId);
  const until = boundary(accountId, untilMs);
  let from = boundary(accountId, sinceMs);
  for (;;) {
    const rows = await table.between(partition, from, until, { limit: pageSize });
    // `between` includes its ends, so from the second page on the first row repeats the last row of the page before.
    const page = rows.filter(({ SK }) => SK > from);
    if (page.length > 0) yield page;
    const last = rows.at(-1);
    if (!last || rows.length < pageSize) return;
    from = last.SK;
  }
}

const latestMs = 2 ** 48 - 1;

/** A sort key just before all changes made at `atMs` or later: the beginning of their UUIDv7. */
function boundary(accountId: string, atMs: number): string {
  const hex = Math.min(Math.max(0, Math.ceil(atMs)), latestMs)
    .toString(16)
    .padStart(12, "0");
  return entryKey(changeJournalOf(accountId), `${hex.slice(0, 8)}-${hex.slice(8)}`).SK;
}
