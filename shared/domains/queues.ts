import type { Queue } from "../table/due.ts";

/** Domains that have something to be done at an instant, each at its place: account, domain. */
export const domainQueue: Queue = { name: "DOMAIN_DUE", shards: 64 };

/** Purchases whose payment has arrived, each at its place: account, batch. */
export const batchQueue: Queue = { name: "PURCHASE_DUE", shards: 4 };
