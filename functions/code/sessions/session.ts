import { hash, randomUUID } from "node:crypto";

import * as z from "zod";

import { Problem } from "../../../shared/core/errors.ts";
import { dayMs } from "../../../shared/core/time.ts";
import { backOff } from "../../../shared/table/failures.ts";
import type { Table } from "../../../shared/table/table.ts";
import type { Item, Key } from "../../../shared/table/writes.ts";
import { sizeOf } from "../interpreter/budget.ts";
import { keptType, type StaticType } from "../interpreter/types.ts";
import { typeOf } from "../interpreter/values.ts";
import { sessionLimitBytes, sessionsLimit } from "../language/limits.ts";

/*
 * Access patterns
 *   the sessions of a principal, and when each was used last   PRINCIPAL#<principal id> / SESSIONS
 */
const listKey = (principalId: string): Key => ({ PK: `PRINCIPAL#${principalId}`, SK: "SESSIONS" });

/**
 * The time after a recorded use in which further uses are not recorded in the list of sessions, in milliseconds.
 * Programs in quick succession thus write the list once.
 */
const recordedMs = 1_000;
/** Tells whether the use recorded at `usedAt` is so recent that a use at `now` need not be recorded in the list. */
const isRecorded = (usedAt: number, now: number): boolean => usedAt + recordedMs > now;
/**
 * The life of a session after a recorded use, in milliseconds. A use within the next second may not be recorded.
 * Because of the extra second, such a use also gives the session a full hour.
 */
const usedForMs = 3_600_000 + recordedMs;

const prefix = "s_";
const SessionList = z.record(z.string(), z.unknown());

/** The last use of each session, by session name. */
const lastUses = (item: Item | undefined): Map<string, number> =>
  new Map(
    Object.entries(SessionList.parse(item ?? {})).flatMap(([name, usedAt]) =>
      name.startsWith(prefix) && typeof usedAt === "number" ? [[name.slice(prefix.length), usedAt] as const] : [],
    ),
  );

/** The most attempts to drop sessions from the list while other programs use these sessions. */
const maxDrops = 5;

/**
 * The result of a recorded use: the sessions that are dropped from the list before they expire, with their last uses.
 * `wasListed`: whether every read of the list in this call had the used session. If not, another program may have
 * dropped the session, and may still delete the session's item.
 */
type RecordedUse = { dropped: [name: string, usedAt: number][]; wasListed: boolean };

/**
 * Records a use of a session at `now`, unless a recent use is recorded. The list keeps the `sessionsLimit` most
 * recently used sessions. A session that another program uses meanwhile is not dropped.
 */
async function recordInList(
  table: Table,
  principalId: string,
  { name, usedAt }: { name: string; usedAt: number },
  listed: ReadonlyMap<string, number>,
  now: number,
): Promise<RecordedUse> {
  if (listed.has(name) && isRecorded(usedAt, now)) return { dropped: [], wasListed: true };
  const set = { [`${prefix}${name}`]: now, ttl: Math.ceil((now + usedForMs) / 1000) };
  const update = listKey(principalId);
  let wasListed = listed.has(name);
  for (let known = listed, tries = 1; ; tries += 1) {
    const others = [...known].filter(([other]) => other !== name).toSorted(([, a], [, b]) => b - a);
    const live = others.filter(([, at]) => at + usedForMs > now);
    const kept = new Set(live.slice(0, sessionsLimit - 1));
    const dropped = tries > maxDrops ? [] : others.filter((one) => !kept.has(one));
    const own = tries > maxDrops ? undefined : known.get(name);
    // The write fails if one of these uses has changed. After `maxDrops` attempts, the write has no such condition.
    const unchanged = [...dropped, ...(own === undefined ? [] : [[name, own] as const])];
    const uses = Object.fromEntries(unchanged.map(([one, at]) => [`${prefix}${one}`, at]));
    const remove = dropped.map(([other]) => `${prefix}${other}`);
    const { done } = await table.attempt({ update, set, remove, ...(unchanged.length === 0 ? {} : { if: uses }) });
    if (done) return { dropped: dropped.filter((one) => live.includes(one)), wasListed };
    known = lastUses((await table.getMany([update]))[0]);
    wasListed &&= known.has(name);
  }
}

