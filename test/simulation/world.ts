import type { Table } from "../../shared/table/table.ts";
import type { Item, Key, Write } from "../../shared/table/writes.ts";
import type { Change } from "../support/memory-table.ts";
import type { Random } from "./random.ts";

/** Something that must hold did not. */
export class Violation extends Error {}

/** Throws a violation unless it holds. */
export function mustHold(isTrue: boolean, what: () => string): asserts isTrue {
  if (!isTrue) throw new Violation(what());
}

/** What a simulated process has of the world. Every await of it is a place to be interleaved, to fail and to die at. */
export type World = {
  table: Table;
  now: () => Date;
  /**
   * An await that is none of the table: for what an actor does beside it. Throws 503 when it is let fail. It lasts for
   * at least that many steps of the schedule, if others have something to do.
   */
  pause: (point: string, steps?: number) => Promise<void>;
  /** What is committed at this moment; not a step. */
  peek: (key: Key) => Item | undefined;
  /** Calls `look` now and after every commit, whoever made it, until this process ends or calls what it gets back. */
  watch: (look: () => void) => () => void;
  /** A line in the trace. */
  note: (text: string) => void;
};

/** What a process may do, from its start to its end. Whatever `run` throws is a violation. */
export type Actor = { name: string; weight: number; run: (world: World, random: Random) => Promise<void> };

/**
 * What must hold of all that is committed. Throws a `Violation`; told of every commit at once, changes in their order.
 */
export type Invariant = { name: string; check: (changes: readonly Change[]) => void };

/** A planted mistake: the writes whose condition is dropped. */
export type Bug = (write: Write) => boolean;

/**
 * One part of the product in the simulation. `open` makes it anew for a schedule: what its actors share is in there.
 * It is told of the planted mistake, which may be one of the world around.
 */
export type Module = {
  name: string;
  bugs: Record<string, Bug>;
  /** The VAT settings of its schedules, unless another module has part in them. */
  vat?: string;
  /** Its lists of plan prices. */
  prices?: readonly object[];
  open: (
    random: Random,
    bug?: Bug,
  ) => {
    actors: readonly Actor[];
    /** What is there before the schedule begins. */
    prepare?: (world: World) => Promise<void>;
    /**
     * What is done when the schedule has ended and nothing goes wrong any more; throws when something is left amiss.
     */
    quiet?: Actor["run"];
    /** Invariants that were told of nothing yet. A second set is told of everything at the end, at once. */
    invariants: () => readonly Invariant[];
  };
};
