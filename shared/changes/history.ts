import { boundary } from "../table/journal-keys.ts";
import type { Reader } from "../table/table.ts";
import type { Item } from "../table/writes.ts";
import { changeKey, changeJournalOf } from "./record.ts";

/** The prefix of the sort key of every change, the same for all accounts. */
export const changeKeyPrefix: string = changeKey("", "").SK;

const pageSize = 500;

/**
 * Reads an account's changes from `sinceMs` (included) to `untilMs` (not included), oldest first, in pages of 500 rows.
 * The rows are not parsed.
 */
export async function* readChangePages(
  table: Reader,
  accountId: string,
  { sinceMs, untilMs = Infinity }: { sinceMs: number; untilMs?: number },
): AsyncGenerator<Item[]> {
  const journal = changeJournalOf(accountId);
  const keyAt = (atMs: number): string => boundary(journal, clampedMs(atMs));
  const until = keyAt(untilMs);
  let from = keyAt(sinceMs);
  for (;;) {
    const rows = await table.between(journal.partition, from, until, { limit: pageSize });
    // `between` includes its bounds, so the first row of a later page repeats the last row of the page before.
    const page = rows.filter(({ SK }) => SK > from);
    if (page.length > 0) yield page;
    const last = rows.at(-1);
    if (!last || rows.length < pageSize) return;
    from = last.SK;
  }
}

/** The latest time that fits into a UUIDv7. */
const latestMs = 2 ** 48 - 1;
const clampedMs = (atMs: number): number => Math.min(Math.max(0, Math.ceil(atMs)), latestMs);
