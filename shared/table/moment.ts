import { readConcatenated, totalOf, type Order, type RowSource } from "../core/page.ts";
import { readHeads, readSpan, type List, type ListState } from "./ranked-list.ts";
import { readAgain } from "./read-again.ts";
import type { Reader } from "./table.ts";
import type { Item } from "./writes.ts";

/**
 * A list, and a function that reads the items to which rows of the list point. If `resolve` returns fewer items than
 * rows, the list has changed since the rows were read.
 */
export type ResolvedList<T> = { list: List; resolve: (rows: Item[]) => Promise<readonly T[]> };

/** Thrown when lists have changed since their reading began. */
export class ListChanged extends Error {}

/** Reads several lists in a consistent state. */
export type Moment = {
  /** Opens lists, to read parts of them. Their heads are read together. */
  open: <T>(lists: readonly ResolvedList<T>[]) => Promise<RowSource<T>[]>;
  /**
   * Opens lists whose heads were read already, because other items contain these heads. `isSame` reads whether the
   * heads are still the same. `page` does not call `isSame` if the page has only one source, because the read of a
   * single list checks that the rows fit the head.
   */
  hold: <T>(
    lists: readonly { state: ListState; resolve: ResolvedList<T>["resolve"] }[],
    isSame: () => Promise<boolean>,
  ) => RowSource<T>[];
  /**
   * Reads the rows of ranks `skip` to `skip + take − 1` of the concatenated sources, and their total. The first
   * sources are lists that were opened since the last call of `page`. Other sources may follow them only if `sources`
   * has every list that was opened since that call. With `desc`, the ranks count from the end.
   */
  page: <T>(
    sources: readonly RowSource<T>[],
    skip: number,
    take: number,
    order?: Order,
  ) => Promise<{ rows: T[]; total: number }>;
  /**
   * Throws `ListChanged` if a list has changed since it was opened by `open`. Use `unchanged` for lists that are not
   * read by `page`.
   */
  unchanged: () => Promise<void>;
};

/**
 * Runs `read` on a consistent state of lists. If a list changes meanwhile, `read` runs again. After 30 attempts throws
 * 503 `busy`. A consistent state means:
 * - a list has as many rows as its head says, and the items to which the rows point exist;
 * - the heads of several lists belong to the same time.
 *
 * A single list costs the reads of its head, of bitmaps and of its rows. The heads of several lists are read a second
 * time, together with the rows, and compared. The lists of earlier pages are compared again only if a page has more
 * sources than opened lists.
 */
export async function atOneMoment<T>(table: Reader, read: (moment: Moment) => Promise<T>): Promise<T> {
  const torn = new Map<string, readonly number[]>();
  const { value } = await readAgain(async () => {
    try {
      return { value: await read(openMoment(table, torn)) };
    } catch (error) {
      if (error instanceof ListChanged) return undefined;
      throw error;
    }
  });
  return value;
}

const listName = ({ partition, name }: List): string => `${partition} ${name}`;

/**
 * The items of a list's rows. If the rows do not fit the state, throws `ListChanged`, and notes in `torn` the blocks
 * whose bitmaps must be read with the head.
 */
const listSource = <T>(
  table: Reader,
  torn: Map<string, readonly number[]>,
  state: ListState,
  resolve: ResolvedList<T>["resolve"],
): RowSource<T> => ({
  total: state.live,
  read: async (skip, take) => {
    const read = await readSpan(table, state, { skip, take });
    if ("changed" in read) {
      torn.set(listName(state.list), read.changed);
      throw new ListChanged();
    }
    const found = await resolve(read.rows);
    if (found.length < read.rows.length) throw new ListChanged();
    return [...found];
  },
});

/** Throws `ListChanged` if one of the lists has changed since its state was read. */
async function requireSame(table: Reader, states: readonly ListState[]): Promise<void> {
  const heads = await readHeads(
    table,
    states.map(({ list }) => list),
  );
  if (heads.some(({ version }, index) => version !== states[index]?.version)) throw new ListChanged();
}

/**
 * Creates the `Moment` of one attempt. `torn` has, by list, the blocks whose bitmaps did not fit the head in an earlier
 * attempt. These bitmaps are read together with the head.
 */
function openMoment(table: Reader, torn: Map<string, readonly number[]>): Moment {
  const earlier: ListState[] = [];
  let opened: ListState[] = [];
  const held: (() => Promise<boolean>)[] = [];
  const source = <T>(state: ListState, resolve: ResolvedList<T>["resolve"]) => listSource(table, torn, state, resolve);
  const requireHeld = async (): Promise<void> => {
    const same = await Promise.all(held.map((isSame) => isSame()));
    if (same.includes(false)) throw new ListChanged();
  };
  return {
    hold: (lists, isSame) => {
      held.push(isSame);
      return lists.map(({ state, resolve }) => source(state, resolve));
    },
    open: async (lists) => {
      const states = await readHeads(
        table,
        lists.map(({ list }) => list),
        (list) => torn.get(listName(list)) ?? [],
      );
      opened.push(...states);
      return lists.flatMap(({ resolve }, index) => {
        const state = states[index];
        return state ? [source(state, resolve)] : [];
      });
    },
    page: async (sources, skip, take, order) => {
      // The rows of earlier pages may have decided which other sources there are. So the heads of the earlier lists are
      // compared too.
      const hasOtherSources = sources.length > opened.length;
      // A single list needs no comparison, because `read` of its source checks that the rows fit the head.
      const several = opened.length > 1 ? opened : [];
      const compared = hasOtherSources ? [...earlier, ...opened] : several;
      earlier.push(...opened);
      opened = [];
      // Waits for both reads to end, so that no read of a failed attempt runs beside the next attempt.
      const [read, same] = await Promise.allSettled([
        readConcatenated(sources, skip, take, order),
        Promise.all([requireSame(table, compared), sources.length > 1 ? requireHeld() : undefined]),
      ]);
      if (read.status === "rejected") throw read.reason;
      if (same.status === "rejected") throw same.reason;
      return { rows: read.value, total: totalOf(sources) };
    },
    unchanged: () => requireSame(table, [...earlier, ...opened]),
  };
}
