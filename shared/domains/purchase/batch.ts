import * as z from "zod";

import { defineKind } from "../../changes/kind.ts";
import { Id } from "../../core/ids.ts";
import { Timestamp } from "../../core/time.ts";
import { Contact } from "../../providers/registrar/registrar.ts";
import type { Reader } from "../../table/table.ts";
import type { Key } from "../../table/writes.ts";
import { DnsMode, type StoredDomain } from "../domain.ts";
import type { Purchase, Transfer } from "../registration-state.ts";

/*
 * Access patterns
 *   a purchase or transfer of several names   ACCOUNT#<id> / PURCHASE#<batch id>
 */
const batchKey = (accountId: string, id: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: `PURCHASE#${id}` });

/**
 * How long a batch and its contact are stored, in seconds. The registration or transfer of each name is over earlier.
 */
const keptSeconds = 60 * 86_400;

/**
 * A batch: the names of one purchase or of one request for transfers. It stores the contact, and the names that wait
 * for a payment, with their prices in minor units and their sealed auth codes.
 */
export const StoredBatch = z.object({
  id: z.string(),
  account_id: z.string(),
  workspace_id: z.string(),
  contact: Contact,
  /** Batches of earlier versions all register names. */
  type: z.enum(["registration", "transfer"]).default("registration"),
  /** The DNS mode of the names that are transferred. */
  dns_mode: DnsMode.default("hosted"),
  waiting: z.array(z.object({ name: z.string(), price: z.int(), sealed_auth_code: z.string().optional() })),
  /**
   * The ids of the account's domains whose names are among `waiting`. The request has checked that the caller may buy
   * the names of these domains. If another domain of the account has got one of the names since, the batch does not buy
   * the name. Batches of earlier versions have no ids here.
   */
  own_ids: z.array(z.string()).default([]),
  created_at: Timestamp,
  version: z.int(),
});
export type StoredBatch = z.output<typeof StoredBatch>;

/** The purchase or the transfer of a domain, if it belongs to this batch; otherwise undefined. */
export const boughtIn = ({ purchase, transfer }: StoredDomain, batchId: string): Purchase | Transfer | undefined =>
  [purchase, transfer].find((request) => request?.batch_id === batchId);

/** The table item of a batch, with its expiry. */
export const batchItem = (batch: StoredBatch) => ({
  ...batchKey(batch.account_id, batch.id),
  ...batch,
  ttl: Math.ceil(Date.parse(batch.created_at) / 1_000) + keptSeconds,
});

export const getBatch = (table: Reader, accountId: string, id: string): Promise<StoredBatch | undefined> =>
  table.get(batchKey(accountId, id), StoredBatch);

const BatchView = z.object({
  id: Id.meta({ description: "The id of the purchase." }),
  results: z
    .array(
      z.object({
        domain_name: z.string().meta({ description: "The domain's name." }),
        status: z
          .enum(["pending_registration", "pending_transfer", "failed"])
          .meta({ description: "The result for the name." }),
        error_code: z.string().nullable().meta({
          description:
            "Why the name failed: a code of the results of `domains.purchase` or `domains.transfer`, `workspace_gone` or `account_closed`.",
        }),
      }),
    )
    .meta({ description: "The result for each name that waited for the payment." }),
});

/** The events of batches. */
export const purchaseKind = defineKind({
  name: "domain_purchase",
  verbs: ["continued"],
  view: BatchView,
  seenWith: "domain.view",
});
