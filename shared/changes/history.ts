import { boundary } from "../table/journal-keys.ts";
import { pagesOf } from "../table/reads.ts";
import type { Reader } from "../table/table.ts";
import type { Item } from "../table/writes.ts";
import { changeKey, changeJournalOf } from "./record.ts";

/** The prefix of the sort key of every change, the same for all accounts. */
export const changeKeyPrefix: string = changeKey("", "").SK;

/**
 * Reads an account's changes from `sinceMs` (included) to `untilMs` (not included), oldest first, in pages of at most
 * 500 rows. The rows are not parsed.
 */
export async function* readChangePages(
  table: Reader,
  accountId: string,
  { sinceMs, untilMs = Infinity }: { sinceMs: number; untilMs?: number },
): AsyncGenerator<Item[]> {
  const journal = changeJournalOf(accountId);
  const keyAt = (atMs: number): string => boundary(journal, clampedMs(atMs));
  yield* pagesOf(table, { partition: journal.partition, from: keyAt(sinceMs), to: keyAt(untilMs) });
}

/** The latest time that fits into a UUIDv7. */
const latestMs = 2 ** 48 - 1;
const clampedMs = (atMs: number): number => Math.min(Math.max(0, Math.ceil(atMs)), latestMs);
