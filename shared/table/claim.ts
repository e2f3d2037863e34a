import { later } from "../core/time.ts";
import type { Table } from "./table.ts";
import type { Key } from "./writes.ts";

/** Who claims: `by` names the process, and the claim ends by itself `forMs` after `now` if the process dies. */
type ClaimTerms = { by: string; now: () => Date; forMs: number };

/**
 * Runs something unless another process has claimed the same key. Returns undefined without running it if another process
 * has. The claim ends with the run.
 */
export async function withClaim<T>(
  table: Table,
  key: Key,
  { by, now, forMs }: ClaimTerms,
  run: () => Promise<T>,
): Promise<T | undefined> {
  const isFree = { absentOr: { until: { atMost: now().toISOString() } } };
  const { done } = await table.attempt({ put: { ...key, by, until: later(now(), forMs) }, if: isFree });
  if (!done) return undefined;
  try {
    return await run();
  } finally {
    await table.attempt({ delete: key, if: { by } });
  }
}
