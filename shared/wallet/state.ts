import * as z from "zod";

import { defineKind } from "../changes/kind.ts";
import { Problem } from "../core/errors.ts";
import { Day, dayOf, monthOf, nextMonth, plusDays } from "../core/time.ts";
import type { Requirement } from "../http/route.ts";
import { anyItem, type Key } from "../table/writes.ts";
import { PlanId, dedicatedIpFirstDays, defaultPlan, planAt, plans } from "./catalogue.ts";

/*
 * Access patterns
 *   the billing state of an account   ACCOUNT#<id> / BILLING
 */
export const stateKey = (accountId: string): Key => ({ PK: `ACCOUNT#${accountId}`, SK: "BILLING" });

/** The billing state of an account. Days are in UTC. */
export const BillingState = z.object({
  /**
   * The plans of the account, oldest first, each with its first day. Null means that the account has no plan. A plan
   * may begin in the future.
   */
  plans: z.array(z.object({ plan_id: PlanId.nullable(), from: Day })).min(1),
  /** The first day whose usage is not recorded yet. */
  accrue_from: Day,
  /** The first day that is on no invoice yet. */
  settle_from: Day,
  /** The number of invoices. The next invoice gets the next number. */
  invoices: z.int(),
  /**
   * The first part of the account's invoice numbers. Absent before the first invoice. Also absent on accounts whose
   * first invoice number began with the first 8 digits of the account's id.
   */
  series: z.string().optional(),
  /** The number of credit notes. */
  credit_notes: z.int().optional(),
  /**
   * The ordinal of the first entry of the ledger account `revenue` that no invoice has taken into account. Accounts of
   * earlier versions lack this ordinal until their next invoice.
   */
  revenue_entries: z.int().optional(),
  /** The ordinals of the unpaid invoices in their list, oldest first. */
  open: z.array(z.int()),
  /** The day since which an invoice or `owed` is unpaid. */
  due_since: Day.optional(),
  /**
   * The version of the account's item after billing suspended the account for a debt. A suspended account with another
   * version was suspended by the operator.
   */
  suspended_version: z.int().optional(),
  /**
   * The amount that the account owes for payments that were taken back, in minor units. It is the debit balance of the
   * ledger account `owed`.
   */
  owed: z.int().default(0),
  /**
   * The unpaid parts of `owed`, oldest first, with the day since which each part is owed. In rows of earlier versions,
   * which lack this member, `owed` is one part since `due_since`.
   */
  owed_parts: z.array(z.object({ since: Day, amount: z.int() })).optional(),
  /** How often the wallet has paid a part of `owed`. */
  owed_payments: z.int().default(0),
  /**
   * The day on which the daily run saw that the account has no plan, and told the account's members. Removed when the
   * daily run has recorded a day with a plan, and the account still has a plan.
   */
  ended_on: Day.optional(),
  /**
   * The day since which the mailboxes cannot be used, because the account had no plan for `leavingDays` after
   * `ended_on`.
   */
  lapsed_on: Day.optional(),
  version: z.int(),
});
export type BillingState = z.output<typeof BillingState>;

/** The billing state of an account without a stored state: the default plan since the creation of the account. */
export function firstState(createdAt: string): BillingState {
  const from = dayOf(new Date(createdAt));
  return {
    plans: [{ plan_id: defaultPlan, from }],
    accrue_from: from,
    settle_from: from,
    invoices: 0,
    revenue_entries: 0,
    open: [],
    owed: 0,
    owed_payments: 0,
    version: 0,
  };
}

/** The plan on a day; null if the account has no plan. */
export const planOn = ({ plans }: Pick<BillingState, "plans">, day: Day): PlanId | null =>
  plans.findLast(({ from }) => from <= day)?.plan_id ?? null;

/** The next change of plan after a day; undefined if no change is planned. `plan_id` is null if the plan ends. */
export const plannedAfter = ({ plans }: Pick<BillingState, "plans">, day: Day) => plans.find(({ from }) => from > day);

/** Whether the account has this plan (null for no plan) from a day on, without a later change. */
export const keepsPlanFrom = (state: Pick<BillingState, "plans">, plan_id: PlanId | null, day: Day): boolean =>
  planOn(state, day) === plan_id && plannedAfter(state, day) === undefined;

/** Whether the plan was cancelled immediately: today is recorded already, and there is no plan after today. */
export const wasCancelledImmediately = (state: Pick<BillingState, "plans" | "accrue_from">, today: Day): boolean =>
  state.accrue_from > today && keepsPlanFrom(state, null, plusDays(today, 1));

/**
 * The plan today; null if the account has none. After an immediate cancellation today is recorded and invoiced already.
 * So there is no plan until tomorrow, even if the account chooses a plan again today: the usage of today could not be
 * charged any more.
 */
export const planToday = (state: Pick<BillingState, "plans" | "accrue_from">, today: Day): PlanId | null =>
  state.accrue_from > today ? null : planOn(state, today);

/** The members of the state that `planStanding` needs. */
const PlanFacts = BillingState.pick({ plans: true, accrue_from: true, lapsed_on: true });

