import type { AttributeValue, TransactionCanceledException } from "@aws-sdk/client-dynamodb";

import { Problem } from "../core/errors.ts";
import type { Write } from "./writes.ts";

/**
 * A failure of a transaction after which its plan should run again: its reads are stale, another transaction writes to
 * the same items, or the table is throttled. `writes` are the writes that failed.
 */
export class Contention {
  readonly writes: readonly Write[];
  constructor(writes: readonly Write[]) {
    this.writes = writes;
  }
}

/**
 * The codes of a cancelled transaction after which its plan runs again. The plan also runs again after a failed
 * condition without `orElse`.
 */
const contentionCodes = new Set(["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"]);
const throttlingErrors = new Set([
  "ThrottlingException",
  "ProvisionedThroughputExceededException",
  "RequestLimitExceeded",
]);
const outageErrors = new Set([
  "TimeoutError",
  "InternalServerError",
  "ServiceUnavailable",
  "AbortError",
  "NetworkingError",
]);

/** The strings and numbers of an item, as text. */
export const scalars = (item: Record<string, AttributeValue> = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries(item).flatMap(([name, value]) => {
      const scalar = value.S ?? value.N;
      return scalar === undefined ? [] : [[name, scalar]];
    }),
  );

/** The error of a caller who does not get a turn, because others write to the same item. */
export const tooBusy = (): Problem =>
  new Problem("busy", "Too many requests change the same resource at once. Try again.", { retry_after: 1 });

/**
 * Translates a failure of the table for the caller.
 * - 503 `busy`: the table is throttled, or a transaction is writing to the same item.
 * - 503 `upstream_unavailable`: the table fails or does not answer.
 *
 * Returns all other errors, such as a cancelled transaction, as they are.
 */
export function failureOf(error: unknown): unknown {
  if (!(error instanceof Error) || isCanceled(error)) return error;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (error.name === "TransactionConflictException") return tooBusy();
  if (throttlingErrors.has(error.name))
    return new Problem("busy", "The table is throttled. Try again.", { retry_after: 1 });
  if (outageErrors.has(error.name) || code.startsWith("ECONN") || code === "ETIMEDOUT" || code === "EPIPE") {
    return new Problem("upstream_unavailable", "The table does not answer. Try again.", { retry_after: 2 });
  }
  return error;
}

/** Compares the name of the error, because the class of the error is loaded only with the SDK. */
const isCanceled = (error: unknown): error is TransactionCanceledException =>
  error instanceof Error && error.name === "TransactionCanceledException";

/** Whether DynamoDB is still working on a transaction that was sent before with the same token. */
export const isInProgress = (error: unknown): boolean =>
  error instanceof Error && error.name === "TransactionInProgressException";

/**
 * Translates the failure of a transaction: the error of the first failed condition that has an `orElse`, or a
 * `Contention` if the plan should run again. Returns all other errors as they are.
 */
export function refusalOf(error: unknown, writes: readonly Write[]): unknown {
  if (!isCanceled(error)) return error;
  const reasons = error.CancellationReasons ?? [];
  for (const [index, { Code, Item }] of reasons.entries()) {
    const orElse = writes[index]?.orElse;
    if (Code === "ConditionalCheckFailed" && orElse) return orElse(scalars(Item));
  }
  const lost = writes.filter((_, index) => isLost(reasons[index]?.Code));
  return lost.length > 0 ? new Contention(lost) : error;
}

const isLost = (code = ""): boolean => code === "ConditionalCheckFailed" || contentionCodes.has(code);

const waitAtMost = (longestMs: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.random() * longestMs));

/**
 * Waits a random time (full jitter) of at most 5 ms × 2^attempt, up to 320 ms, so that a burst of callers spreads out.
 */
export const backOff = (attempt: number): Promise<void> => waitAtMost(5 * 2 ** Math.min(attempt, 6));

/**
 * Waits a random time (full jitter) of at most 5 ms × 2^attempt, up to 640 ms. The time gets shorter as `waitedMs`
 * approaches `limitMs`, so that callers who have waited long usually go before new callers.
 */
export const fairBackOff = (attempt: number, waitedMs: number, limitMs: number): Promise<void> =>
  waitAtMost(5 * 2 ** Math.min(attempt, 7) * Math.max(0.02, 1 - waitedMs / limitMs));
