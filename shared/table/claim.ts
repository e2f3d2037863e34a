import { later } from "../core/time.ts";
import type { Table } from "./table.ts";
import type { Key } from "./writes.ts";

/**
 * The terms of a claim. `by` names the process that claims. The claim ends at the latest `forMs` milliseconds after
 * it was made, even if `run` is still running.
 */
type ClaimTerms = { by: string; now: () => Date; forMs: number };

/**
 * Claims a key, runs `run`, and ends the claim. If an earlier claim on the key has not ended, returns undefined without
 * running `run`.
 */
export async function withClaim<T>(
  table: Table,
  key: Key,
  { by, now, forMs }: ClaimTerms,
  run: () => Promise<T>,
): Promise<T | undefined> {
  const isFree = { absentOr: { until: { atMost: now().toISOString() } } };
  const until = later(now(), forMs);
  const claimed = await table.attempt({ put: { ...key, by, until }, if: isFree });
  // If the answer to the write is lost, the write is sent again. Then the second write finds the claim of the first.
  const isOwn = claimed.done || (claimed.found["by"] === by && claimed.found["until"] === until);
  if (!isOwn) return undefined;
  try {
    return await run();
  } finally {
    await table.attempt({ delete: key, if: { by } });
  }
}
