import { randomBytes } from "node:crypto";

import * as z from "zod";

import { Timestamp, clock, dayMs, later, yearsAfter } from "../../core/time.ts";
import type { Table } from "../../table/table.ts";
import type { Key, Write } from "../../table/writes.ts";
import {
  Contact,
  renewalGraceMs,
  redemptionMs,
  mostYears,
  transferLockMs,
  type OperationKind,
  type Registration,
  type RegistrarOperation,
} from "./registrar.ts";

/*
 * Access patterns
 *   a name, with its holder and its nameservers       REGISTRY#<name> / NAME
 *   an operation by its id, which contains its key    REGISTRY#<name> / OPERATION#<begun at>#<random>
 *   operations of a name since a time, newest first   REGISTRY#<name> / OPERATION#<instant> to OPERATION#~, backwards
 */
const partition = (name: string): string => `REGISTRY#${name}`;
export const registeredNameKey = (name: string): Key => ({ PK: partition(name), SK: "NAME" });

/** The key of an operation; undefined for an invalid id. */
export function operationKey(id: string): Key | undefined {
  const [, name, rest] = /^([^/#]{1,255})\/([^/]{1,100})$/.exec(id) ?? [];
  return name === undefined ? undefined : { PK: partition(name), SK: `OPERATION#${rest}` };
}

const operationId = (name: string, begunAt: Date, random: string): string =>
  `${name}/${begunAt.toISOString()}#${random}`;

/** An operation of the registry. The operation runs until `settles_at`, but its outcome is stored at the beginning. */
export const StoredOperation = z.object({
  id: z.string(),
  /** Operations of earlier versions all register a name. */
  kind: z.enum(["register", "renew", "transfer", "transfer_out", "contact"]).default("register"),
  settles_at: Timestamp,
  outcome: z.enum(["succeeded", "failed"]),
  /** Why the operation failed. By default, the sentence of `failures` for its kind. */
  reason: z.string().optional(),
});
export type StoredOperation = z.output<typeof StoredOperation>;

/** A registration at another registrar. Names of earlier versions have no auth code, so they cannot be transferred. */
const Elsewhere = z.object({
  auth_code: z.string().optional(),
  locked: z.boolean().default(false),
  /** When the name was registered, or was transferred last. */
  registered_at: Timestamp.optional(),
  expires_at: Timestamp.optional(),
});
export type Elsewhere = z.output<typeof Elsewhere>;

const StoredName = z.discriminatedUnion("holder", [
  Elsewhere.extend({ holder: z.literal("elsewhere"), version: z.int(), nameservers: z.array(z.string()) }),
  z.object({
    holder: z.literal("us"),
    version: z.int(),
    nameservers: z.array(z.string()),
    operation: StoredOperation,
    /**
     * Whether the registry renews the name every year. Only earlier versions registered names that the registry renews.
     */
    auto_renew: z.boolean(),
    /**
     * The end of the registration, without the years of `renewal`. If `auto_renew` is true, the registration ends at
     * this time or at a later anniversary of this time.
     */
    expires_at: Timestamp,
    locked: z.boolean().default(true),
    privacy: z.boolean().default(true),
    /** Absent for names that earlier versions registered. */
    contact: Contact.optional(),
    /** Absent until somebody asks for the code. */
    auth_code: z.string().optional(),
    /** The latest renewal, which adds `years` if it succeeds. */
    renewal: z.object({ operation: StoredOperation, years: z.int() }).optional(),
    /** The registration elsewhere from which `operation` transfers the name; absent for a name that was registered. */
    elsewhere: Elsewhere.optional(),
    /** The operation by which another registrar takes the name over, and the registration there. */
    departure: z.object({ operation: StoredOperation, elsewhere: Elsewhere }).optional(),
  }),
]);
type StoredName = z.output<typeof StoredName>;
type OurName = Extract<StoredName, { holder: "us" }>;

/** The state of a name at some time. While an operation registers the name for us, the name is `running`. */
export type NameState =
  | { status: "free" | "pending_delete" }
  /** `transfer` is a running operation that transfers the name to us. */
  | { status: "elsewhere"; elsewhere: Elsewhere; transfer?: StoredOperation }
  | { status: "running"; name: OurName }
  | { status: "ours"; name: OurName; expiresAt: Date; phase: Registration["phase"] };

/** The stored name. Undefined for a name that never had a holder, or that we released. */
export const getName = (table: Table, name: string): Promise<StoredName | undefined> =>
  table.get(registeredNameKey(name), StoredName);

/**
 * The end of the registration of a name that the registry renews every year: `end`, or the first anniversary of `end`
 * after `now` if `end` has passed.
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

/**
 * The state of a name at a given time. After the end of its registration, a name of ours goes through grace, redemption
 * and pending deletion before it is free.
 */
export function stateAt(name: StoredName | undefined, now: Date): NameState {
  if (!name) return { status: "free" };
  if (name.holder === "elsewhere") return { status: "elsewhere", elsewhere: name };
  const { operation, elsewhere, departure } = name;
  const { state } = operationState(operation, now);
  if (state === "running") {
    return elsewhere ? { status: "elsewhere", elsewhere, transfer: operation } : { status: "running", name };
  }
  if (state === "failed") return elsewhere ? { status: "elsewhere", elsewhere } : { status: "free" };
  if (departure && now >= new Date(departure.operation.settles_at)) {
    return { status: "elsewhere", elsewhere: departure.elsewhere };
  }
  const expiresAt = endOf(name, now);
  const pastMs = now.getTime() - expiresAt.getTime();
  if (pastMs >= renewalGraceMs + redemptionMs + pendingDeleteMs) return { status: "free" };
  if (pastMs >= renewalGraceMs + redemptionMs) return { status: "pending_delete" };
  return { status: "ours", name, expiresAt, phase: phaseAt(pastMs) };
}

/** The phase of a name of ours whose registration ended `pastMs` milliseconds ago. */
function phaseAt(pastMs: number): Registration["phase"] {
  if (pastMs < 0) return "registered";
  return pastMs < renewalGraceMs ? "grace" : "redemption";
}

const failures: Record<StoredOperation["kind"], string> = {
  register: "The registry did not register the name.",
  renew: "The registry did not renew the name.",
  transfer: "The registry did not transfer the name.",
  contact: "The registry did not change the contact.",
  transfer_out: "The registry did not transfer the name to another registrar.",
};

/** The state of an operation at a given time. */
export function operationState(
  { id, kind, settles_at, outcome, reason = failures[kind] }: StoredOperation,
  now: Date,
): RegistrarOperation {
  if (now < new Date(settles_at)) return { id, state: "running" };
  return outcome === "failed" ? { id, state: "failed", reason } : { id, state: "succeeded" };
}

/** How long a failing operation runs, in milliseconds. */
const failingMs = 30_000;
/** How long an operation on a `slow-` name runs, in milliseconds. */
const slowMs: Record<StoredOperation["kind"], number> = {
  register: 30_000,
  renew: 30_000,
  contact: 30_000,
  transfer: 5 * dayMs,
  transfer_out: 5 * dayMs,
};
/** The names whose operations fail. */
const failing: Partial<Record<StoredOperation["kind"], RegExp>> = {
  register: /^fails-/,
  renew: /^renewal-fails-/,
  transfer: /^transfer-(?:fails|refused)-/,
  contact: /^contact-fails-/,
};

/** A new operation. The beginning of the name decides how the operation ends. */
export function newOperation(
  name: string,
  kind: StoredOperation["kind"],
  now: Date,
): { operation: StoredOperation; write: Write } {
  const fails = failing[kind]?.test(name) ?? false;
  const runsMs = name.startsWith("slow-") ? slowMs[kind] : 0;
  const isRefused = kind === "transfer" && name.startsWith("transfer-refused-");
  const operation: StoredOperation = {
    id: operationId(name, now, randomBytes(8).toString("hex")),
    kind,
    settles_at: later(now, fails ? failingMs : runsMs),
    outcome: fails ? "failed" : "succeeded",
    ...(isRefused ? { reason: "The present registrar refused the transfer." } : {}),
  };
  const key = operationKey(operation.id);
  if (!key) throw new Error(`An operation for ${name} has no key.`);
  return { operation, write: { put: { ...key, ...operation }, if: "absent" } };
}

/** The latest operation of a kind for a name. Undefined if no such operation began at `since` or later. */
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
  const current = stateAt(stored, now());
  if (!stored || stored.nameservers.length === 0) return undefined;
  const isListed = current.status === "elsewhere" || (current.status === "ours" && current.phase !== "redemption");
  return isListed ? stored.nameservers : undefined;
}

type Ours = Extract<NameState, { status: "ours" }>;

/**
 * Why the registry does not transfer a name of ours to another registrar; undefined if the registry transfers the name.
 */
function departureRefusal({ name, phase }: Ours, authCode: string | undefined, now: Date): string | undefined {
  if (name.auth_code === undefined || name.auth_code !== authCode) return "The auth code is wrong.";
  if (name.locked) return "The name is locked against transfer.";
  if (name.departure) return "The name is being transferred to another registrar already.";
  if (phase === "redemption") return "The name is in redemption.";
  const from = later(new Date(name.operation.settles_at), transferLockMs);
  return from > now.toISOString() ? `The name cannot be transferred before ${from}.` : undefined;
}

/**
 * Plans the operation by which another registrar takes over a name of ours. Throws if the registry refuses the
 * transfer.
 */
function planDeparture(name: string, ours: Ours, given: Partial<Elsewhere>, now: Date) {
  const refusal = departureRefusal(ours, given.auth_code, now);
  if (refusal !== undefined) throw new Error(refusal);
  const { operation, write } = newOperation(name, "transfer_out", now);
  const [withAYear, most] = [yearsAfter(ours.expiresAt, 1), yearsAfter(now, mostYears)];
  const elsewhere: Elsewhere = {
    locked: false,
    registered_at: operation.settles_at,
    expires_at: (withAYear < most ? withAYear : most).toISOString(),
    ...given,
  };
  const { version } = ours.name;
  const set = { departure: { operation, elsewhere }, version: version + 1 };
  const writes: Write[] = [{ update: registeredNameKey(name), set, if: { version } }, write];
  return { operation, writes };
}

/**
 * Registers a name at another registrar, or changes its registration there. Members that are not given do not change.
 * - A new name without nameservers is not delegated.
 * - While the name is transferred to us, only its nameservers can change.
 * - If the auth code of a name of ours is given, the name is transferred to the other registrar. The name keeps its
 *   nameservers.
 *
 * Returns the time from which the name has this registration (RFC 3339). Throws:
 * - for a name of ours, if no auth code is given or the registry refuses the transfer;
 * - for a name that is being registered, or is pending deletion;
 * - for a name that is being transferred to us, if more than its nameservers is given.
 */
export function registerElsewhere(
  table: Table,
  name: string,
  given: Partial<Elsewhere> & { nameservers?: readonly string[] | undefined },
  now: () => Date = clock,
): Promise<string> {
  return table.commit(async () => {
    const at = now().toISOString();
    const stored = await getName(table, name);
    const current = stateAt(stored, now());
    if (current.status === "ours" && given.auth_code !== undefined) {
      const { nameservers: _, ...registration } = given;
      const { writes, operation } = planDeparture(name, current, registration, now());
      return { writes, value: operation.settles_at };
    }
    if (current.status !== "free" && current.status !== "elsewhere") {
      throw new Error(`${name} is already registered through this registrar.`);
    }
    const known = current.status === "elsewhere" ? current : undefined;
    const version = stored?.version ?? 0;
    const nameservers = given.nameservers ?? (known && stored?.nameservers) ?? [];
    if (known?.transfer) {
      const isDelegation = Object.keys(given).every((member) => member === "nameservers");
      if (!isDelegation) throw new Error(`${name} is being transferred to this registrar.`);
      const set = { nameservers, version: version + 1 };
      return { writes: [{ update: registeredNameKey(name), set, if: { version } }], value: at };
    }
    const own = { holder: "elsewhere", version: version + 1, nameservers };
    const put = { ...registeredNameKey(name), ...known?.elsewhere, ...given, ...own };
    return { writes: [{ put, if: stored ? { version } : "absent" }], value: at };
  });
}

/**
 * Registers a name elsewhere with these nameservers, or changes the nameservers of a name that is registered elsewhere.
 * Throws as `registerElsewhere` does.
 */
export const delegate = async (
  table: Table,
  name: string,
  nameservers: readonly string[],
  now: () => Date = clock,
): Promise<void> => void (await registerElsewhere(table, name, { nameservers }, now));
