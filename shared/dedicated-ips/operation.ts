import * as z from "zod";

import { Timestamp } from "../core/time.ts";
import { dueKey, dueWrite } from "../table/due.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import { operationQueue } from "./dedicated-ip.ts";

/*
 * A transaction can change the dedicated IP of a hundred domains and nothing more. The work that follows (their places,
 * their SPF records, the recorded changes) comes afterwards, a few domains at a time. The remaining domains are stored
 * here. A new operation, or a deletion of the dedicated IP, waits until none remain.
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
  /** The domains whose follow-up work is not done yet. */
  left: z.array(z.string()),
  /** How many domains the dedicated IP had before. */
  domain_count: z.int(),
  /** The idempotency key's id of the request that began it, if it had one: the same request sent again continues it. */
  key_id: z.string().optional(),
  begun_at: Timestamp,
  /** When the worker continues it. */
  due_at: Timestamp,
  version: z.int(),
});
export type StoredOperation = z.output<typeof StoredOperation>;

export const readOperation = (table: Reader, accountId: string, id: string): Promise<StoredOperation | undefined> =>
  table.get(operationKey(accountId, id), StoredOperation);

/** Longer than any of our Lambdas lives, so the one that began the operation is no longer at work. */
const graceMs = 60_000;

export const isLeft = ({ begun_at }: StoredOperation, now: Date): boolean =>
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

/**
 * The writes that shorten the list of remaining domains, provided the operation is unchanged; an empty list ends it.
 */
export function shrinkWrites(
  { account_id, dedicated_ip_id, id, version, due_at }: StoredOperation,
  left: string[],
): Write[] {
  const key = operationKey(account_id, dedicated_ip_id);
  const same = { id, version };
  if (left.length > 0) return [{ update: key, set: { left }, add: { version: 1 }, if: same }];
  return [{ delete: key, if: same }, { delete: dueKey(operationQueue, [account_id, dedicated_ip_id], due_at) }];
}