/** Removes a session from the list. */
const unlist = async (table: Table, principalId: string, name: string): Promise<void> =>
  void (await table.attempt({ update: listKey(principalId), remove: [`${prefix}${name}`], if: "present" }));

/*
 * Access patterns
 *   the variables of a session   PRINCIPAL#<principal id> / SESSION#<SHA-256 of the session id, shortened>
 * Writing an item costs in proportion to its size. So a use that changes no variables is recorded in the list of
 * sessions, and in this item only once a day.
 */
const sessionKey = (principalId: string, name: string): Key => ({
  PK: `PRINCIPAL#${principalId}`,
  SK: `SESSION#${name}`,
});

/**
 * The time after a save in which further uses do not save the session again, in milliseconds. After a save, the table
 * keeps the item for this time and the life of a session.
 */
const spareMs = dayMs;

/** The name of a session in the table: 132 bits of a hash. */
const sessionName = (sessionId: string): string => hash("sha256", sessionId, "base64url").slice(0, 22);

/**
 * The limit for measuring values, in bytes. A larger value counts as too large without being measured. If all values
 * measured so far are larger together, every further value counts as too large.
 */
const measuredBytes = 4 * sessionLimitBytes;
/** The most attempts to save variables while other programs change the same session. */
const maxAttempts = 10;

/** The reason why a variable was dropped. */
type DropReason = "secret" | "session_too_large";

const StoredVariable = z.union([
  z.object({ value: z.unknown() }),
  z.object({ gone: z.enum(["secret", "session_too_large"]) }),
]);
/** A stored variable: its value, or the reason why the value was dropped. */
export type StoredVariable = { value: unknown } | { gone: DropReason };

const Stored = z.object({
  /** JSON, because values may nest deeper than items of the table. */
  variables: z.string(),
  created_at: z.string(),
  used_at: z.number(),
  version: z.string(),
});
type Stored = z.output<typeof Stored>;

/** The owner and the id of a session, with the table that stores the session, and the clock. */
export type SessionRef = { table: Table; principalId: string; sessionId: string; now: () => Date };

/** A session, as it is before or after a program. */
export type Session = {
  variables: Map<string, StoredVariable>;
  createdAt?: string | undefined;
  /** The last recorded use. Later uses within a second may not be recorded. */
  lastUsedAt?: string | undefined;
  expiresAt?: string | undefined;
  /** The length of the session's JSON that was read from the table or saved, in characters. It is charged as bytes. */
  bytes: number;
  /** The time of the last recorded use in milliseconds; 0 if there is none. */
  usedAt: number;
  /** The time of the last save in milliseconds; 0 if there is none. */
  savedAt: number;
  /** The version of the stored session; empty if it is not stored. */
  version: string;
};

const variablesOf = ({ variables }: Stored): Map<string, StoredVariable> =>
  new Map(Object.entries(z.record(z.string(), StoredVariable).parse(JSON.parse(variables))));

const sessionOf = (stored: Stored, usedAt: number): Session => ({
  variables: variablesOf(stored),
  createdAt: stored.created_at,
  bytes: stored.variables.length,
  savedAt: stored.used_at,
  version: stored.version,
  ...timesOf(usedAt),
});

const timesOf = (usedAt: number): Pick<Session, "lastUsedAt" | "expiresAt" | "usedAt"> => ({
  lastUsedAt: new Date(usedAt).toISOString(),
  expiresAt: new Date(usedAt + usedForMs).toISOString(),
  usedAt,
});

/** An empty session that is not stored. */
export const noSession: Session = { variables: new Map(), bytes: 0, usedAt: 0, savedAt: 0, version: "" };

type FoundSession = { stored?: Stored | undefined; listed: Map<string, number>; usedAt: number; isLive: boolean };

