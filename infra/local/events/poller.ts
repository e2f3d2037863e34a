/** Work that is done again and again. */
export type Poller = {
  /** Has the work done soon; many calls in the meantime are one. */
  wake: () => void;
  /** Resolves when the work at hand is done and none follows. */
  stop: () => Promise<void>;
};

export type PollerOptions = {
  work: () => Promise<void>;
  /** How long it rests after a run, unless it is woken. In milliseconds. */
  idleMs: number;
  /** How long it rests after each time, as a multiple of what that took, a second at most; 4 if not said. */
  restRatio?: number;
  onError: (error: unknown) => void;
};

const shortestRestMs = 100;
/** What comes in after a long time's work must not wait as long again. */
const longestRestMs = 1_000;

/** How long to rest after work that took `tookMs`: `ratio` times as long, from a tenth of a second to a second. */
export const restAfter = (tookMs: number, ratio: number): number =>
  Math.min(longestRestMs, Math.max(shortestRestMs, ratio * tookMs));

/**
 * Does the work at once, when woken, and else every `idleMs`. After each time it rests, four times as long as that
 * took, so that short work never has more than a fifth of the process, but a second at most, so that what comes in
 * meanwhile is not late. A rejection is reported, and work goes on.
 */
export function startPoller({ work, idleMs, restRatio = 4, onError }: PollerOptions): Poller {
  const state = { isStopping: false, isAwake: false };
  let interrupt: (() => void) | undefined;

  /** Resolves after a time, or as soon as `until` holds. */
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
