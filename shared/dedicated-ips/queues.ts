import type { Queue } from "../table/due.ts";

/** Dedicated IPs that are to be looked at, each at its place: account, dedicated IP. */
export const ipQueue: Queue = { name: "IP_DUE", shards: 16 };

/** Assignments of domains that whoever began them may have left, each at its place: account, dedicated IP. */
export const operationQueue: Queue = { name: "IP_OPERATION_DUE", shards: 4 };
