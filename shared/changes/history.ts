import { entryKey } from "../table/journal.ts";
import type { Reader } from "../table/table.ts";
import type { Item } from "../table/writes.ts";
import { changeKey, changesOf } from "./record.ts";

/** What the sort key of every change begins with, whatever its account. */
export const changeKeyPrefix: string = changeKey("", "").SK;

const pageSize = 500;

/**
 * The rows of an account's changes from `sinceMs` on and before `untilMs`, oldest first, a page at a time. The
 * rows are as they are stored: whoever reads them parses them.
 */
export async function* changeRows(
  table: Reader,
  accountId: string,
  { sinceMs, untilMs = Infinity }: { sinceMs: number; untilMs?: number },
): AsyncGenerator<Item[]> {
  const { partition } = changesOf(accountId);
  const until = boundary(accountId, untilMs);
  let from = boundary(accountId, sinceMs);
  for (;;) {
    const rows = await table.between(partition, from, until, { limit: pageSize });
    // `between` includes its ends: from the second page on the first row is the last one again.
    const page = rows.filter(({ SK }) => SK > from);
    if (page.length > 0) yield page;
    const last = rows.at(-1);
    if (!last || rows.length < pageSize) return;
    from = last.SK;
  }
}

const latestMs = 2 ** 48 - 1;

/** The sort key before that of every change made at an instant or later: the start of their UUIDv7. */
function boundary(accountId: string, atMs: number): string {
  const hex = Math.min(Math.max(0, Math.ceil(atMs)), latestMs)
    .toString(16)
    .padStart(12, "0");
  return entryKey(changesOf(accountId), `${hex.slice(0, 8)}-${hex.slice(8)}`).SK;
}
