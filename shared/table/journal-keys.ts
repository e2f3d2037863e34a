import type { Order } from "../core/page.ts";
import { dayMs } from "../core/time.ts";
import type { Reader } from "./table.ts";
import type { Item, Key } from "./writes.ts";

/** An append-only log in a partition; `journal.ts` describes its rows. */
export type Journal = { partition: string; name: string; retentionDays: number };

/** A span of time from `fromMs` (included) to `untilMs` (not included), in milliseconds since 1970 in UTC. */
export type Span = { fromMs: number; untilMs: number };

/** The start of the UTC day of a time. */
export const dayStartOf = (atMs: number): number => Math.floor(atMs / dayMs) * dayMs;

/** A key of a journal. `rest` is the part of the sort key after the journal's name. */
export const journalKey = ({ partition, name }: Journal, rest: string): Key => ({
  PK: partition,
  SK: `JOURNAL#${name}#${rest}`,
});

/** The key of the entry with this id (UUIDv7). */
export const entryKey = (journal: Journal, id: string): Key => journalKey(journal, `ENTRY#${id}`);

/**
 * The beginning of every UUIDv7 of a time. The beginning sorts after all ids of earlier times, and before all other
 * ids.
 */
export function idAt(atMs: number): string {
  const hex = atMs.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

/** A sort key between the entries before a time and the entries at or after that time. */
export const boundary = (journal: Journal, atMs: number): string => entryKey(journal, idAt(atMs)).SK;

const chunkSize = 1_000;

/** Reads at most `limit` entries of a span, from its newest or its oldest end. */
export const readSpan = (
  table: Reader,
  journal: Journal,
  { fromMs, untilMs }: Span,
  limit: number,
  newestFirst: boolean,
): Promise<Item[]> =>
  table.between(journal.partition, boundary(journal, fromMs), boundary(journal, untilMs), { limit, newestFirst });

/**
 * Visits the entries of a span, newest first or, with `asc`, oldest first. Reads the entries in chunks, so that a long
 * span fits into memory.
 */
export async function scan(
  table: Reader,
  journal: Journal,
  span: Span,
  visit: (row: Item) => void,
  order: Order = "desc",
): Promise<void> {
  let [from, until] = [boundary(journal, span.fromMs), boundary(journal, span.untilMs)];
  for (;;) {
    const newestFirst = order === "desc";
    // `between` includes its bounds, so the first row of a later chunk repeats the last row of the chunk before.
    const chunk = await table.between(journal.partition, from, until, { limit: chunkSize, newestFirst });
    for (const row of chunk) if (row.SK > from && row.SK < until) visit(row);
    const last = chunk.at(-1);
    if (!last || chunk.length < chunkSize) return;
    if (newestFirst) until = last.SK;
    else from = last.SK;
  }
}

/** Counts the entries of a span. Reads all these entries. */
export async function countEntries(table: Reader, journal: Journal, span: Span): Promise<number> {
  let count = 0;
  await scan(table, journal, span, () => (count += 1));
  return count;
}
