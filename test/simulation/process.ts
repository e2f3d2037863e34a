import type { Fault } from "../support/memory-table.ts";
import { Violation, type Actor } from "./world.ts";

/** A process at an await, and the function that lets it go on. */
export type Waiting = {
  process: Process;
  point: string;
  /** The first step at which the process may go on. It may go on earlier if no other process is ready. */
  from: number;
  faults: readonly Fault[];
  go: (fault: Fault | undefined) => void;
};

/** One run of an actor. */
export type Process = { id: number; actor: Actor; hasEnded: boolean; failure?: unknown; watchers: Set<() => void> };

export const nameOf = ({ id, actor }: Pick<Process, "id" | "actor">): string => `${actor.name}#${id}`;

/**
 * Waits until a process is at its next await, or has ended. The microtasks in between run in the same order every time.
 * Real timers and real input or output take turns of the event loop, and all other processes wait for them.
 */
export async function settled(process: Process, isWaiting: () => boolean): Promise<void> {
  // Another branch of this process waits already. So this branch is at its next await only when no microtask is left.
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

/** The violation of a process that ended with an unhandled error. */
export function failureOf({ failure, ...process }: Process): Violation {
  return failure instanceof Violation ? failure : new Violation(`${nameOf(process)}: ${violationOf(failure).message}`);
}

/** A violation with the thrown value on one line. */
export function violationOf(error: unknown): Violation {
  if (error instanceof Violation) return error;
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new Violation(text.replaceAll(/\s+/g, " "));
}