/** Reads the stored session together with the list of sessions, in one round trip. */
async function findSession({ table, principalId, sessionId, now }: SessionRef): Promise<FoundSession> {
  const name = sessionName(sessionId);
  const [item, list] = await table.getMany([sessionKey(principalId, name), listKey(principalId)]);
  const stored = item && Stored.parse(item);
  const listed = lastUses(list);
  const usedAt = Math.max(stored?.used_at ?? 0, listed.get(name) ?? 0);
  return { stored, listed, usedAt, isLive: stored !== undefined && usedAt + usedForMs > now().getTime() };
}

/**
 * Loads a session as the last program left it. An expired session has no variables, but `bytes` still counts what was
 * read.
 */
export async function loadSession(ref: SessionRef): Promise<Session> {
  const { stored, usedAt, isLive } = await findSession(ref);
  return stored && isLive ? sessionOf(stored, usedAt) : { ...noSession, bytes: stored?.variables.length ?? 0 };
}

/**
 * Renews a loaded session for an hour. Writes its variables again if the table would not keep them for this hour, or if
 * another program has dropped the session from the list. Does nothing if a use within the last second is recorded.
 * Returns the renewed session. Returns `noSession` if the session is not stored, or was ended meanwhile.
 */
export async function renewSession(ref: SessionRef, session: Session): Promise<Session> {
  const { table, principalId, now } = ref;
  const { usedAt, savedAt } = session;
  const at = now().getTime();
  if (usedAt === 0 || isRecorded(usedAt, at)) return session;
  if (savedAt + spareMs <= at) return saveAgain(ref, session);
  const [list] = await table.getMany([listKey(principalId)]);
  const wasListed = await recordUse(ref, lastUses(list), usedAt);
  if (wasListed) return { ...session, ...timesOf(at) };
  // Another program dropped or ended this session. A program that drops the session may not have deleted the item yet.
  // A new save prevents the deletion.
  return saveAgain(ref, session);
}

/** Saves a loaded session again, with the variables that are stored. Charges nothing. */
const saveAgain = (ref: SessionRef, loaded: Session): Promise<Session> =>
  saveSession(ref, new Map(), { loaded, mayBegin: false });

/** Records a use in the list of sessions, and deletes the sessions that the list drops. Returns `wasListed`. */
const recordUse = async (
  { table, principalId, sessionId, now }: SessionRef,
  listed: Map<string, number>,
  usedAt: number,
): Promise<boolean> => {
  const { dropped, wasListed } = await recordInList(
    table,
    principalId,
    { name: sessionName(sessionId), usedAt },
    listed,
    now().getTime(),
  );
  // A deletion requires that the item has no later use than the dropped use. A program that saves variables stores the
  // item with its use before it records the use in the list. So a session that was saved meanwhile is not deleted. A
  // failed deletion is ignored, because the item expires by itself.
  await Promise.allSettled(
    dropped.map(([name, at]) =>
      table.attempt({ delete: sessionKey(principalId, name), if: { used_at: { atMost: at } } }),
    ),
  );
  return wasListed;
};

type SaveOptions = {
  /** Receives the length of the session's JSON before anything is written. */
  charge?: (bytes: number) => Promise<void>;
  /** The session as the program has loaded it. Its variables are kept, even if the session has expired since. */
  loaded?: Pick<Session, "version"> | undefined;
  /** Whether a session that is over begins again. If not, nothing is saved, and the result is `noSession`. */
  mayBegin?: boolean;
};

/**
 * Begins or renews a session and saves variables.
 * - Variables of concurrent programs are kept. If two programs assign one variable, the value that is saved last stays.
 * - Returns the session. A variable without room is marked as dropped.
 * - Throws 503 `busy` if other programs keep changing the session, and the errors of `charge`.
 */
