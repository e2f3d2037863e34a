import * as z from "zod";

import { Currency, money, MoneyText } from "../core/money.ts";
import { Day, dayOf, plusDays } from "../core/time.ts";
import { aheadOfState, billingOf } from "../dedicated-ips/options.ts";
import type { Context } from "../http/route.ts";
import { defaultQuotaBytes } from "../mail/mailboxes/mailbox.ts";
import type { Ahead } from "../table/read-ahead.ts";
import { dedicatedIpFirstDays, PlanId, planAt, plans, priceChangesAfter, type Plan } from "../wallet/catalogue.ts";
import { firstDaysPrice, planToday, type BillingState } from "../wallet/state.ts";

export const Minimum = MoneyText.meta({
  description:
    "The least charge for a whole month. If the usage of a month costs less, the rest is charged too. For a part of a month, the minimum is charged by the day.",
});

/** The prices of the units that a plan charges. */
export const UnitPrices = z
  .object({
    mailbox_per_month: MoneyText.meta({ description: "The price of a mailbox for a month, charged by the day." }),
    dedicated_ip_per_month: MoneyText.meta({
      description:
        "The price of a managed dedicated IP for a month. After its first days, the IP is charged by the day.",
    }),
    thousand_sent_mails: MoneyText.meta({
      description: "The price of a thousand sent mails. A mail counts once for each recipient.",
    }),
  })
  .meta({ id: "UnitPrices", description: "The price of each unit that a plan charges." });

/** The price members of a plan. */
export const planPrices = ({ minimum, prices }: Plan): { minimum: string; prices: z.output<typeof UnitPrices> } => ({
  minimum: money(minimum),
  prices: {
    mailbox_per_month: money(prices.mailbox),
    dedicated_ip_per_month: money(prices.dedicatedIp),
    thousand_sent_mails: money(prices.sentMails),
  },
});

const PriceChange = z
  .object({
    from: Day.meta({ description: "The first day of the new prices: the first day of a month." }),
    minimum: Minimum,
    prices: UnitPrices.meta({ description: "The prices from that day on." }),
  })
  .meta({ id: "PlanPriceChange", description: "The prices of a plan from a day on." });

const OfferedPlan = z
  .object({
    plan_id: PlanId.meta({ description: "The plan, for `billing.plan.change`." }),
    name: z.string().meta({ description: "The plan's name, for people." }),
    minimum: Minimum,
    prices: UnitPrices.meta({ description: "Today's prices." }),
    mailbox_quota: z
      .object({
        default: z.int().meta({ description: "The quota, in bytes, of a mailbox that you create without a quota." }),
        largest: z.int().meta({ description: "The largest quota of a mailbox, in bytes." }),
      })
      .meta({ description: "The storage of a mailbox." }),
    needs_dedicated_ip: z.boolean().meta({
      description:
        "Whether the plan applies only to days on which the account has a managed dedicated IP. The plan `per_mailbox` is charged for other days. An IP that was claimed for a lower price than the price on this plan does not count in its first days.",
    }),
    is_current: z.boolean().meta({ description: "Whether the account has this plan today." }),
    begins_on: Day.nullable().meta({
      description: "The first day of this plan, if the account changes to it on a later day; else null.",
    }),
    ends_on: Day.nullable().meta({
      description: "The last day of this plan, if it is the current plan and ends; else null.",
    }),
    price_changes: z.array(PriceChange).meta({ description: "The price changes to come, the next one first." }),
  })
  .meta({ id: "Plan", description: "A plan that the account can choose, with its prices." });

export const PlanList = z
  .object({
    plans: z.array(OfferedPlan).meta({ description: "The plans." }),
    dedicated_ip_first_days: z
      .object({
        days: z.int().meta({ description: "How many days a claim pays in advance." }),
        price: MoneyText.meta({
          description:
            "The price of a claim today: the highest monthly price of a dedicated IP among the account's present plan, its planned plans, and its plans of the last `days` days.",
        }),
      })
      .meta({ description: "The first days of a managed dedicated IP. A claim holds their price in the wallet." }),
    currency: Currency.meta({ description: "The currency of all prices, as an ISO 4217 code." }),
  })
  .meta({ id: "PlanListResponse", description: "The prices of the plans." });
type PlanList = z.output<typeof PlanList>;

/** The items that `listPlans` reads. */
export const aheadOfPlans = (accountId: string): Ahead => ({ keys: aheadOfState(accountId) });

/** The plans with their prices, as they are for an account today. Throws 404 if there is no account. */
export async function listPlans(accountId: string, { table, now }: Context): Promise<PlanList> {
  const today = dayOf(now());
  const { state, currency } = await billingOf(table, accountId);
  return {
    plans: PlanId.options.map((id) => offeredPlan(id, state, today, currency)),
    dedicated_ip_first_days: { days: dedicatedIpFirstDays, price: money(firstDaysPrice(state, today, currency)) },
    currency,
  };
}

function offeredPlan(id: PlanId, state: BillingState, today: Day, currency: string): PlanList["plans"][number] {
  const isCurrent = planToday(state, today) === id;
  const planned = state.plans.filter(({ from }) => from > today);
  const end = isCurrent ? planned.find(({ plan_id }) => plan_id !== id)?.from : undefined;
  // The current plan begins again only after its end.
  const start = planned.find(
    ({ plan_id, from }) => plan_id === id && (!isCurrent || (end !== undefined && from > end)),
  );
  return {
    plan_id: id,
    name: plans[id].name,
    ...planPrices(planAt(id, today, currency)),
    mailbox_quota: { default: defaultQuotaBytes, largest: plans[id].mailboxBytes },
    needs_dedicated_ip: plans[id].needsDedicatedIp,
    is_current: isCurrent,
    begins_on: start?.from ?? null,
    ends_on: end === undefined ? null : plusDays(end, -1),
    price_changes: priceChangesAfter(id, today, currency).map(({ from, plan }) => ({ from, ...planPrices(plan) })),
  };
}
