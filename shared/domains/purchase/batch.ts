import * as z from "zod";

import { Timestamp } from "../../core/time.ts";
import type { Reader } from "../../table/table.ts";
import type { Key } from "../../table/writes.ts";
import { StoredContact } from "./contact.ts";

/*
 * Access patterns
 *   a purchase of several names   ACCOUNT#<id> / PURCHASE#<batch id>
 */
const batchKey = (accountId: string, id: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: `PURCHASE#${id}` });

/** How long a batch and its contact are kept, in seconds: long enough to settle every name. */
const keptSeconds = 60 * 86_400;

/**
 * The part of a purchase that is needed later: the contact, and the names that wait for a payment with their prices.
 */
export const StoredBatch = z.object({
  id: z.string(),
  account_id: z.string(),
  workspace_id: z.string(),
  contact: StoredContact,
  waiting: z.array(z.object({ name: z.string(), price: z.int() })),
  created_at: Timestamp,
  version: z.int(),
});
export type StoredBatch = z.output<typeof StoredBatch>;

/** The table item of a batch, with its expiry. */
export const batchItem = (batch: StoredBatch) => ({
  ...batchKey(batch.account_id, batch.id),
  ...batch,
  ttl: Math.ceil(Date.parse(batch.created_at) / 1_000) + keptSeconds,
});

export const getBatch = (table: Reader, accountId: string, id: string): Promise<StoredBatch | undefined> =>
  table.get(batchKey(accountId, id), StoredBatch);
