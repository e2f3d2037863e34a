/** A task that is repeated. */
export type Poller = {
  /** Runs the work soon. Several calls before the run have the effect of one. */
  wake: () => void;
  /** Stops the poller. Resolves when the current run has ended. */
  stop: () => Promise<void>;
};

export type PollerOptions = {
  work: () => Promise<void>;
  /** The time in milliseconds after which the work runs again, unless `wake` is called before. */
  idleMs: number;
  /** The shortest pause after a run is this multiple of the run's duration, but 0.1 to 1 second. 4 by default. */
  restRatio?: number;
  onError: (error: unknown) => void;
};

const shortestRestMs = 100;
/** The limit of the shortest pause. It keeps new work from waiting long after a long run. */
const longestRestMs = 1_000;

/** The shortest pause after work that took `tookMs`: `ratio` times as long, but from 0.1 to 1 second. */
export const restAfter = (tookMs: number, ratio: number): number =>
  Math.min(longestRestMs, Math.max(shortestRestMs, ratio * tookMs));

/**
 * Runs the work at once, when `wake` is called, and otherwise every `idleMs`.
 * - After each run the poller pauses `restRatio` times as long as the run took. With 4, short work takes a fifth of the
 *   process at most.
 * - The pause is a second at most, so that new work is not late.
 * - Errors are reported, and the work continues.
 */
export function startPoller({ work, idleMs, restRatio = 4, onError }: PollerOptions): Poller {
  const state = { isStopping: false, isAwake: false };
  let interrupt: (() => void) | undefined;

  /** Resolves after `ms`. An interruption resolves it earlier if `until` returns true. */
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
