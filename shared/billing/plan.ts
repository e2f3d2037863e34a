import * as z from "zod";

import { AccountStatus } from "../accounts/account.ts";
import { change } from "../changes/kind.ts";
import { InvalidInput, Problem } from "../core/errors.ts";
import { Currency, currency, money, MoneyText } from "../core/money.ts";
import { type Day, Timestamp, dayOf, daysBetween, nextMonth, plusDays, startOf } from "../core/time.ts";
import { ipsOf } from "../dedicated-ips/dedicated-ip.ts";
import type { Context } from "../http/route.ts";
import { aheadOfList } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import { PlanId, planAt, plans } from "../wallet/catalogue.ts";
import { isEnded, keepsPlanFrom, periodEnd, planKind, plannedAfter, planOn, withPlan } from "../wallet/state.ts";
import { openAccountBilling, planBilling, type AccountBilling, aheadOfBilling, aheadOfBillingView } from "./book.ts";
import { accrueThrough, payOpen, settleThrough } from "./settle.ts";
import { countManaged } from "./usage.ts";

export const CurrentPlan = z
  .object({
    plan_id: PlanId.nullable().meta({ description: "The plan. Null if there is none." }),
    plan_name: z.string().nullable().meta({ description: "The plan's name, for people." }),
    status: z
      .enum(["active", "cancelling", "cancelled", "past_due"])
      .meta({ description: "The plan's status. `cancelling` means that the plan ends on a later day." }),
    price: MoneyText.nullable().meta({ description: "The minimum charge for a period." }),
    currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
    billing_period: z.enum(["month"]).meta({ description: "The billing period: a calendar month in UTC." }),
    can_change_plan: z.boolean().meta({ description: "Whether `billing.plan.change` is possible." }),
    can_cancel_plan: z.boolean().meta({ description: "Whether `billing.plan.cancel` is possible." }),
  })
  .meta({ id: "CurrentPlan", description: "The plan of an account." });
type CurrentPlan = z.output<typeof CurrentPlan>;

/** The items that `currentPlan` reads first. */
export function aheadOfCurrentPlan(accountId: string): Ahead {
  const billing = aheadOfBillingView(accountId);
  return { ...billing, ...aheadOfList(ipsOf(accountId), [], billing.keys) };
}

/** The plan of an account today. */
export async function currentPlan(accountId: string, { table, now }: Context): Promise<CurrentPlan> {
  const [{ state, open }, { count }] = await Promise.all([
    openAccountBilling(table, accountId, now()),
    countManaged(table, accountId),
  ]);
  const today = dayOf(now());
  const planId = isEnded(state, today) ? null : planOn(state, today);
  const isEnding = planId !== null && plannedAfter(state, today)?.plan_id === null;
  const isDue = open.length > 0;
  return {
    plan_id: planId,
    plan_name: planId && plans[planId].name,
    status: planId === null ? "cancelled" : isEnding ? "cancelling" : isDue ? "past_due" : "active",
    price: planId && money(planAt(planId, today).minimum),
    currency,
    billing_period: "month",
    can_change_plan: !isDue,
    can_cancel_plan: count === 0 && !keepsPlanFrom(state, null, nextMonth(today)),
  };
}

export const PlanAnswer = z
  .object({
    status: z.enum(["active", "scheduled", "cancelled"]).meta({
      description:
        "`active` or `cancelled` if the change applies already, `scheduled` if it applies from `effective_at` on.",
    }),
    account_status: AccountStatus.nullable().optional().meta({ description: "The account's status after the change." }),
    effective_at: Timestamp.nullable().optional().meta({ description: "When the change takes effect." }),
    eligible: z.boolean().nullable().optional().meta({ description: "Whether the change was possible. Always true." }),
    previous_plan_id: PlanId.nullable()
      .optional()
      .meta({ description: "The plan before the change. Null if there was none." }),
    target_plan_id: PlanId.nullable()
      .optional()
      .meta({ description: "The plan after the change. Null if there is none." }),
  })
  .meta({ id: "PlanChangeResponse", description: "The result of changing or cancelling the plan." });
type PlanAnswer = z.output<typeof PlanAnswer>;

const planAnswer = (book: AccountBilling, previous: PlanId | null, target: PlanId | null, from: Day): PlanAnswer => {
  const isNow = from <= dayOf(book.now);
  return {
    status: !isNow ? "scheduled" : target === null ? "cancelled" : "active",
    account_status: book.status,
    effective_at: startOf(from).toISOString(),
    eligible: true,
    previous_plan_id: previous,
    target_plan_id: target,
  };
};