export async function saveSession(
  ref: SessionRef,
  changes: ReadonlyMap<string, StoredVariable> = new Map(),
  { charge, loaded = noSession, mayBegin = true }: SaveOptions = {},
): Promise<Session> {
  const { table, principalId, sessionId, now } = ref;
  const name = sessionName(sessionId);
  const key = sessionKey(principalId, name);
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const { stored: found, listed, isLive, usedAt } = await findSession(ref);
    const at = now();
    const isUsable = isLive || found?.version === loaded.version;
    const live = isUsable ? found : undefined;
    if (!live && !mayBegin) {
      await unlist(table, principalId, name);
      return noSession;
    }
    const stored: Stored = {
      variables: toJson(withChanges(live ? variablesOf(live) : new Map(), changes)),
      created_at: live?.created_at ?? at.toISOString(),
      used_at: at.getTime(),
      version: randomUUID(),
    };
    if (attempt === 1) await charge?.(stored.variables.length);
    const put = { ...key, ...stored, ttl: Math.ceil((stored.used_at + usedForMs + spareMs) / 1000) };
    const saved = await table.attempt({ put, if: found ? { version: found.version } : "absent" });
    // If the answer to a write is lost, the write may be sent again. The condition of the second write then fails,
    // although the first write succeeded.
    if (saved.done || saved.found["version"] === stored.version) {
      await recordUse(ref, listed, live ? usedAt : 0);
      return sessionOf(stored, stored.used_at);
    }
    await backOff(attempt);
  }
  throw new Problem("busy", "Too many programs change this session at once. Try again.", { retry_after: 1 });
}

/** Deletes a session and all its variables. */
export async function endSession({ table, principalId, sessionId }: SessionRef): Promise<void> {
  const name = sessionName(sessionId);
  await table.attempt({ delete: sessionKey(principalId, name) });
  await unlist(table, principalId, name);
}

const toJson = (variables: ReadonlyMap<string, StoredVariable>): string =>
  JSON.stringify(Object.fromEntries(variables));

/** The bytes that a variable takes of the session's room. */
const bytesOf = (name: string, kept: StoredVariable): number => Buffer.byteLength(JSON.stringify({ [name]: kept }));

/**
 * Applies changes as far as there is room. A value without room is replaced by the mark `session_too_large`, if the
 * mark fits.
 */
function withChanges(
  old: Map<string, StoredVariable>,
  changes: ReadonlyMap<string, StoredVariable>,
): Map<string, StoredVariable> {
  const variables = new Map([...old].filter(([name]) => !changes.has(name)));
  let bytes = [...variables].reduce((sum, [name, kept]) => sum + bytesOf(name, kept), 0);
  let measured = 0;
  const fits = (name: string, kept: StoredVariable): boolean => {
    // Measuring a value takes time in proportion to its size, so a value that cannot fit is not measured.
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

/** The message for each reason why a variable was dropped. */
export const dropMessages: Record<DropReason, string> = {
  secret:
    "Its value may hold a secret, or a URL that gives access without a token. A session never keeps these: call the function and use its result in one program.",
  session_too_large: `Its value does not fit into the session, which keeps ${sessionLimitBytes} bytes: keep only the members you need, as in [x.id for x in page.items].`,
};

/** All variables, each with its type, or with the message if its value was dropped. */
export const typesOf = ({ variables }: Session): Map<string, { type: StaticType } | { gone: string }> =>
  new Map(
    [...variables].map(([name, kept]) => [
      name,
      "gone" in kept ? { gone: dropMessages[kept.gone] } : { type: keptType(kept.value) },
    ]),
  );

/** The variables that have a value. */
export const valuesOf = ({ variables }: Session): Map<string, unknown> =>
  new Map([...variables].flatMap(([name, kept]) => ("value" in kept ? [[name, kept.value] as const] : [])));

/** The variables that have a value, as `auth.session.get` shows them. */
export const describeVariables = ({ variables }: Session): { name: string; type: string; bytes: number }[] =>
  [...variables].flatMap(([name, kept]) =>
    "value" in kept ? [{ name, type: typeOf(kept.value), bytes: bytesOf(name, kept) }] : [],
  );
