import * as z from "zod";

import { defineKind } from "../changes/kind.ts";
import { Day, dayOf, monthOf, nextMonth, plusDays } from "../core/time.ts";
import type { Key } from "../table/writes.ts";
import { PlanId, dedicatedIpFirstDays, defaultPlan, planAt } from "./catalogue.ts";

/*
 * Access patterns
 *   how an account is billed   ACCOUNT#<id> / BILLING
 */
export const stateKey = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "BILLING" });

/** The billing state of an account. Days are in UTC; a plan is valid from its first day on. */
export const BillingState = z.object({
  /** The plans of the account, oldest first, each with its first day; null is no plan. The last one may begin later. */
  plans: z.array(z.object({ plan_id: PlanId.nullable(), from: Day })).min(1),
  /** The first day whose usage is not recorded yet. */
  accrue_from: Day,
  /** The first day that is on no invoice yet. */
  settle_from: Day,
  /** The number of invoices. The next invoice gets the next number. */
  invoices: z.int(),
  /** The ordinals of the unpaid invoices in their list, oldest first. */
  open: z.array(z.int()),
  /** The day since which there is an unpaid invoice. */
  due_since: Day.optional(),
  /**
   * The version that the account got when it was suspended for a debt. If it has another version, the operator
   * suspended it.
   */
  suspended_version: z.int().optional(),
  version: z.int(),
});
export type BillingState = z.output<typeof BillingState>;

/** The billing state of an account without a stored one: on the default plan since its creation. */
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

/** The next change of plan after a day; undefined if none is planned. Its `plan_id` is null if the plan ends. */
export const plannedAfter = ({ plans }: Pick<BillingState, "plans">, day: Day) => plans.find(({ from }) => from > day);

/** Whether the account has this plan (null: no plan) from a day on, without a later change. */
export const keepsPlanFrom = (state: Pick<BillingState, "plans">, plan_id: PlanId | null, day: Day): boolean =>
  planOn(state, day) === plan_id && plannedAfter(state, day) === undefined;

/** Whether the plan was cancelled at once today: today is charged already, and there is no plan after it. */
export const isEnded = (state: Pick<BillingState, "plans" | "accrue_from">, today: Day): boolean =>
  state.accrue_from > today && keepsPlanFrom(state, null, plusDays(today, 1));

/**
 * Returns the state with a plan that begins on a day. It replaces all plans that were to begin then or later, so that
 * at most one begins on a day.
 */
export function withPlan(state: BillingState, plan_id: PlanId | null, from: Day): BillingState {
  const kept = state.plans.filter((plan) => plan.from < from);
  return { ...state, plans: [...kept, { plan_id, from }] };
}

/** The plans from the one that holds on a day on. */
const plansSince = ({ plans }: Pick<BillingState, "plans">, day: Day): BillingState["plans"] =>
  plans.slice(
    Math.max(
      0,
      plans.findLastIndex(({ from }) => from <= day),
    ),
  );

/**
 * How many days of plans before `settle_from` are kept. The price of a dedicated IP depends on the plans of the
 * `dedicatedIpFirstDays` days before today, and `settle_from` is tomorrow at the latest.
 */
const historyDays = dedicatedIpFirstDays + 1;

/** Drops the plans that ended more than `historyDays` before the first unsettled day. */
export const withoutHistory = (state: BillingState): BillingState => ({
  ...state,
  plans: plansSince(state, plusDays(state.settle_from, -historyDays)),
});

/**
 * The price of the first days of a managed IP that is claimed on a day, in minor units. It is the price of a month on
 * the most expensive plan of that day, the `dedicatedIpFirstDays` days before it, and all days after it. So a change of
 * plan for one day gives no discount. Without any such plan it is the price of the default plan.
 */
export function firstDaysPrice(state: Pick<BillingState, "plans">, day: Day): number {
  const ids = plansSince(state, plusDays(day, -dedicatedIpFirstDays)).flatMap(({ plan_id }) => plan_id ?? []);
  return Math.max(...(ids.length > 0 ? ids : [defaultPlan]).map((id) => planAt(id, day).prices.dedicatedIp));
}

/** Whether an account has no plan on a day, or is to have none later. */
export const lacksPlanFrom = (state: Pick<BillingState, "plans">, day: Day): boolean =>
  planOn(state, day) === null || state.plans.some(({ plan_id, from }) => from > day && plan_id === null);

/** The last day of the calendar month of the first unsettled day. */
export const periodEnd = ({ settle_from }: Pick<BillingState, "settle_from">): Day =>
  plusDays(nextMonth(monthOf(settle_from)), -1);

const PlanChange = z.object({
  plan_id: PlanId.nullable().meta({ description: "The plan. Null if there is none." }),
  from: Day.meta({ description: "The first day of the plan." }),
});

export const planKind = defineKind({
  name: "billing.plan",
  verbs: ["changed", "cancelled"],
  view: PlanChange,
  seenWith: "billing.view",
});
