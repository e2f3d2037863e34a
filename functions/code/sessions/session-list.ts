import * as z from "zod";

import type { Table } from "../../../shared/table/table.ts";
import type { Item, Key } from "../../../shared/table/writes.ts";

/*
 * Access patterns
 *   the sessions of a principal, and when each was used last   PRINCIPAL#<principal id> / SESSIONS
 */
export const listKey = (principalId: string): Key => ({ PK: `PRINCIPAL#${principalId}`, SK: "SESSIONS" });

/** Uses within a second are one: programs in a row are not noted each. */
const notedMs = 1_000;
/** Whether a use that was noted at `usedAt` is as good as one at `now`. */
export const isNoted = (usedAt: number, now: number): boolean => usedAt + notedMs > now;
/** How long a session lives after a use that was noted: an hour after every use, and no second longer. */
export const usedForMs = 3_600_000 + notedMs;
/** How many sessions of a principal live at a time. */
export const mostSessions = 100;

const prefix = "s_";
const List = z.record(z.string(), z.unknown());

/** When each session was used last, by its name. */
export const listedIn = (item: Item | undefined): Map<string, number> =>
  new Map(
    Object.entries(List.parse(item ?? {})).flatMap(([name, usedAt]) =>
      name.startsWith(prefix) && typeof usedAt === "number" ? [[name.slice(prefix.length), usedAt] as const] : [],
    ),
  );

/**
 * Notes that a session was used at `now`, where its last use is not noted yet. Answers the sessions that
 * end by that, those that were not used for the longest time: of one principal no more than `mostSessions` live.
 */
export async function noteUse(
  table: Table,
  principalId: string,
  { name, usedAt }: { name: string; usedAt: number },
  listed: ReadonlyMap<string, number>,
  now: number,
): Promise<string[]> {
  if (listed.has(name) && isNoted(usedAt, now)) return [];
  const others = [...listed].filter(([other]) => other !== name).toSorted(([, a], [, b]) => b - a);
  const live = others.filter(([, at]) => at + usedForMs > now);
  const ended = live.slice(mostSessions - 1).map(([other]) => other);
  const kept = new Set(live.slice(0, mostSessions - 1).map(([other]) => other));
  await table.attempt({
    update: listKey(principalId),
    set: { [`${prefix}${name}`]: now, ttl: Math.ceil((now + usedForMs) / 1000) },
    remove: others.flatMap(([other]) => (kept.has(other) ? [] : [`${prefix}${other}`])),
  });
  return ended;
}

/** Takes a session from the list. */
export const unlist = async (table: Table, principalId: string, name: string): Promise<void> =>
  void (await table.attempt({ update: listKey(principalId), remove: [`${prefix}${name}`] }));
