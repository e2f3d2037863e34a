import * as z from "zod";

import { Timestamp } from "../core/time.ts";
import { dueKey, dueWrite } from "../table/due.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import { operationQueue } from "./dedicated-ip.ts";

/*
 * An operation assigns up to 100 domains to a dedicated IP, or unassigns them. Its first transaction stores the
 * operation. The second transaction changes all of the domains, and has no room for other writes. Each further
 * transaction settles a few domains: it writes their entries at the dedicated IP, their SPF records, and the recorded
 * changes. The operation stores the domains that are not settled. While the operation runs, no other operation of the
 * dedicated IP begins, and the dedicated IP cannot be deleted.
 *
 * Access patterns
 *   the running operation of a dedicated IP   ACCOUNT#<id> / IP_OPERATION#<dedicated IP>
 */
/** The key of the running operation of a dedicated IP. */
export const operationKey = (accountId: string, id: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `IP_OPERATION#${id}`,
});

export const StoredOperation = z.object({
  id: z.string(),
  account_id: z.string(),
  dedicated_ip_id: z.string(),
  kind: z.enum(["assign", "unassign"]),
  /** The ids of the domains that are not settled yet. */
  left: z.array(z.string()),
  /** The number of domains of the dedicated IP before the operation. */
  domain_count: z.int(),
  /** The `keyId` of the request that began the operation, so that a repeat of the request continues the operation. */
  key_id: z.string().optional(),
  begun_at: Timestamp,
  /** When the worker resumes the operation. */
  due_at: Timestamp,
  version: z.int(),
});
export type StoredOperation = z.output<typeof StoredOperation>;

/** Reads the running operation of a dedicated IP; undefined if there is none. */
export const readOperation = (table: Reader, accountId: string, id: string): Promise<StoredOperation | undefined> =>
  table.get(operationKey(accountId, id), StoredOperation);

/** The age at which a running operation counts as abandoned, in milliseconds. No request runs this long. */
const graceMs = 60_000;

/** Whether the request of an operation has ended without finishing the operation. */
export const isAbandoned = ({ begun_at }: StoredOperation, now: Date): boolean =>
  now.getTime() - Date.parse(begun_at) > graceMs;

type NewOperation = Omit<StoredOperation, "begun_at" | "due_at" | "version">;

/** The writes that begin an operation. The writes fail if another operation of the dedicated IP is running. */
export function beginWrites(input: NewOperation, now: Date): { operation: StoredOperation; writes: Write[] } {
  const { account_id, dedicated_ip_id } = input;
  const due_at = new Date(now.getTime() + graceMs).toISOString();
  const operation = { ...input, begun_at: now.toISOString(), due_at, version: 1 };
  return {
    operation,
    writes: [
      { put: { ...operationKey(account_id, dedicated_ip_id), ...operation }, if: "absent" },
      dueWrite(operationQueue, [account_id, dedicated_ip_id], due_at),
    ],
  };
}

/**
 * The writes that store the remaining domains of an operation, or end the operation if no domain remains. The writes
 * fail if the operation has changed since it was read.
 */
export function shrinkWrites(
  { account_id, dedicated_ip_id, id, version, due_at }: StoredOperation,
  remaining: string[],
): Write[] {
  const key = operationKey(account_id, dedicated_ip_id);
  const asRead = { id, version };
  if (remaining.length > 0) return [{ update: key, set: { left: remaining }, add: { version: 1 }, if: asRead }];
  return [{ delete: key, if: asRead }, { delete: dueKey(operationQueue, [account_id, dedicated_ip_id], due_at) }];
}
