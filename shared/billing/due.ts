import type { StoredAccount } from "../accounts/account.ts";
import { type Day, minuteMs, later, plusDays, startOf } from "../core/time.ts";
import { dueWrite, moveDue, type Queue } from "../table/due.ts";
import type { Write } from "../table/writes.ts";
import { type BillingState, firstState, planOn } from "../wallet/state.ts";

/**
 * The queue of the accounts whose days are to be closed. To close a day means to record its usage, and at the end of a
 * month to make the invoice. An account is due when its next day can be closed. If its plan was cancelled immediately,
 * it is due a day earlier, so that the end of the plan is recorded on the first day without a plan. The transaction
 * that closes an account's days also moves the account in the queue. So after a crash, the next run continues with the
 * first day that is not closed.
 *
 * Access patterns
 *   the accounts whose next day can be closed by a time     BILLING_DUE#<shard> / <time>#<account id>
 */
export const billingQueue: Queue = { name: "BILLING_DUE", shards: 16 };

/**
 * The time from the end of a day until the day can be closed, in milliseconds. After this time, all usage of the day is
 * stored.
 */
const closingDelayMs = 20 * minuteMs;

/** When a day can be closed: at 00:20 UTC of the next day. */
export const closableAt = (day: Day): string => later(startOf(plusDays(day, 1)), closingDelayMs);

/** The last day that can be closed at a time. */
export const lastClosable = (at: Date): Day => plusDays(later(at, -closingDelayMs).slice(0, 10), -1);

type DueFacts = Pick<BillingState, "accrue_from" | "plans" | "ended_on">;

/**
 * The day after whose end an account is due: the first day that is not closed. The day before it, if the account has no
 * plan from the first day that is not closed, and the end of the plan is not recorded yet.
 */
export const dueDay = (state: DueFacts): Day =>
  state.ended_on === undefined && planOn(state, state.accrue_from) === null
    ? plusDays(state.accrue_from, -1)
    : state.accrue_from;

/** When an account is due next. Null for an account with the status `closed`: it has no further days. */
export const nextClosing = (
  { status, created_at }: Pick<StoredAccount, "status" | "created_at">,
  state: DueFacts | undefined,
): string | null => (status === "closed" ? null : closableAt(dueDay(state ?? firstState(created_at))));

/** The write that puts a new account into the queue. */
export const firstClosing = (accountId: string, created: Day): Write =>
  dueWrite(billingQueue, [accountId], closableAt(created));

/**
 * The writes that move an account in the queue, from the day `from` to the day `to`. If `to` is null, the writes remove
 * the account from the queue.
 */
export const moveClosing = (accountId: string, from: Day, to: Day | null): Write[] =>
  moveDue(billingQueue, [accountId], closableAt(from), to === null ? null : closableAt(to));