function requireNothingDue({ open }: AccountBilling): void {
  if (open.length === 0) return;
  throw new Problem("payment_due", "The account has an open invoice. Top up the wallet to pay it first.", {
    open_invoices: open.map(({ number }) => number),
  });
}

/**
 * Changes the plan from a day on, by default from today on. Earlier days stay on their plan, so each plan is charged
 * for its own days. Throws 409 `plan_unchanged` or `payment_due`, and 422 for a past day or a day more than a
 * year away.
 */
export function changePlan(
  accountId: string,
  target: PlanId,
  effective: Day | undefined,
  { table, commit, now }: Context,
): Promise<PlanAnswer> {
  return commit(async () => {
    const at = now();
    const today = dayOf(at);
    const wanted = effective ?? today;
    if (wanted < today) throw badDay("This day is over. Write today or a later day");
    if (wanted > plusDays(today, furthestDays)) throw badDay("This day is more than a year away. Write an earlier day");
    let answer: PlanAnswer | undefined;
    const { writes, changes } = await planBilling(table, accountId, at, (book) => {
      requireNothingDue(book);
      // A day that is charged already stays on the plan it was charged by.
      const from = wanted < book.state.accrue_from ? book.state.accrue_from : wanted;
      const previous = planOn(book.state, from);
      if (keepsPlanFrom(book.state, target, from)) {
        throw new Problem("plan_unchanged", `The account already has the plan ${plans[target].name} on that day.`);
      }
      book.state = withPlan(book.state, target, from);
      book.changes.push(changed("changed", accountId, previous, target, from));
      answer = planAnswer(book, previous, target, from);
    });
    if (!answer) throw new Error("nothing was planned");
    return { value: answer, writes, changes };
  });
}

const changed = (verb: "changed" | "cancelled", id: string, before: PlanId | null, after: PlanId | null, from: Day) =>
  change(planKind, verb, id, { before: { plan_id: before, from }, after: { plan_id: after, from } });

/**
 * How many days ahead a change of plan may be. The state has one entry for each change, and a year of entries fits in
 * one item.
 */
const furthestDays = 366;

const badDay = (msg: string): InvalidInput =>
  new InvalidInput([{ loc: ["body", "effective_date"], msg, type: "value_error" }]);

/** The items that `cancelPlan` reads first. */
export const aheadOfCancelling = (accountId: string): Ahead =>
  aheadOfList(ipsOf(accountId), [], aheadOfBilling(accountId));

/**
 * Cancels the plan from the first day of the next month on, or at once: the usage up to today, this day included, is
 * then invoiced. Throws 409 `plan_cancelled`, and 409 `plan_in_use` while the account has managed dedicated IPs.
 */
export function cancelPlan(
  accountId: string,
  isImmediate: boolean,
  { table, commit, now }: Context,
): Promise<PlanAnswer> {
  return commit(async () => {
    const at = now();
    const today = dayOf(at);
    let answer: PlanAnswer | undefined;
    const { count, unchanged } = await countManaged(table, accountId);
    const { writes, changes } = await planBilling(table, accountId, at, async (book) => {
      const previous = planOn(book.state, today);
      const from = isImmediate ? today : nextMonth(today);
      if (isEnded(book.state, today) || keepsPlanFrom(book.state, null, from)) {
        throw new Problem("plan_cancelled", "The plan is cancelled already.");
      }
      if (count > 0) throw inUse(count);
      // Today has begun, so it is charged by the plan, at once.
      if (isImmediate) await settleNow(table, book, today);
      const firstDayWithout = isImmediate ? plusDays(today, 1) : from;
      book.state = withPlan(book.state, null, firstDayWithout);
      book.changes.push(changed("cancelled", accountId, previous, null, firstDayWithout));
      answer = planAnswer(book, previous, null, from);
    });
    if (!answer) throw new Error("nothing was planned");
    return { value: answer, writes: [...writes, unchanged], changes };
  });
}

const inUse = (dedicated_ip_count: number): Problem =>
  new Problem("plan_in_use", "Delete the managed dedicated IPs first, because the plan pays for them.", {
    dedicated_ip_count,
  });

/** The most days that one transaction can record. */
const daysAtOnce = 31;

/**
 * Makes the final invoices: for a month that ended and is not invoiced yet, and for the days of this month. If more days
 * than `daysAtOnce` are unrecorded, it does nothing, and the daily run makes these invoices month by month.
 */
async function settleNow(table: Context["table"], book: AccountBilling, last: Day): Promise<void> {
  if (daysBetween(book.state.accrue_from, last).length > daysAtOnce) return;
  while (book.state.settle_from <= last) {
    await accrueThrough(table, book, last);
    settleThrough(book, last < periodEnd(book.state) ? last : periodEnd(book.state));
  }
  payOpen(book);
}
