import * as z from "zod";

import { defineKind } from "../changes/kind.ts";
import { Day, dayOf, monthOf, nextMonth, plusDays } from "../core/days.ts";
import type { Key } from "../table/writes.ts";
import { PlanId, dedicatedIpFirstDays, defaultPlan, planAt } from "./catalogue.ts";

/*
 * Access patterns
 *   how an account is billed   ACCOUNT#<id> / BILLING
 */
export const stateKey = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "BILLING" });

/** How an account is billed. Days are in UTC; a plan holds from its first day on, that day included. */
export const BillingState = z.object({
  /** The plans of the account, oldest first, each from a day on; null is to have none. The last may begin later. */
  plans: z.array(z.object({ plan_id: PlanId.nullable(), from: Day })).min(1),
  /** The first day whose usage is not recorded yet. */
  accrue_from: Day,
  /** The first day that is on no invoice yet. */
  settle_from: Day,
  /** How many invoices there are: the next one gets the next number. */
  invoices: z.int(),
  /** Where the invoices that wait for money stand in their list, oldest first. */
  open: z.array(z.int()),
  /** Since when there is one. */
  due_since: Day.optional(),
  /** The account's version since it was suspended because of it; at any other one that was the operator. */
  suspended_version: z.int().optional(),
  version: z.int(),
});
export type BillingState = z.output<typeof BillingState>;

/** How an account is billed that nobody billed yet: on the default plan since it was made. */
export function firstState(createdAt: string): BillingState {
  const from = dayOf(new Date(createdAt));
  return {
    plans: [{ plan_id: defaultPlan, from }],
    accrue_from: from,
    settle_from: from,
    invoices: 0,
    open: [],
    version: 0,
  };
}

/** The plan on a day; null for none. */
export const planOn = ({ plans }: Pick<BillingState, "plans">, day: Day): PlanId | null =>
  plans.findLast(({ from }) => from <= day)?.plan_id ?? null;

/** What is to begin after a day: another plan, or none. */
export const plannedAfter = ({ plans }: Pick<BillingState, "plans">, day: Day) => plans.find(({ from }) => from > day);

/** Whether a plan, or none, is what the account is on from a day on for good. */
export const isForGood = (state: Pick<BillingState, "plans">, plan_id: PlanId | null, day: Day): boolean =>
  planOn(state, day) === plan_id && plannedAfter(state, day) === undefined;

/** Whether the plan was cancelled at once today: the day is charged already, and there is none after it. */
export const isEnded = (state: Pick<BillingState, "plans" | "accrue_from">, today: Day): boolean =>
  state.accrue_from > today && isForGood(state, null, plusDays(today, 1));

/** The plans once one begins on a day: whatever was to begin then or later does not. One a day at most. */
export function withPlan(state: BillingState, plan_id: PlanId | null, from: Day): BillingState {
  const kept = state.plans.filter((plan) => plan.from < from);
  return { ...state, plans: [...kept, { plan_id, from }] };
}

/** The plans from the one on a day on. */
const plansSince = ({ plans }: Pick<BillingState, "plans">, day: Day): BillingState["plans"] =>
  plans.slice(
    Math.max(
      0,
      plans.findLastIndex(({ from }) => from <= day),
    ),
  );

/** The last day that may be settled is today: a claim of today asks for the plans of so many days before. */
const historyDays = dedicatedIpFirstDays + 1;

/** The plans without those that ended so long before what is still to be settled that nothing follows from them. */
export const withoutHistory = (state: BillingState): BillingState => ({
  ...state,
  plans: plansSince(state, plusDays(state.settle_from, -historyDays)),
});

/**
 * What the first days of a managed IP cost, in minor units, when it is claimed on a day: a month by the dearest of the
 * plans of that day, of as many days before it, and of those to come, so that a change for a day is no discount. The
 * default plan's where there is none of these.
 */
export function firstDaysPrice(state: Pick<BillingState, "plans">, day: Day): number {
  const ids = plansSince(state, plusDays(day, -dedicatedIpFirstDays)).flatMap(({ plan_id }) => plan_id ?? []);
  return Math.max(...(ids.length > 0 ? ids : [defaultPlan]).map((id) => planAt(id, day).prices.dedicatedIp));
}

/** Whether an account is without a plan on a day, or is to be later. */
export const lacksPlanFrom = (state: Pick<BillingState, "plans">, day: Day): boolean =>
  planOn(state, day) === null || state.plans.some(({ plan_id, from }) => from > day && plan_id === null);

/** The last day of the period that the first unsettled day is in: a calendar month. */
export const periodEnd = ({ settle_from }: Pick<BillingState, "settle_from">): Day =>
  plusDays(nextMonth(monthOf(settle_from)), -1);

const PlanChange = z.object({
  plan_id: PlanId.nullable().meta({ description: "The plan; null for none." }),
  from: Day.meta({ description: "The day from which on it holds." }),
});

export const planKind = defineKind({
  name: "billing.plan",
  verbs: ["changed", "cancelled"],
  view: PlanChange,
  seenWith: "billing.view",
});
