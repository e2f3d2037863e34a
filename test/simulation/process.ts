import type { Fault } from "../support/memory-table.ts";
import { Violation, type Actor } from "./world.ts";

/** A process at an await, and how it is let go on. */
export type Waiting = {
  process: Process;
  point: string;
  /** The step of the schedule before which it is not its turn, as long as others have theirs. */
  from: number;
  faults: readonly Fault[];
  go: (fault: Fault | undefined) => void;
};

/** One run of an actor. */
export type Process = { id: number; actor: Actor; hasEnded: boolean; failure?: unknown; watchers: Set<() => void> };

export const nameOf = ({ id, actor }: Pick<Process, "id" | "actor">): string => `${actor.name}#${id}`;

/**
 * Waits until a process waits for its next turn, or ended: the microtasks in between, which come in the same order
 * every time. Real timers and real input or output take turns of the event loop, and keep everyone else waiting.
 */
export async function settled(process: Process, isWaiting: () => boolean): Promise<void> {
  // It has another branch that waits already: only when no microtask is left has the one come to its own next await.
  if (isWaiting()) await new Promise((done) => setImmediate(done));
  let deadline = 0;
  for (let turn = 0; !process.hasEnded && !isWaiting(); turn++) {
    if (turn < 1_000) await Promise.resolve();
    else await new Promise((done) => setTimeout(done, 1));
    if (turn === 1_000) deadline = Date.now() + 10_000;
    if (turn > 1_000 && Date.now() > deadline) {
      throw new Violation(`${nameOf(process)} waits for something that never comes`);
    }
  }
}

/** A process ended with something that it should have handled itself. */
export function failureOf({ failure, ...process }: Process): Violation {
  return failure instanceof Violation ? failure : new Violation(`${nameOf(process)}: ${violationOf(failure).message}`);
}

/** On one line, whatever was thrown. */
export function violationOf(error: unknown): Violation {
  if (error instanceof Violation) return error;
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new Violation(text.replaceAll(/\s+/g, " "));
}
