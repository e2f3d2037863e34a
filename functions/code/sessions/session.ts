import { createHash, randomUUID } from "node:crypto";

import * as z from "zod";

import { Problem } from "../../../shared/core/errors.ts";
import { backOff } from "../../../shared/table/failures.ts";
import type { Table } from "../../../shared/table/table.ts";
import type { Item, Key } from "../../../shared/table/writes.ts";
import { sizeOf } from "../interpreter/budget.ts";
import { typeOf } from "../interpreter/values.ts";

/*
 * Access patterns
 *   the sessions of a principal, and when each was used last   PRINCIPAL#<principal id> / SESSIONS
 */
const listKey = (principalId: string): Key => ({ PK: `PRINCIPAL#${principalId}`, SK: "SESSIONS" });

/** Uses within a second are one: programs in a row are not noted each. */
const notedMs = 1_000;
/** Whether a use that was noted at `usedAt` is as good as one at `now`. */
const isNoted = (usedAt: number, now: number): boolean => usedAt + notedMs > now;
/** How long a session lives after a use that was noted: an hour after every use, and no second longer. */
const usedForMs = 3_600_000 + notedMs;
/** How many sessions of a principal live at a time. */
const mostSessions = 100;

const prefix = "s_";
const List = z.record(z.string(), z.unknown());

/** When each session was used last, by its name. */
const listedIn = (item: Item | undefined): Map<string, number> =>
  new Map(
    Object.entries(List.parse(item ?? {})).flatMap(([name, usedAt]) =>
      name.startsWith(prefix) && typeof usedAt === "number" ? [[name.slice(prefix.length), usedAt] as const] : [],
    ),
  );

/**
 * Notes that a session was used at `now`, where its last use is not noted yet. Answers the sessions that
 * end by that, those that were not used for the longest time: of one principal no more than `mostSessions` live.
 */
