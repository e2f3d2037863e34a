/** A task that is repeated. */
export type Poller = {
  /** Runs the work soon; several calls before that count as one. */
  wake: () => void;
  /** Stops; resolves when the current run has ended. */
  stop: () => Promise<void>;
};

export type PollerOptions = {
  work: () => Promise<void>;
  /** The time until the next run in milliseconds, unless woken earlier. */
  idleMs: number;
  /** The minimum pause after a run as a multiple of the run's duration, a second at most; 4 by default. */
  restRatio?: number;
  onError: (error: unknown) => void;
};

const shortestRestMs = 100;
/** The longest minimum pause: after a long run new work must not wait as long again. */
const longestRestMs = 1_000;

/** The minimum pause after work that took `tookMs`: `ratio` times as long, from 0.1 to 1 second. */
export const restAfter = (tookMs: number, ratio: number): number =>
  Math.min(longestRestMs, Math.max(shortestRestMs, ratio * tookMs));

/**
 * Runs the work at once, when woken, and otherwise every `idleMs`.
 * - After each run it pauses four times as long as the run took, so that short work takes at most a fifth of the
 *   process.
 * - The pause is a second at most, so that new work is not late.
 * - Errors are reported, and the work continues.
 */
export function startPoller({ work, idleMs, restRatio = 4, onError }: PollerOptions): Poller {
  const state = { isStopping: false, isAwake: false };
  let interrupt: (() => void) | undefined;

  /** Resolves after `ms`, or once `until` holds after an interruption. */
  const wait = (ms: number, until: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      interrupt = () => {
        if (!until()) return;
        clearTimeout(timer);
        resolve();
      };
      interrupt();
    });

  async function run(): Promise<void> {
    while (!state.isStopping) {
      state.isAwake = false;
      const startedAt = performance.now();
      await work().catch(onError);
      const restMs = restAfter(performance.now() - startedAt, restRatio);
      await wait(restMs, () => state.isStopping);
      await wait(Math.max(0, idleMs - restMs), () => state.isStopping || state.isAwake);
    }
  }

  const done = run();
  return {
    wake: () => {
      state.isAwake = true;
      interrupt?.();
    },
    stop: async () => {
      state.isStopping = true;
      interrupt?.();
      await done;
    },
  };
}
