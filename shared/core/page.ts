import * as z from "zod";

import { mapConcurrently, allFulfilled } from "./concurrency.ts";
import { invalidAt } from "./errors.ts";

/** The most items on a page. */
export const largestPage = 100;

/** The query parameters for the page of a list. */
export const pageQuery = {
  page: z.int().min(1).default(1).meta({ description: "The number of the page, from 1." }),
  page_size: z
    .int()
    .min(1)
    .max(largestPage)
    .default(25)
    .meta({ description: "The maximum number of items on a page." }),
};
export type PageQuery = { page: number; page_size: number };
export type OrderedPage = PageQuery & { order: Order };

const Order = z.enum(["asc", "desc"]);
export type Order = z.output<typeof Order>;

/** The query parameter for the order of a list. `first` is the default. */
export const orderQuery = (first: Order) => ({
  order: Order.default(first).meta({
    description: "`asc` for ascending order, such as oldest first, and `desc` for the reverse.",
  }),
});

const instant = z.iso.datetime({ offset: true }).optional();

/** The query parameters for the time of a list's items. `items` names the items. */
export const timeQuery = (items: string) => ({
  since: instant.meta({ description: `Only ${items} from this time on (RFC 3339).` }),
  until: instant.meta({ description: `Only ${items} before this time (RFC 3339).` }),
});

type Span = { since?: string | undefined; until?: string | undefined };

/** The times of a query with `timeQuery`. */
export const timesOf = ({ since, until }: Span): { since?: Date; until?: Date } => ({
  ...(since === undefined ? {} : { since: new Date(since) }),
  ...(until === undefined ? {} : { until: new Date(until) }),
});

/** The arguments of `refine` for a query with `timeQuery`: `since` must be before `until`. */
export const spanCheck: [(span: Span) => boolean, { error: string; path: string[] }] = [
  ({ since, until }) => since === undefined || until === undefined || new Date(since) < new Date(until),
  { error: "Write a time after `since`", path: ["until"] },
];

/** The answer of a list: one page, and the exact number of all items that match and that the caller may see. */
export const pageOf = <T extends z.ZodType>(item: T, noun: string) =>
  z.object({
    items: z.array(item).meta({ description: `The ${noun} on this page.` }),
    page: z.int().min(1).meta({ description: "The number of this page, from 1." }),
    page_size: z.int().min(1).max(largestPage).meta({ description: "The maximum number of items on a page." }),
    total: z
      .int()
      .min(0)
      .meta({ description: `The exact number of ${noun} that match and that the caller can see.` }),
  });

/**
 * The most bytes of the content of an answer that is stored for its Idempotency-Key. The whole answer must fit into a
 * row of the table, which holds at most 400 KB.
 */
export const mostStoredBytes = 200_000;

/** The first items: at most `most` items, and together at most `mostStoredBytes` bytes as JSON. */
export function firstStorable<T>(items: readonly T[], most: number): T[] {
  let bytes = 0;
  const end = items.slice(0, most).findIndex((item) => {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1;
    return bytes > mostStoredBytes;
  });
  return items.slice(0, end < 0 ? most : end);
}

/**
 * The most bytes of an answer, written as a JSON string without compression. Lambda sends each answer as JSON of at
 * most 6 MB, and some callers do not accept compression.
 */
const mostAnswerBytes = 5_000_000;

/** Whether a text is too large for an answer. */
export const isTooLarge = (text: string): boolean => Buffer.byteLength(JSON.stringify(text)) > mostAnswerBytes;

/**
 * Returns `items`. Throws 422 `too_many` if they are too large for an answer. `noun` names the items, `member` is the
 * member of the query that can narrow them, and `remedy` is a sentence that says how.
 */
export function requireAnswerable<T>(
  items: T[],
  { noun, member, remedy }: { noun: string; member?: string; remedy: string },
): T[] {
  if (!isTooLarge(JSON.stringify(items))) return items;
  const msg = `${items.length} ${noun} are too large for an answer. ${remedy}`;
  throw invalidAt(["query", ...(member === undefined ? [] : [member])], msg, "too_many");
}

/**
 * The positions of a page, from the start of the list, or with `desc` from its end. `skip` is limited to safe integers.
 * No list is that long, so a page beyond this limit is empty anyway.
 */
export const spanOf = ({
  page,
  page_size,
  order = "asc",
}: PageQuery & { order?: Order }): { skip: number; take: number; order: Order } => ({
  skip: Math.min((page - 1) * page_size, Number.MAX_SAFE_INTEGER - page_size),
  take: page_size,
  order,
});

/** A sequence of rows. `read` reads any part of it. */
export type RowSource<T> = { total: number; read: (skip: number, take: number) => Promise<T[]> };

/** The number of rows of all sources. */
export const totalOf = (sources: readonly Pick<RowSource<unknown>, "total">[]): number =>
  sources.reduce((sum, { total }) => sum + total, 0);

/** How many sources are read at the same time. */
const sourcesAtOnce = 20;

/**
 * Reads a part of the concatenation of several sources; with `desc`, of the concatenation in reverse order. Reads up to
 * 20 sources at the same time. If a source fails, starts no further reads, waits for the reads that have begun, and
 * throws the error.
 */
export async function readConcatenated<T>(
  sources: readonly RowSource<T>[],
  skip: number,
  take: number,
  order: Order = "asc",
): Promise<T[]> {
  if (order === "desc") {
    const end = Math.max(0, totalOf(sources) - skip);
    const first = Math.max(0, end - take);
    return (await readConcatenated(sources, first, end - first)).toReversed();
  }
  let rowsBefore = 0;
  const parts = sources.flatMap(({ total, read }) => {
    const from = Math.max(0, skip - rowsBefore);
    const count = Math.min(total, skip + take - rowsBefore) - from;
    rowsBefore += total;
    return count > 0 ? [() => read(from, count)] : [];
  });
  let hasFailed = false;
  const readPart = async (read: () => Promise<T[]>): Promise<T[]> => {
    try {
      return await read();
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  };
  const results = await mapConcurrently(parts, sourcesAtOnce, readPart, () => hasFailed);
  return allFulfilled(results).flat();
}
