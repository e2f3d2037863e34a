import * as z from "zod";

import { Timestamp, clock } from "../../core/time.ts";
import type { Table } from "../../table/table.ts";
import type { Key } from "../../table/writes.ts";
import type { RegistrarOperation } from "./registrar.ts";

/*
 * Access patterns
 *   a name, with its holder and its nameservers         REGISTRY#<name> / NAME
 *   an operation by its id, which contains its key      REGISTRY#<name> / OPERATION#<begun at>#<random>
 *   the latest operation of a name since a time         REGISTRY#<name> / OPERATION#<instant> to OPERATION#~, backwards
 */
const partition = (name: string): string => `REGISTRY#${name}`;
export const registeredNameKey = (name: string): Key => ({ PK: partition(name), SK: "NAME" });

/** The key of an operation; undefined for an invalid id. */
export function operationKey(id: string): Key | undefined {
  const [, name, rest] = /^([^/#]{1,255})\/([^/]{1,100})$/.exec(id) ?? [];
  return name === undefined ? undefined : { PK: partition(name), SK: `OPERATION#${rest}` };
}

export const operationId = (name: string, begunAt: Date, random: string): string =>
  `${name}/${begunAt.toISOString()}#${random}`;

/** An operation of the registry. It runs until `settles_at`, but its outcome is stored when it begins. */
export const StoredOperation = z.object({
  id: z.string(),
  settles_at: Timestamp,
  outcome: z.enum(["succeeded", "failed"]),
});
export type StoredOperation = z.output<typeof StoredOperation>;

const StoredName = z.discriminatedUnion("holder", [
  z.object({ holder: z.literal("elsewhere"), version: z.int(), nameservers: z.array(z.string()) }),
  z.object({
    holder: z.literal("us"),
    version: z.int(),
    nameservers: z.array(z.string()),
    operation: StoredOperation,
    auto_renew: z.boolean(),
    /** The end of the first year, or of the year in which `auto_renew` last changed. */
    expires_at: Timestamp,
  }),
]);
type StoredName = z.output<typeof StoredName>;
type OurName = Extract<StoredName, { holder: "us" }>;

/** The holder of a name. While an operation registers a name for us, the name is `running`. */
export type Standing =
  | { status: "free" | "elsewhere" }
  | { status: "running"; name: OurName }
  | { status: "ours"; name: OurName; expiresAt: Date };

/** The stored name; undefined for a name that never had a holder. */
export const getName = (table: Table, name: string): Promise<StoredName | undefined> =>
  table.get(registeredNameKey(name), StoredName);

/** The same day, years later. */
export function yearsAfter(date: Date, years: number): Date {
  const later = new Date(date);
  later.setUTCFullYear(later.getUTCFullYear() + years);
  return later;
}

/**
 * The end of the current year of a name that is renewed every year. `end` is the end of one of its years.
 */
function renewedUntil(end: Date, now: Date): Date {
  let years = Math.max(0, now.getUTCFullYear() - end.getUTCFullYear());
  if (yearsAfter(end, years) <= now) years += 1;
  return yearsAfter(end, years);
}

/** The holder of a name at a given time. */
export function standingOf(name: StoredName | undefined, now: Date): Standing {
  if (!name) return { status: "free" };
  if (name.holder === "elsewhere") return { status: "elsewhere" };
  const { operation, auto_renew } = name;
  if (now < new Date(operation.settles_at)) return { status: "running", name };
  if (operation.outcome === "failed") return { status: "free" };
  const end = new Date(name.expires_at);
  const expiresAt = auto_renew ? renewedUntil(end, now) : end;
  return expiresAt <= now ? { status: "free" } : { status: "ours", name, expiresAt };
}

/** The state of an operation at a given time. */
export function operationState({ id, settles_at, outcome }: StoredOperation, now: Date): RegistrarOperation {
  if (now < new Date(settles_at)) return { id, state: "running" };
  return outcome === "failed"
    ? { id, state: "failed", reason: "The registry did not register the name." }
    : { id, state: "succeeded" };
}

/** The latest operation of a name that began at `since` or later. */
export async function latestOperation(table: Table, name: string, since: Date): Promise<StoredOperation | undefined> {
  const options = { limit: 1, newestFirst: true };
  const from = `OPERATION#${since.toISOString()}`;
  const [latest] = await table.between(partition(name), from, "OPERATION#~", options);
  return latest && StoredOperation.parse(latest);
}

/** The nameservers that the parent zone lists for a name in the embedded registry; undefined when it lists none. */
export async function delegationOf(
  table: Table,
  name: string,
  now: () => Date = clock,
): Promise<readonly string[] | undefined> {
  const stored = await getName(table, name);
  const { status } = standingOf(stored, now());
  if (!stored || stored.nameservers.length === 0) return undefined;
  return status === "ours" || status === "elsewhere" ? stored.nameservers : undefined;
}

/**
 * Registers a name elsewhere, for a holder who is not us, with these nameservers. Without nameservers the name is not
 * delegated. Throws for a name that is registered through us, or is being registered.
 */
export function delegate(
  table: Table,
  name: string,
  nameservers: readonly string[],
  now: () => Date = clock,
): Promise<void> {
  return table.commit(async () => {
    const stored = await getName(table, name);
    const { status } = standingOf(stored, now());
    if (status === "ours" || status === "running")
      throw new Error(`${name} is already registered through this registrar.`);
    const version = stored?.version ?? 0;
    const put = { ...registeredNameKey(name), holder: "elsewhere", version: version + 1, nameservers };
    return { writes: [{ put, if: stored ? { version } : "absent" }], value: undefined };
  });
}
