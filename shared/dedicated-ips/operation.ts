import * as z from "zod";

import { Timestamp } from "../core/time.ts";
import { dueKey, dueWrite } from "../table/due.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import { operationQueue } from "./dedicated-ip.ts";

/*
 * A hundred domains that change their dedicated IP are all that one transaction can hold: what follows from it (their
 * places, their SPF records, what is told of them) comes after, a few at a time. What is left of it stands here, and
 * whoever begins another one, or deletes the dedicated IP, waits until nothing is.
 *
 * Access patterns
 *   what is going on with the domains of a dedicated IP   ACCOUNT#<id> / IP_OPERATION#<dedicated IP>
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
  /** The domains that something is still to be done for. */
  left: z.array(z.string()),
  /** How many domains the dedicated IP had before. */
  domain_count: z.int(),
  /** What the request goes by that began it, when it had an idempotency key: sent again, it goes on. */
  key_id: z.string().optional(),
  begun_at: Timestamp,
  /** When the worker goes on with it. */
  due_at: Timestamp,
  version: z.int(),
});
export type StoredOperation = z.output<typeof StoredOperation>;

export const readOperation = (table: Reader, accountId: string, id: string): Promise<StoredOperation | undefined> =>
  table.get(operationKey(accountId, id), StoredOperation);

/** Longer than any of our Lambdas lives: whoever began it is not at it any more. */
const graceMs = 60_000;

export const isLeft = ({ begun_at }: StoredOperation, now: Date): boolean =>
  now.getTime() - Date.parse(begun_at) > graceMs;

type Begun = Omit<StoredOperation, "begun_at" | "due_at" | "version">;

/** The writes that begin an operation where none is going on. */
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

/** The writes after which so many fewer domains are left, provided it is as it was read; with none left it is over. */
export function shrinkWrites(
  { account_id, dedicated_ip_id, id, version, due_at }: StoredOperation,
  left: string[],
): Write[] {
  const key = operationKey(account_id, dedicated_ip_id);
  const same = { id, version };
  if (left.length > 0) return [{ update: key, set: { left }, add: { version: 1 }, if: same }];
  return [{ delete: key, if: same }, { delete: dueKey(operationQueue, [account_id, dedicated_ip_id], due_at) }];
}
