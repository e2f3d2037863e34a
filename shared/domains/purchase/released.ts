import * as z from "zod";

import { Timestamp } from "../../core/time.ts";
import type { Reader } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";

/*
 * Access patterns
 *   when the last registration of a name through us was over   DOMAIN#<name> / RELEASED
 */
const releasedKey = (name: string): Key => ({ PK: `DOMAIN#${name}`, SK: "RELEASED" });

const Released = z.object({ at: Timestamp });

/** Nobody asks after it any more. */
const keptSeconds = 86_400;

/** The write that notes that a registration is given back and forgotten. */
export const releasedWrite = (name: string, now: Date): Write => ({
  put: { ...releasedKey(name), at: now.toISOString(), ttl: Math.ceil(now.getTime() / 1_000) + keptSeconds },
});

/** When the last registration of a name was forgotten; undefined when that is long ago, or there was none. */
export async function releasedAt(table: Reader, name: string): Promise<Date | undefined> {
  const released = await table.get(releasedKey(name), Released);
  return released && new Date(released.at);
}
