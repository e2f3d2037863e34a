type Lane = { waiting: string[]; running: number };

export type LanesOptions = {
  /** How many run at a time. */
  atOnce: number;
  /** How many of them may be in one lane. */
  perLane: number;
  /** Must not reject. */
  run: (id: string) => Promise<void>;
};

export type Lanes = {
  /** Has it run as soon as there is a place; what waits or runs already is not taken twice. */
  add: (lane: string, id: string) => void;
  /** The ids that wait or run. */
  ids: () => ReadonlySet<string>;
  /** Begins nothing more; resolves when what runs has ended. */
  stop: () => Promise<void>;
};

/**
 * Work that waits in lanes: in order within a lane, the lanes in turn, and the next as soon as one has ended. A lane with
 * much to do, or with work that does not end, holds up no other.
 */
export function openLanes({ atOnce, perLane, run }: LanesOptions): Lanes {
  const lanes = new Map<string, Lane>();
  const known = new Set<string>();
  const running = new Set<Promise<void>>();
  let isStopping = false;

  function begin(name: string, lane: Lane, id: string): void {
    lane.running += 1;
    const ended = run(id).then(() => {
      running.delete(ended);
      known.delete(id);
      lane.running -= 1;
      if (lane.running === 0 && lane.waiting.length === 0) lanes.delete(name);
      fill();
    });
    running.add(ended);
  }

  function fill(): void {
    for (const [name, lane] of lanes) {
      if (isStopping || running.size >= atOnce) return;
      const id = lane.running < perLane ? lane.waiting.shift() : undefined;
      if (id === undefined) continue;
      // To the end of the row, where this loop comes to it once more after all the others.
      lanes.delete(name);
      lanes.set(name, lane);
      begin(name, lane, id);
    }
  }

  return {
    add: (name, id) => {
      if (known.has(id)) return;
      known.add(id);
      const lane = lanes.get(name) ?? { waiting: [], running: 0 };
      lanes.set(name, lane);
      lane.waiting.push(id);
      fill();
    },
    ids: () => known,
    stop: async () => {
      isStopping = true;
      await Promise.all(running);
    },
  };
}