/**
 * The state of an account by its plan.
 * - `active`: everything works. Also for an account without a stored state.
 * - `ended`: there is no plan. Nothing can be added or sent. Mail is still received, and can be read.
 * - `lapsed`: there has been no plan for 30 days or longer. The mailboxes cannot be used, as in a suspended account.
 */
export type PlanStanding = "active" | "ended" | "lapsed";

/**
 * The standing of an account by the item of its billing state. An item that cannot be read counts as `active`, so that
 * mail works without the item.
 */
export function planStanding(item: object | undefined, at: Date): PlanStanding {
  const { data } = PlanFacts.safeParse(item);
  if (!data || planToday(data, dayOf(at)) !== null) return "active";
  return data.lapsed_on === undefined ? "ended" : "lapsed";
}

/** The state of a closed account as views show it: the plan ends with the last recorded day. */
export const afterClosing = (state: BillingState): BillingState => withPlan(state, null, state.accrue_from);

/** Returns the state without `ended_on` and `lapsed_on`. */
export function withoutEnd(state: BillingState): BillingState {
  if (state.ended_on === undefined) return state;
  const { ended_on: _, lapsed_on: __, ...rest } = state;
  return rest;
}

/** What to do for a plan: wait for the day on which a chosen plan begins, or choose a plan. */
function nextStep(item: object | undefined, today: Day): string {
  const next = PlanFacts.safeParse(item).data?.plans.find(({ plan_id, from }) => plan_id !== null && from > today);
  return next?.plan_id
    ? `Its plan ${plans[next.plan_id].name} begins on ${next.from} (UTC).`
    : "Change to a plan with billing.plan.change first.";
}

/** The requirement of a route that needs a plan: the account has a plan today. If not, throws 409 `plan_required`. */
export const planRequired: Requirement = {
  code: "plan_required",
  ahead: (accountId) => [stateKey(accountId)],
  check: async (accountId, table, at) => {
    const item = await table.get(stateKey(accountId), anyItem.optional());
    if (planStanding(item, at) === "active") return;
    throw new Problem(
      "plan_required",
      `The account has no plan, so nothing can be added to it. ${nextStep(item, dayOf(at))}`,
      { plans: Object.keys(plans) },
    );
  },
};

/** Returns the state with a plan that begins on a day. This plan replaces all plans that begin on that day or later. */
export function withPlan(state: BillingState, plan_id: PlanId | null, from: Day): BillingState {
  const kept = state.plans.filter((plan) => plan.from < from);
  return { ...state, plans: [...kept, { plan_id, from }] };
}

/** The plan on a day, and all later plans. */
function plansSince({ plans }: Pick<BillingState, "plans">, day: Day): BillingState["plans"] {
  const first = plans.findLastIndex(({ from }) => from <= day);
  return plans.slice(Math.max(0, first));
}

/**
 * The plans of this many days before `settle_from` are kept. `firstDaysPrice` needs the plans of the
 * `dedicatedIpFirstDays` days before today. `settle_from` can be tomorrow, so one more day is kept.
 */
const historyDays = dedicatedIpFirstDays + 1;

/** Removes the plans that ended more than `historyDays` before the first day that is on no invoice. */
export const withoutHistory = (state: BillingState): BillingState => ({
  ...state,
  plans: plansSince(state, plusDays(state.settle_from, -historyDays)),
});

/**
 * The price of the first days of a managed dedicated IP, in minor units of a currency. `day` is the day of the claim.
 * The price is the highest monthly price of a dedicated IP among the account's plans since `dedicatedIpFirstDays` days
 * before `day`. Plans that begin in the future count too. So a change of plan for one day gives no discount. If the
 * account has no plan in all this time, the price of the default plan applies.
 */
export function firstDaysPrice(state: Pick<BillingState, "plans">, day: Day, currency: string): number {
  const ids = plansSince(state, plusDays(day, -dedicatedIpFirstDays)).flatMap(({ plan_id }) => plan_id ?? []);
  return Math.max(...(ids.length > 0 ? ids : [defaultPlan]).map((id) => planAt(id, day, currency).prices.dedicatedIp));
}

/** Whether an account has no plan on a day, or on a later day. */
export const lacksPlanFrom = (state: Pick<BillingState, "plans">, day: Day): boolean =>
  planOn(state, day) === null || state.plans.some(({ plan_id, from }) => from > day && plan_id === null);

/** The last day of the calendar month that contains the first day that is on no invoice. */
export const periodEnd = ({ settle_from }: Pick<BillingState, "settle_from">): Day =>
  plusDays(nextMonth(monthOf(settle_from)), -1);

const PlanChange = z.object({
  plan_id: PlanId.nullable().meta({ description: "The plan. Null if there is none." }),
  from: Day.meta({ description: "The first day of the change." }),
});

export const planKind = defineKind({
  name: "billing.plan",
  verbs: ["changed", "cancelled", "ended", "lapsed"],
  view: PlanChange,
  seenWith: "billing.view",
});