async function noteUse(
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
const unlist = async (table: Table, principalId: string, name: string): Promise<void> =>
  void (await table.attempt({ update: listKey(principalId), remove: [`${prefix}${name}`] }));

/*
 * Access patterns
 *   the variables of a session   PRINCIPAL#<principal id> / SESSION#<SHA-256 of the session id, shortened>
 * An item costs what it holds each time it is written: when a session was used without a change of its variables
 * stands in the list of sessions.
 */
const keyOf = (principalId: string, name: string): Key => ({ PK: `PRINCIPAL#${principalId}`, SK: `SESSION#${name}` });

/** What a session goes by in the table: 132 bits of the hash. */
const nameOf = (sessionId: string): string => createHash("sha256").update(sessionId).digest("base64url").slice(0, 22);

export const sessionLimitBytes = 262_144;
/** How much of what a program gives names is measured at most. */
const measuredBytes = 4 * sessionLimitBytes;
/** How often variables are given to a session that other programs keep changing. */
const mostAttempts = 10;

/** Why a variable that a program made is not there any more. */
type DropReason = "secret" | "session_too_large";

const StoredVariable = z.union([
  z.object({ value: z.unknown() }),
  z.object({ gone: z.enum(["secret", "session_too_large"]) }),
]);
/** A variable as it is kept: its value, or why that is not. */
export type StoredVariable = { value: unknown } | { gone: DropReason };

const Stored = z.object({
  /** JSON, as values nest deeper than the table's own may. */
  variables: z.string(),
  created_at: z.string(),
  used_at: z.number(),
  version: z.string(),
});
type Stored = z.output<typeof Stored>;

/** Whose session it is, what the caller calls it, and the clock it lives by. */
export type SessionPlace = { table: Table; principalId: string; sessionId: string; now: () => Date };

/** A session as it is between two programs. */
export type Session = {
  variables: Map<string, StoredVariable>;
  createdAt?: string | undefined;
  /** To a second. */
  lastUsedAt?: string | undefined;
  expiresAt?: string | undefined;
  /** How much was read of the table for it. */
  bytes: number;
  /** When its last use was noted; 0 where there is none. */
  usedAt: number;
};

const variablesOf = ({ variables }: Stored): Map<string, StoredVariable> =>
  new Map(Object.entries(z.record(z.string(), StoredVariable).parse(JSON.parse(variables))));

const sessionOf = (stored: Stored, usedAt: number): Session => ({
  variables: variablesOf(stored),
  createdAt: stored.created_at,
  bytes: stored.variables.length,
  ...timesOf(usedAt),
});

const timesOf = (usedAt: number): Pick<Session, "lastUsedAt" | "expiresAt" | "usedAt"> => ({
  lastUsedAt: new Date(usedAt).toISOString(),
  expiresAt: new Date(usedAt + usedForMs).toISOString(),
  usedAt,
});

/** A session that no program left anything in. */
export const noSession: Session = { variables: new Map(), bytes: 0, usedAt: 0 };

type Found = { stored?: Stored | undefined; listed: Map<string, number>; usedAt: number; isLive: boolean };

/** The session as it is stored, in one round trip with the list of all of them. */
async function find({ table, principalId, sessionId, now }: SessionPlace): Promise<Found> {
  const name = nameOf(sessionId);
  const [item, list] = await table.getMany([keyOf(principalId, name), listKey(principalId)]);
  const stored = item && Stored.parse(item);
  const listed = listedIn(list);
  const usedAt = Math.max(stored?.used_at ?? 0, listed.get(name) ?? 0);
  return { stored, listed, usedAt, isLive: stored !== undefined && usedAt + usedForMs > now().getTime() };
}

/** The session as the last program left it; one that was not used for an hour is as one that never was: empty. */
export async function loadSession(place: SessionPlace): Promise<Session> {
  const { stored, usedAt, isLive } = await find(place);
  return stored && isLive ? sessionOf(stored, usedAt) : { ...noSession, bytes: stored?.variables.length ?? 0 };
}

/**
 * Keeps a session that was loaded for another hour; nothing where there is none. Its variables are not written again.
 * Answers the session as it is then.
 */
export async function renewSession(place: SessionPlace, session: Session): Promise<Session> {
  const { table, principalId, now } = place;
  const { usedAt } = session;
  const at = now().getTime();
  if (usedAt === 0 || isNoted(usedAt, at)) return session;
  const [list] = await table.getMany([listKey(principalId)]);
  await use(place, listedIn(list), usedAt);
  return { ...session, ...timesOf(at) };
}

const use = async (
  { table, principalId, sessionId, now }: SessionPlace,
  listed: Map<string, number>,
  usedAt: number,
) => {
  const ended = await noteUse(table, principalId, { name: nameOf(sessionId), usedAt }, listed, now().getTime());
  // What is not deleted here ends by itself within the hour.
  await Promise.allSettled(ended.map((name) => table.attempt({ delete: keyOf(principalId, name) })));
};

/**
 * Begins a session or renews it, and gives variables their new values; those of programs that run at the same time
 * stay, and of one that both give a value the last is kept. `charge` is told before anything is written how many bytes
 * that is. Answers the session, with what had no room in it as gone.
 */
export async function saveSession(
  place: SessionPlace,
  changes: ReadonlyMap<string, StoredVariable> = new Map(),
  charge: (bytes: number) => Promise<void> = async () => undefined,
): Promise<Session> {
  const { table, principalId, sessionId, now } = place;
  const key = keyOf(principalId, nameOf(sessionId));
  for (let attempt = 1; attempt <= mostAttempts; attempt += 1) {
    const [{ stored: found, listed, isLive, usedAt }, at] = [await find(place), now()];
    const live = isLive ? found : undefined;
    const stored: Stored = {
      variables: textOf(merged(live ? variablesOf(live) : new Map(), changes)),
      created_at: live?.created_at ?? at.toISOString(),
      used_at: at.getTime(),
      version: randomUUID(),
    };
    if (attempt === 1) await charge(stored.variables.length);
    const put = { ...key, ...stored, ttl: Math.ceil((stored.used_at + usedForMs) / 1000) };
    const done = await table.attempt({ put, if: found ? { version: found.version } : "absent" });
    // The answer to our own write may have been lost, and the SDK have sent it again.
    if (done.done || done.found["version"] === stored.version) {
      await use(place, listed, live ? usedAt : 0);
      return sessionOf(stored, stored.used_at);
    }
    await backOff(attempt);
  }
  throw new Problem("busy", "Too many programs give this session variables at once.", { retry_after: 1 });
}

/** Forgets a session and all its variables. */
export async function endSession({ table, principalId, sessionId }: SessionPlace): Promise<void> {
  const name = nameOf(sessionId);
  await table.attempt({ delete: keyOf(principalId, name) });
  await unlist(table, principalId, name);
}

const textOf = (variables: ReadonlyMap<string, StoredVariable>): string =>
  JSON.stringify(Object.fromEntries(variables));

/** How much of the session's room a variable takes. */
const bytesOf = (name: string, kept: StoredVariable): number => Buffer.byteLength(JSON.stringify({ [name]: kept }));

/** The variables with their changes, as far as there is room: what has none is noted as gone, as far as that has. */
function merged(
  old: Map<string, StoredVariable>,
  changes: ReadonlyMap<string, StoredVariable>,
): Map<string, StoredVariable> {
  const variables = new Map([...old].filter(([name]) => !changes.has(name)));
  let bytes = [...variables].reduce((sum, [name, kept]) => sum + bytesOf(name, kept), 0);
  let measured = 0;
  const fits = (name: string, kept: StoredVariable): boolean => {
    // Exact bytes take as long as the value is: of what cannot fit they are not asked.
    const isHuge = "value" in kept && (measured > measuredBytes || sizeOf(kept.value).bytes > measuredBytes);
    const needed = isHuge ? Number.POSITIVE_INFINITY : bytesOf(name, kept);
    if (!isHuge) measured += needed;
    return bytes + needed <= sessionLimitBytes;
  };
  for (const [name, kept] of changes) {
    const choices: StoredVariable[] = [kept, { gone: "session_too_large" }];
    const fitting = choices.find((choice) => fits(name, choice));
    if (!fitting) continue;
    variables.set(name, fitting);
    bytes += bytesOf(name, fitting);
  }
  return variables;
}

/** Why a variable is not there, for whoever asks for it. */
export const reasonOf: Record<DropReason, string> = {
  secret:
    "Its value held a secret, or an address that is a key itself, which a session never keeps: call the function and use its result in one program.",
  session_too_large: `Its value had no room in the session, which keeps ${sessionLimitBytes} bytes: keep only the members you need, as in [x.id for x in page.items].`,
};

/** The names a program may use: with the reason where the value is gone. */
export const namesOf = ({ variables }: Session): Map<string, string | undefined> =>
  new Map([...variables].map(([name, kept]) => [name, "gone" in kept ? reasonOf[kept.gone] : undefined]));

/** The values that are there. */
export const valuesOf = ({ variables }: Session): Map<string, unknown> =>
  new Map([...variables].flatMap(([name, kept]) => ("value" in kept ? [[name, kept.value] as const] : [])));

/** The variables that are there, as `auth.session.get` shows them. */
export const shownVariables = ({ variables }: Session): { name: string; type: string; bytes: number }[] =>
  [...variables].flatMap(([name, kept]) =>
    "value" in kept ? [{ name, type: typeOf(kept.value), bytes: bytesOf(name, kept) }] : [],
  );
