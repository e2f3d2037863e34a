import * as z from "zod";

import { AccountCurrency, defaultCurrency } from "../core/money.ts";
import type { Day } from "../core/time.ts";

/** A billing plan. Prices are in integer minor units of one currency. */
export type Plan = {
  name: string;
  /** The least charge for a whole month. For a part of a month, the minimum is charged by the day. */
  minimum: number;
  prices: {
    /** The price of a mailbox for a whole month. */
    mailbox: number;
    /** The price of a managed dedicated IP for a whole month. */
    dedicatedIp: number;
    /** The price of a thousand sent mails. */
    sentMails: number;
  };
  /** The largest quota of one mailbox, in bytes. It is at least the default quota of a mailbox. */
  mailboxBytes: number;
  /**
   * Whether the plan applies only on days on which the account has a managed dedicated IP. On other days the default
   * plan applies.
   */
  needsDedicatedIp: boolean;
};

const gibibyte = 2 ** 30;

/**
 * The plans that customers can choose, with their prices in the default currency. PLAN_PRICES can replace these prices
 * from the beginning of a month, and has the prices in other currencies.
 */
export const plans = {
  per_mailbox: {
    name: "Per mailbox",
    minimum: 500,
    prices: { mailbox: 300, dedicatedIp: 2_500, sentMails: 0 },
    mailboxBytes: 50 * gibibyte,
    needsDedicatedIp: false,
  },
  per_dedicated_ip: {
    name: "Per dedicated IP",
    minimum: 0,
    prices: { mailbox: 0, dedicatedIp: 9_900, sentMails: 40 },
    mailboxBytes: 10 * gibibyte,
    needsDedicatedIp: true,
  },
} as const satisfies Record<string, Plan>;

export type PlanId = keyof typeof plans;
export const PlanId = z.enum(Object.keys(plans) as [PlanId, ...PlanId[]]);

/** The plan of an account that never chose a plan. */
export const defaultPlan: PlanId = "per_mailbox";

/**
 * A managed dedicated IP is paid for this many days in advance, at the price of a month. After these days the IP is
 * charged by the day.
 */
export const dedicatedIpFirstDays = 30;

/** The number of days for which an account may owe money before billing suspends it. */
export const graceDays = 14;

/**
 * A wallet is low if it has less than the cost of this many days of usage, unless the customer has set another
 * threshold.
 */
export const lowBalanceDays = 7;

/** The default settings of automatic recharges. Amounts are in minor units of the account's currency. */
export const rechargeDefaults = { threshold: 1_000, amount: 2_500, monthlyCap: 10_000, maxPerMonth: 4 };

/** The least amount of a payment that we ask for, in minor units, because payment providers refuse small amounts. */
export const leastPayment = 100;

/**
 * The greatest settings of automatic recharges that a customer can choose. Amounts are in minor units of the account's
 * currency.
 */
export const rechargeLimits = { amount: 200_000, monthlyCap: 500_000, maxPerMonth: 20 };

/**
 * The number of days from each failed attempt of a recharge to the next attempt. If the last attempt fails too,
 * automatic recharges are switched off.
 */
export const rechargeRetryDays = [1, 2, 2] as const;

/** The number of days for which an account without a plan still receives and reads mail. */
export const leavingDays = 30;

/** The largest amount of one top-up, in minor units of the account's currency. */
export const topupLimit = 1_000_000;

/** The number of hours in which a checkout can be paid. */
export const checkoutHours = 23;

/** The company that issues the invoices. */
export const seller = {
  name: "Hosted Mail Ltd",
  lines: ["1 Example Street", "Exampletown EX1 1EX", "VAT EX123456789"],
};

const MinorUnits = z.int().min(0).max(100_000_000);

const Prices = z.strictObject({
  minimum: MinorUnits,
  mailbox: MinorUnits,
  dedicatedIp: MinorUnits.min(
    1,
    "1 at least, because the claim of an IP holds this price in the wallet, and a held amount cannot be zero",
  ),
  sentMails: MinorUnits,
});

