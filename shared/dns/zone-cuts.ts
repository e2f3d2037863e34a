import type { Zone } from "./zone-servers.ts";

/** The zones of top-level domains, kept for their TTL, an hour at most. */
export type ZoneCuts = {
  /** The lowest zone kept that has this name. */
  find: (name: string) => Zone | undefined;
  keep: (zone: Zone, ttlSeconds: number) => void;
  drop: (name: string) => void;
};

const maxKept = 500;
const longestMs = 3_600_000;

/**
 * Delegations of domains are not kept: who changes one wants to see at once what became of it, and asking their
 * registry is one query.
 */
export function openZoneCuts(nowMs: () => number): ZoneCuts {
  const kept = new Map<string, { zone: Zone; untilMs: number }>();
  return {
    find: (name) => {
      const found = kept.get(name.slice(name.lastIndexOf(".") + 1));
      return found && found.untilMs > nowMs() ? found.zone : undefined;
    },
    keep: (zone, ttlSeconds) => {
      if (zone.name.includes(".")) return;
      kept.delete(zone.name);
      const [oldest] = kept.keys();
      if (kept.size >= maxKept && oldest !== undefined) kept.delete(oldest);
      kept.set(zone.name, { zone, untilMs: nowMs() + Math.min(ttlSeconds * 1_000, longestMs) });
    },
    drop: (name) => kept.delete(name),
  };
}
