import type { Table } from "../../shared/table/table.ts";
import type { Item, Key, Write } from "../../shared/table/writes.ts";
import type { Change } from "../support/memory-table.ts";
import type { Random } from "./random.ts";

/** Thrown if a rule does not hold. */
export class Violation extends Error {}

/** Throws a violation if a rule does not hold. */
export function mustHold(isTrue: boolean, what: () => string): asserts isTrue {
  if (!isTrue) throw new Violation(what());
}

/**
 * The world of a simulated process. At each of its awaits, other processes can run, and the process can get a fault or
 * die.
 */
export type World = {
  table: Table;
  now: () => Date;
  /**
   * An await without the table, for other work of an actor. Throws 503 if it gets a fault. If other processes are
   * ready, it lasts for at least `steps` steps of the schedule.
   */
  pause: (point: string, steps?: number) => Promise<void>;
  /** Returns the committed item of a key, without a step of the schedule. */
  peek: (key: Key) => Item | undefined;
  /** Calls `look` now and after every commit of any process, until this process ends or calls the returned function. */
  watch: (look: () => void) => () => void;
  /** Writes a line into the trace. */
  note: (text: string) => void;
};

/** The work of a process, from its start to its end. If `run` throws, that is a violation. */
export type Actor = { name: string; weight: number; run: (world: World, random: Random) => Promise<void> };

/**
 * A rule of the committed items. `check` gets the changes after each commit. Throws a `Violation` if the rule is
 * broken.
 */
export type Invariant = { name: string; check: (changes: readonly Change[]) => void };

/** A planted mistake. Returns whether the mistake drops the condition of a write. */
export type Bug = (write: Write) => boolean;

/**
 * One part of the product in the simulation. `open` makes the state that the actors of a schedule share. `open` gets
 * the planted mistake, because some mistakes are in the world around the product.
 */
export type Module = {
  name: string;
  bugs: Record<string, Bug>;
  /** The VAT settings of the schedules with this module alone. */
  vat?: string;
  /** The plan prices of this module. */
  prices?: readonly object[];
  open: (
    random: Random,
    bug?: Bug,
  ) => {
    actors: readonly Actor[];
    /** Makes the items that exist before the schedule begins. */
    prepare?: (world: World) => Promise<void>;
    /** Runs after the schedule, without faults. Throws if some work stays open, or if a rule does not hold. */
    quiet?: Actor["run"];
    /** Makes invariants that have seen no change. A second set sees the whole table at once at the end. */
    invariants: () => readonly Invariant[];
  };
};
