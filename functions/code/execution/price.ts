import { Problem } from "../../../shared/core/errors.ts";
import type { InvocationContext } from "../../../shared/http/invoke.ts";
import { scoreUnit } from "../catalogue/function.ts";
import type { Checked, CheckedCall } from "../checker/checker.ts";
import { howToLowerScore } from "../checker/cost.ts";
import type { RequestCharges, Reservation } from "../sessions/charges.ts";
import { permissionsOf } from "./held-permissions.ts";

/**
 * Reserves the score of a checked program. Throws 429 `rate_limited` if the limit has no room. The message says how
 * much the program needs, how much is left, when the program can begin, and how to make the program cheaper.
 */
export async function reserveScore(
  checked: Checked,
  charges: RequestCharges,
  context: InvocationContext,
): Promise<Reservation> {
  const { score, calls, costliest } = checked;
  const account = onlyAccountOf([...calls.values()]);
  const isMember = async () => account !== undefined && (await permissionsOf(account, context)).member;
  try {
    return await charges.reserve(score, account, isMember);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "rate_limited") throw error;
    const { retry_after, remaining, burst } = error.extras;
    const needs = `This program can cost up to ${score} of the rate limit, and ${String(remaining)} of ${String(burst)} are left.`;
    const advice = costliest ? ` To make it cheaper: ${howToLowerScore(costliest)}` : "";
    const begins = `Send it again in ${String(retry_after)} s; the cost that the program does not use is given back when it ends.`;
    throw new Problem("rate_limited", `${needs} ${begins}${advice}`, error.extras);
  }
}

/** Runs a program, and gives back the part of the reservation that the calls did not use. */
export async function runReserved<T>(
  reservation: Reservation,
  run: (onCall: (units: number) => void) => Promise<T>,
): Promise<T> {
  let used = 0;
  try {
    return await run((units) => (used += units));
  } finally {
    await reservation.settle(used / scoreUnit);
  }
}

/**
 * The account of all calls. Undefined in three cases: a call names no account, the account of a call is known only
 * during the run, or not all calls have the same account.
 */
function onlyAccountOf(calls: readonly CheckedCall[]): string | undefined {
  const [first] = calls;
  return calls.every(({ account }) => account === first?.account) ? first?.account : undefined;
}
