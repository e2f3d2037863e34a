/** The handle of repeated work. */
export type Poller = {
  /** Runs the work soon. Several calls before the next run have the same effect as one call. */
  wake: () => void;
  /** Runs the work soon. Resolves when this run has ended, or when the poller stops. Never rejects. */
  run: () => Promise<void>;
  /** Stops the poller. Resolves when the current run has ended. */
  stop: () => Promise<void>;
};

export type PollerOptions = {
  work: () => Promise<void>;
  /** The pause between two runs without `wake`, in milliseconds. */
  idleMs: number;
  /**
   * The shortest pause after a run, as a multiple of the run's duration. By default 4. A result below 0.1 second counts
   * as 0.1 second, and a result above 1 second counts as 1 second.
   */
  restRatio?: number;
  onError: (error: unknown) => void;
};

const shortestRestMs = 100;
/**
 * The upper limit of the shortest pause, in milliseconds. Without this limit, new work would wait long after a long
 * run.
 */
const longestRestMs = 1_000;

/** The shortest pause after a run, in milliseconds: `ratio` times `tookMs`, but at least 100 and at most 1,000. */
export const restAfter = (tookMs: number, ratio: number): number =>
  Math.min(longestRestMs, Math.max(shortestRestMs, ratio * tookMs));

/**
 * Runs the work at the start, after each `wake` and `run`, and without them every `idleMs`.
 * - After each run, pauses `restRatio` times as long as the run took. With 4, short work takes at most a fifth of the
 *   process's time.
 * - The pause is at most a second. So new work is not late.
 * - Reports errors to `onError`, and continues.
 */
export function startPoller({ work, idleMs, restRatio = 4, onError }: PollerOptions): Poller {
  const state = { isStopping: false, isAwake: false };
  let interrupt: (() => void) | undefined;
  /** The callers that wait for the next run. */
  const waiting: (() => void)[] = [];

  /** Waits for `ms` milliseconds. An interruption ends the wait earlier if `until` returns true. */
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

  async function repeat(): Promise<void> {
    while (!state.isStopping) {
      state.isAwake = false;
      const served = waiting.splice(0);
      const startedAt = performance.now();
      await work().catch(onError);
      for (const resolve of served) resolve();
      const restMs = restAfter(performance.now() - startedAt, restRatio);
      await wait(restMs, () => state.isStopping);
      await wait(Math.max(0, idleMs - restMs), () => state.isStopping || state.isAwake);
    }
  }

  const done = repeat();
  const wake = (): void => {
    state.isAwake = true;
    interrupt?.();
  };
  return {
    wake,
    run: () => {
      const ran = new Promise<void>((resolve) => void waiting.push(resolve));
      wake();
      return Promise.race([ran, done]);
    },
    stop: async () => {
      state.isStopping = true;
      interrupt?.();
      await done;
    },
  };
}