type PriceList = { from: string; currency: string; plans: Partial<Record<PlanId, z.output<typeof Prices>>> };

/** The lists of each currency. */
const byCurrency = (lists: readonly PriceList[]) => Map.groupBy(lists, ({ currency }) => currency);

/** Whether each list begins in a later month than the list before it. */
const areInOrder = (lists: readonly PriceList[]): boolean =>
  lists.every(({ from }, index) => index === 0 || (lists[index - 1]?.from ?? "") < from);

/**
 * The plans that are missing in the first list of a currency, each with the currency. The default currency needs no
 * list, because the catalogue has its prices.
 */
const unpriced = (lists: readonly PriceList[]): string[] =>
  [...byCurrency(lists)].flatMap(([currency, [first]]) =>
    currency === defaultCurrency
      ? []
      : PlanId.options.filter((id) => !first?.plans[id]).map((id) => `${id} in ${currency}`),
  );

/**
 * Lists of plan prices, the lists of a currency oldest first. Each list is valid from the beginning of a month, for
 * accounts of its currency.
 * - Before the first list of the default currency, the prices in `plans` apply.
 * - If a plan is not in a list, the earlier prices of the plan in the currency continue to apply.
 * - The first list of a currency other than the default currency must have all plans.
 * - Prices change only at the beginning of a month. Do not edit the list of a month that has begun, because this would
 *   change the prices of recorded days.
 */
export const PriceLists = z
  .array(
    z.strictObject({
      from: z.string().regex(/^\d{4}-(?:0[1-9]|1[0-2])-01$/, "the first day of a month"),
      currency: AccountCurrency.default(defaultCurrency),
      plans: z.partialRecord(PlanId, Prices),
    }),
  )
  .max(12, "12 lists at most, because the environment of a Lambda is small. Move old lists into catalogue.ts")
  .refine((lists) => [...byCurrency(lists).values()].every(areInOrder), {
    error: "the lists of a currency are not in the order of their months",
  })
  .superRefine((lists, context) => {
    for (const missing of unpriced(lists))
      context.addIssue({ code: "custom", message: `the first list of the currency has no price for ${missing}` });
  });
type PriceLists = z.output<typeof PriceLists>;

let parsedPrices: { text: string; lists: PriceLists } = { text: "[]", lists: [] };

/** The price lists of this process in a currency, from the JSON in PLAN_PRICES. */
function priceLists(currency: string): PriceLists {
  const text = process.env["PLAN_PRICES"] ?? "[]";
  if (text !== parsedPrices.text) parsedPrices = { text, lists: PriceLists.parse(JSON.parse(text)) };
  return parsedPrices.lists.filter((list) => list.currency === currency);
}

/** Whether all plans have prices in a currency on a day. */
export const isOffered = (currency: string, day: Day): boolean =>
  currency === defaultCurrency || priceLists(currency).some(({ from }) => from <= day);

/** The price changes of a plan after a day, each with its first day and the plan with its prices from then on. */
export const priceChangesAfter = (id: PlanId, day: Day, currency: string): { from: Day; plan: Plan }[] =>
  priceLists(currency)
    .filter((list) => list.from > day && list.plans[id])
    .map(({ from }) => ({ from, plan: planAt(id, from, currency) }));

/** A plan with its prices in a currency on a day. Throws if the plan has no prices in the currency on that day. */
export function planAt(id: PlanId, day: Day, currency: string): Plan {
  const listed = priceLists(currency).findLast((list) => list.from <= day && list.plans[id])?.plans[id];
  if (listed !== undefined) {
    const { minimum, ...prices } = listed;
    return { ...plans[id], minimum, prices };
  }
  if (currency === defaultCurrency) return plans[id];
  throw new Error(`The plan ${id} has no prices in ${currency} on ${day}. Add them to PLAN_PRICES.`);
}
