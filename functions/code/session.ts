import { createHash } from "node:crypto";

import * as z from "zod";

import type { Table } from "../../shared/table/table.ts";
import type { Key } from "../../shared/table/writes.ts";
import { typeOf } from "./value.ts";
import { sizeOf } from "./work.ts";

/*
 * Access patterns
 *   the variables of a session   PRINCIPAL#<principal id> / SESSION#<SHA-256 of the session id>
 */
const keyOf = (principalId: string, sessionId: string): Key => ({
  PK: `PRINCIPAL#${principalId}`,
  SK: `SESSION#${createHash("sha256").update(sessionId).digest("hex")}`,
});

export const sessionLimitBytes = 262_144;
const keptMs = 3_600_000;
/** How much of what a program gives names is measured at most. */
const measuredBytes = 4 * sessionLimitBytes;

/** Why a variable that a program made is not there any more. */
export type Gone = "secret" | "session_too_large";

const Kept = z.union([z.object({ value: z.unknown() }), z.object({ gone: z.enum(["secret", "session_too_large"]) })]);
/** A variable as it is kept: its value, or why that is not. */
export type Kept = { value: unknown } | { gone: Gone };

const Stored = z.object({
  /** JSON, as values nest deeper than the table's own may. */
  variables: z.string(),
  created_at: z.string(),
  last_used_at: z.string(),
  expires_at: z.number(),
  version: z.int(),
});
type Stored = z.output<typeof Stored>;

/** Whose session it is, what the caller calls it, and the clock it lives by. */
export type SessionPlace = { table: Table; principalId: string; sessionId: string; now: () => Date };

/** A session as it is between two programs. */
export type Session = {
  variables: Map<string, Kept>;
  createdAt?: string | undefined;
  lastUsedAt?: string | undefined;
  expiresAt?: string | undefined;
};

const variablesOf = ({ variables }: Stored): Map<string, Kept> =>
  new Map(Object.entries(z.record(z.string(), Kept).parse(JSON.parse(variables))));

const isLive = (stored: Stored | undefined, now: Date): stored is Stored =>
  stored !== undefined && stored.expires_at > now.getTime();

const sessionOf = (stored: Stored): Session => ({
  variables: variablesOf(stored),
  createdAt: stored.created_at,
  lastUsedAt: stored.last_used_at,
  expiresAt: new Date(stored.expires_at).toISOString(),
});

/** The session as the last program left it; one that was not used for an hour is as one that never was: empty. */
export async function loadSession({ table, principalId, sessionId, now }: SessionPlace): Promise<Session> {
  const stored = await table.get(keyOf(principalId, sessionId), Stored);
  return isLive(stored, now()) ? sessionOf(stored) : { variables: new Map() };
}

/**
 * Begins a session or renews it, and gives variables their new values; those of programs that run at the same time
 * stay, and of one that both give a value the last is kept. Answers the session, with what had no room in it as gone.
 */
export async function saveSession(
  { table, principalId, sessionId, now }: SessionPlace,
  changes: ReadonlyMap<string, Kept> = new Map(),
): Promise<Session> {
  const key = keyOf(principalId, sessionId);
  return table.commit(async () => {
    const [found, at] = [await table.get(key, Stored), now()];
    const live = isLive(found, at) ? found : undefined;
    const stored: Stored = {
      variables: textOf(merged(live ? variablesOf(live) : new Map(), changes)),
      created_at: live?.created_at ?? at.toISOString(),
      last_used_at: at.toISOString(),
      expires_at: at.getTime() + keptMs,
      version: (found?.version ?? 0) + 1,
    };
    const item = { ...key, ...stored, ttl: Math.ceil(stored.expires_at / 1000) };
    const condition = found ? { version: found.version } : ("absent" as const);
    return { writes: [{ put: item, if: condition }], value: sessionOf(stored) };
  });
}

/** Forgets a session and all its variables. */
export async function endSession({ table, principalId, sessionId }: SessionPlace): Promise<void> {
  await table.attempt({ delete: keyOf(principalId, sessionId) });
}

const textOf = (variables: ReadonlyMap<string, Kept>): string => JSON.stringify(Object.fromEntries(variables));

/** How much of the session's room a variable takes. */
export const bytesOf = (name: string, kept: Kept): number => Buffer.byteLength(JSON.stringify({ [name]: kept }));

/** The variables with their changes, as far as there is room: what has none is noted as gone, as far as that has. */
function merged(old: Map<string, Kept>, changes: ReadonlyMap<string, Kept>): Map<string, Kept> {
  const variables = new Map([...old].filter(([name]) => !changes.has(name)));
  let bytes = [...variables].reduce((sum, [name, kept]) => sum + bytesOf(name, kept), 0);
  let measured = 0;
  const fits = (name: string, kept: Kept): boolean => {
    // Exact bytes take as long as the value is: of what cannot fit they are not asked.
    const isHuge = "value" in kept && (measured > measuredBytes || sizeOf(kept.value).bytes > measuredBytes);
    const needed = isHuge ? Number.POSITIVE_INFINITY : bytesOf(name, kept);
    if (!isHuge) measured += needed;
    return bytes + needed <= sessionLimitBytes;
  };
  for (const [name, kept] of changes) {
    const choices: Kept[] = [kept, { gone: "session_too_large" }];
    const fitting = choices.find((choice) => fits(name, choice));
    if (!fitting) continue;
    variables.set(name, fitting);
    bytes += bytesOf(name, fitting);
  }
  return variables;
}

/** Why a variable is not there, for whoever asks for it. */
export const reasonOf: Record<Gone, string> = {
  secret: "Its value held a secret, which a session never keeps: call the function and use its result in one program.",
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
