import * as z from "zod";

import { Timestamp, clock, dayMs, yearsAfter } from "../../core/time.ts";
import type { Table } from "../../table/table.ts";
import type { Key } from "../../table/writes.ts";
import {
  renewalGraceMs,
  redemptionMs,
  type OperationKind,
  type Registration,
  type RegistrarOperation,
} from "./registrar.ts";

/*
 * Access patterns
 *   a name, with its holder and its nameservers          REGISTRY#<name> / NAME
 *   an operation by its id, which contains its key       REGISTRY#<name> / OPERATION#<begun at>#<random>
 *   the operations of a name since a time, newest first  REGISTRY#<name> / OPERATION#<instant> to OPERATION#~, backwards
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
  /** Operations of earlier versions all register a name. */
  kind: z.enum(["register", "renew"]).default("register"),
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
    /** Whether the registry renews the name every year. Only earlier versions registered names that it renews. */
    auto_renew: z.boolean(),
    /** The end of the registration before `renewal`, or of one of its years if the registry renews it. */
    expires_at: Timestamp,
    /** The latest renewal, which adds `years` if it succeeds. */
    renewal: z.object({ operation: StoredOperation, years: z.int() }).optional(),
  }),
]);
type StoredName = z.output<typeof StoredName>;
type OurName = Extract<StoredName, { holder: "us" }>;

/** The holder of a name. While an operation registers a name for us, the name is `running`. */
export type Standing =
  | { status: "free" | "elsewhere" | "pending_delete" }
  | { status: "running"; name: OurName }
  | { status: "ours"; name: OurName; expiresAt: Date; phase: Registration["phase"] };

/** The stored name; undefined for a name that never had a holder. */
export const getName = (table: Table, name: string): Promise<StoredName | undefined> =>
  table.get(registeredNameKey(name), StoredName);

/**
 * The end of the current year of a name that is renewed every year. `end` is the end of one of its years.
 */
function renewedUntil(end: Date, now: Date): Date {
  let years = Math.max(0, now.getUTCFullYear() - end.getUTCFullYear());
  if (yearsAfter(end, years) <= now) years += 1;
  return yearsAfter(end, years);
}

/** The end of the registration of a name that is ours. */
function endOf({ expires_at, auto_renew, renewal }: OurName, now: Date): Date {
  const isRenewed = renewal !== undefined && operationState(renewal.operation, now).state === "succeeded";
  const end = yearsAfter(new Date(expires_at), isRenewed ? renewal.years : 0);
  return auto_renew ? renewedUntil(end, now) : end;
}

/** How long a name that was not restored stays taken, in milliseconds. */
const pendingDeleteMs = 5 * dayMs;

/** The holder of a name at a given time. After its end, a name of ours is free only after all the registry's periods. */
export function standingOf(name: StoredName | undefined, now: Date): Standing {
  if (!name) return { status: "free" };
  if (name.holder === "elsewhere") return { status: "elsewhere" };
  const { operation } = name;
  if (now < new Date(operation.settles_at)) return { status: "running", name };
  if (operation.outcome === "failed") return { status: "free" };
  const expiresAt = endOf(name, now);
  const pastMs = now.getTime() - expiresAt.getTime();
  if (pastMs >= renewalGraceMs + redemptionMs + pendingDeleteMs) return { status: "free" };
  if (pastMs >= renewalGraceMs + redemptionMs) return { status: "pending_delete" };
  const phase = pastMs < 0 ? "registered" : pastMs < renewalGraceMs ? "grace" : "redemption";
  return { status: "ours", name, expiresAt, phase };
}

const failures: Record<OperationKind, string> = {
  register: "The registry did not register the name.",
  renew: "The registry did not renew the name.",
};

/** The state of an operation at a given time. */
export function operationState({ id, kind, settles_at, outcome }: StoredOperation, now: Date): RegistrarOperation {
  if (now < new Date(settles_at)) return { id, state: "running" };
  return outcome === "failed" ? { id, state: "failed", reason: failures[kind] } : { id, state: "succeeded" };
}

/** The latest operation of a kind for a name that began at `since` or later. */
export async function latestOperation(
  table: Table,
  name: string,
  since: Date,
  kind: OperationKind,
): Promise<StoredOperation | undefined> {
  const from = `OPERATION#${since.toISOString()}`;
  const found = await table.between(partition(name), from, "OPERATION#~", { newestFirst: true });
  return found.map((item) => StoredOperation.parse(item)).find((operation) => operation.kind === kind);
}

/** The nameservers that the parent zone lists for a name in the embedded registry; undefined when it lists none. */
export async function delegationOf(
  table: Table,
  name: string,
  now: () => Date = clock,
): Promise<readonly string[] | undefined> {
  const stored = await getName(table, name);
  const standing = standingOf(stored, now());
  if (!stored || stored.nameservers.length === 0) return undefined;
  const isListed = standing.status === "elsewhere" || (standing.status === "ours" && standing.phase !== "redemption");
  return isListed ? stored.nameservers : undefined;
}

/**
 * Registers a name elsewhere, for a holder who is not us, with these nameservers. Without nameservers the name is not
 * delegated. Throws for a name that is registered through us, is being registered, or is not free again.
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
    if (status !== "free" && status !== "elsewhere")
      throw new Error(`${name} is already registered through this registrar.`);
    const version = stored?.version ?? 0;
    const put = { ...registeredNameKey(name), holder: "elsewhere", version: version + 1, nameservers };
    return { writes: [{ put, if: stored ? { version } : "absent" }], value: undefined };
  });
}
