import * as z from "zod";

import { Timestamp } from "../core/time.ts";
import { dueKey, dueWrite } from "../table/due.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import { operationQueue } from "./dedicated-ip.ts";

/*
 * A transaction can change the dedicated IP of a hundred domains and nothing more. The other work follows, a few domains
 * at a time: their entries in the list of the dedicated IP, their SPF records, the recorded changes. An operation stores
 * the domains whose work is not done yet. Until none remain, no other operation of the dedicated IP begins, and the
 * dedicated IP cannot be deleted.
 *
 * Access patterns
 *   the running operation of a dedicated IP   ACCOUNT#<id> / IP_OPERATION#<dedicated IP>
 */
export const operationKey = (accountId: string, id: string): Key => ({
  PK: `ACCOUNT#${accountId}`,
  SK: `IP_OPERATION#${id}`,
});

export const StoredOperation = z.object({
  id: z.string(),
  account_id: z.string(),
  dedicated_ip_id: z.string(),
  kind: z.enum(["assign", "unassign"]),
  /** The domains whose work is not done yet. */
  left: z.array(z.string()),
  /** How many domains the dedicated IP had before the operation. */
  domain_count: z.int(),
  /** The id of the idempotency key of the request that began it, so that a repeat of the request continues it. */
  key_id: z.string().optional(),
  begun_at: Timestamp,
  /** When the worker continues it. */
  due_at: Timestamp,
  version: z.int(),
});
export type StoredOperation = z.output<typeof StoredOperation>;

export const readOperation = (table: Reader, accountId: string, id: string): Promise<StoredOperation | undefined> =>
  table.get(operationKey(accountId, id), StoredOperation);

/** No request runs this long. An older operation was abandoned. */
const graceMs = 60_000;

export const isAbandoned = ({ begun_at }: StoredOperation, now: Date): boolean =>
  now.getTime() - Date.parse(begun_at) > graceMs;

type Begun = Omit<StoredOperation, "begun_at" | "due_at" | "version">;

/** The writes that begin an operation, provided none is running. */
export function beginWrites(begun: Begun, now: Date): { operation: StoredOperation; writes: Write[] } {
  const { account_id, dedicated_ip_id } = begun;
  const due_at = new Date(now.getTime() + graceMs).toISOString();
  const operation = { ...begun, begun_at: now.toISOString(), due_at, version: 1 };
  return {
    operation,
    writes: [
      { put: { ...operationKey(account_id, dedicated_ip_id), ...operation }, if: "absent" },
      dueWrite(operationQueue, [account_id, dedicated_ip_id], due_at),
    ],
  };
}

/** The writes that store the remaining domains, provided the operation is unchanged. Without any the operation ends. */
export function shrinkWrites(
  { account_id, dedicated_ip_id, id, version, due_at }: StoredOperation,
  remaining: string[],
): Write[] {
  const key = operationKey(account_id, dedicated_ip_id);
  const same = { id, version };
  if (remaining.length > 0) return [{ update: key, set: { left: remaining }, add: { version: 1 }, if: same }];
  return [{ delete: key, if: same }, { delete: dueKey(operationQueue, [account_id, dedicated_ip_id], due_at) }];
}
