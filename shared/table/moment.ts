import { readAcross, totalOf, type Source } from "../core/page.ts";
import { readHeads, readSpan, type List, type ListState } from "./ranked-list.ts";
import { readAgain } from "./read-again.ts";
import type { Reader } from "./table.ts";
import type { Item } from "./writes.ts";

/** A list, and the things that its rows are or stand for: all of them, or the list changed since they were read. */
export type Listed<T> = { list: List; resolve: (rows: Item[]) => Promise<readonly T[]> };

/** Thrown by what reads lists, and finds that they are not what they were when it began. */
export class ListChanged extends Error {}

/** How lists are read together. */
export type Moment = {
  /** Lists, to be read in part. Their heads are read together. */
  open: <T>(lists: readonly Listed<T>[]) => Promise<Source<T>[]>;
  /**
   * A part of several sources, and how much there is in all: of the lists that were opened since the last page, and of
   * things that were found one by one after those were opened.
   */
  page: <T>(sources: readonly Source<T>[], skip: number, take: number) => Promise<{ rows: T[]; total: number }>;
};

/**
 * What `read` finds in lists, as if nobody changed them meanwhile: their rows are as many as their heads say, what the
 * rows stand for is there, and of several the heads are those of one moment. Otherwise it reads again, up to 503 `busy`.
 * One list alone costs its head and its rows; of several the heads are compared while the rows are read. Lists that are
 * found by a page of others are of a later moment than these, unless things that were found one by one are beside them.
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

const nameOf = ({ partition, name }: List): string => `${partition} ${name}`;

/** `torn` says in which blocks of a list deletions were seen at work: their bitmaps are read with its head. */
function openMoment(table: Reader, torn: Map<string, readonly number[]>): Moment {
  const earlier: ListState[] = [];
  let opened: ListState[] = [];
  const sourceOf = <T>(state: ListState, resolve: Listed<T>["resolve"]): Source<T> => ({
    total: state.live,
    read: async (skip, take) => {
      const read = await readSpan(table, state, { skip, take });
      if ("changed" in read) {
        torn.set(nameOf(state.list), read.changed);
        throw new ListChanged();
      }
      const found = await resolve(read.rows);
      if (found.length < read.rows.length) throw new ListChanged();
      return [...found];
    },
  });
  const compare = async (states: readonly ListState[]): Promise<void> => {
    const heads = await readHeads(
      table,
      states.map(({ list }) => list),
    );
    if (heads.some(({ version }, index) => version !== states[index]?.version)) throw new ListChanged();
  };
  return {
    open: async (lists) => {
      const states = await readHeads(
        table,
        lists.map(({ list }) => list),
        (list) => torn.get(nameOf(list)) ?? [],
      );
      opened.push(...states);
      return lists.flatMap(({ resolve }, index) => {
        const state = states[index];
        return state ? [sourceOf(state, resolve)] : [];
      });
    },
    page: async (sources, skip, take) => {
      // Where the others are may have changed with what the lists before this page say.
      const hasOthers = sources.length > opened.length;
      const compared = hasOthers ? [...earlier, ...opened] : opened.length > 1 ? opened : [];
      earlier.push(...opened);
      opened = [];
      // Both to their end: what is left of a reading that failed is not to go on beside the next one.
      const [read, same] = await Promise.allSettled([readAcross(sources, skip, take), compare(compared)]);
      if (read.status === "rejected") throw read.reason;
      if (same.status === "rejected") throw same.reason;
      return { rows: read.value, total: totalOf(sources) };
    },
  };
}
