import { change } from "../changes/kind.ts";
import { dayOf, plusDays } from "../core/time.ts";
import { leavingDays } from "../wallet/catalogue.ts";
import { planKind, planOn, planToday, withoutEnd, type BillingState } from "../wallet/state.ts";
import type { AccountBilling } from "./book.ts";

/**
 * Records in a book that the account has no plan.
 * - The first day without a plan gets an event.
 * - After `leavingDays` days, another event says that the mail of the account is closed. So members have known about
 *   the end of the plan for at least this time.
 * - When the account has a plan again, both records are removed after the first whole day with a plan is closed. So a
 *   plan that is cancelled on its first day does not start the count of days again.
 */
export function notePlanEnd(book: AccountBilling): void {
  const today = dayOf(book.now);
  if (planToday(book.state, today) !== null) {
    const yesterday = plusDays(today, -1);
    if (book.state.accrue_from === today && planOn(book.state, yesterday) !== null) book.state = withoutEnd(book.state);
    return;
  }
  const { ended_on, lapsed_on } = book.state;
  if (ended_on === undefined) note(book, "ended", { ended_on: today });
  else if (lapsed_on === undefined && plusDays(ended_on, leavingDays) <= today)
    note(book, "lapsed", { lapsed_on: today });
}

/** Adds an event to a book. The event of the end has the first day without a plan, which can be an earlier day. */
function note(book: AccountBilling, verb: "ended" | "lapsed", members: Partial<BillingState>): void {
  const today = dayOf(book.now);
  const end = book.state.plans.findLast(({ from }) => from <= today);
  book.state = { ...book.state, ...members };
  const after = { plan_id: null, from: verb === "ended" ? (end?.from ?? today) : today };
  book.changes.push(change(planKind, verb, book.accountId, { after }));
}
