import * as z from "zod";

import { Currency, money, MoneyText } from "../core/money.ts";
import { Day, dayOf, monthOf, plusDays } from "../core/time.ts";
import { ipsOf } from "../dedicated-ips/dedicated-ip.ts";
import type { Context } from "../http/route.ts";
import { aheadOfList } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Reader } from "../table/table.ts";
import { PlanId, planAt, plans } from "../wallet/catalogue.ts";
import { wasCancelledImmediately, keepsPlanFrom, periodEnd, plannedAfter, planOn, planToday } from "../wallet/state.ts";
import { vatRule } from "../wallet/vat.ts";
import { openBillingView, owes, type AccountBilling, aheadOfBillingView } from "./book.ts";
import { usageCost } from "./charges.ts";
import { daysToInvoice } from "./forecast.ts";
import { Minimum, planPrices, UnitPrices } from "./prices.ts";
import { aheadOfUsage, countManaged } from "./usage.ts";

const NextInvoice = z
  .object({
    period_start: Day.meta({ description: "The first day that the invoice will charge." }),
    period_end: Day.meta({ description: "The last day that the invoice will charge." }),
    due_on: Day.meta({ description: "The day on which the invoice will be made and paid from the wallet." }),
    total_so_far: MoneyText.meta({
      description: "The amount that the wallet would pay for the invoice if it were made now, with VAT.",
    }),
  })
  .meta({ id: "NextInvoice", description: "The invoice to come." });

/** The next invoice; null if nothing is charged, and the account has no plan now or later. */
async function nextInvoice(table: Reader, book: AccountBilling): Promise<z.output<typeof NextInvoice> | null> {
  const { state, now } = book;
  const { settle_from, plans: chosen } = state;
  const [today, end] = [dayOf(now), periodEnd(state)];
  const last = end < today ? end : today;
  const days = await daysToInvoice(table, book, { month: monthOf(settle_from), last });
  const { net, vat } = usageCost(days, vatRule(book.profile, today), book.account.currency);
  const hasPlan =
    planOn(state, settle_from) !== null || chosen.some(({ plan_id, from }) => plan_id !== null && from > settle_from);
  if (net === 0 && !hasPlan) return null;
  const after = plusDays(end, 1);
  return {
    period_start: settle_from,
    period_end: end,
    due_on: after > today ? after : today,
    total_so_far: money(net + vat),
  };
}

export const CurrentPlan = z
  .object({
    plan_id: PlanId.nullable().meta({ description: "The plan. Null if there is none." }),
    plan_name: z.string().nullable().meta({ description: "The plan's name, for people." }),
    status: z.enum(["active", "cancelling", "cancelled", "past_due"]).meta({
      description:
        "The plan's status. `cancelling` means that the plan ends on a later day. `past_due` means that an invoice is open, or that the account owes an amount for a payment that was taken back.",
    }),
    price: MoneyText.nullable().meta({
      description:
        "The minimum charge for a period, as in `minimum`. It is not the price of a unit: `prices` has the prices of mailboxes and other units.",
    }),
    minimum: Minimum.nullable(),
    prices: UnitPrices.nullable().meta({
      description: "Today's prices of the units that the plan charges. Null if there is no plan.",
    }),
    next_invoice: NextInvoice.nullable().meta({
      description: "The next invoice, as it would be now. Null if nothing is charged and there is no plan.",
    }),
    currency: Currency.meta({ description: "The currency, as an ISO 4217 code." }),
    billing_period: z.enum(["month"]).meta({ description: "The billing period: a calendar month in UTC." }),
    can_change_plan: z.boolean().meta({ description: "Whether `billing.plan.change` is possible." }),
    can_cancel_plan: z.boolean().meta({ description: "Whether `billing.plan.cancel` is possible." }),
  })
  .meta({ id: "CurrentPlan", description: "The plan of an account." });
type CurrentPlan = z.output<typeof CurrentPlan>;

/** The items that `currentPlan` reads first. */
export function aheadOfCurrentPlan(accountId: string): Ahead {
  const [billing, usage] = [aheadOfBillingView(accountId), aheadOfUsage(accountId)];
  const { keys } = aheadOfList(ipsOf(accountId), [], [...billing.keys, ...usage.keys]);
  return { keys: keys ?? [], ranges: [...(billing.ranges ?? []), ...usage.ranges] };
}

function planStatusText({ hasPlan, isEnding, isDue }: Record<"hasPlan" | "isEnding" | "isDue", boolean>) {
  if (!hasPlan) return "cancelled";
  if (isEnding) return "cancelling";
  return isDue ? "past_due" : "active";
}

/** The plan of an account today. A closed account has no plan. */
export async function currentPlan(accountId: string, { table, now }: Context): Promise<CurrentPlan> {
  const [book, { count }] = await Promise.all([
    openBillingView(table, accountId, now()),
    countManaged(table, accountId),
  ]);
  const { state, open } = book;
  const { currency, status } = book.account;
  const today = dayOf(now());
  const planId = planToday(state, today);
  const isEnding = planId !== null && plannedAfter(state, today)?.plan_id === null;
  const mayChange = status === "active" || status === "past_due";
  const priced = planId && planPrices(planAt(planId, today, currency));
  return {
    plan_id: planId,
    plan_name: planId && plans[planId].name,
    status: planStatusText({ hasPlan: planId !== null, isEnding, isDue: owes(book) }),
    price: priced && priced.minimum,
    minimum: priced && priced.minimum,
    prices: priced && priced.prices,
    next_invoice: await nextInvoice(table, book),
    currency,
    billing_period: "month",
    // As in `changePlan`: only an open invoice stands in the way, and no other debt.
    can_change_plan: mayChange && open.length === 0,
    can_cancel_plan:
      mayChange && count === 0 && !wasCancelledImmediately(state, today) && !keepsPlanFrom(state, null, today),
  };
}
