import * as z from "zod";

import type { Day } from "../core/time.ts";

/** A billing plan. Prices are integer minor units of `currency` in shared/core/money.ts, for a whole month. */
type Plan = {
  name: string;
  /** The least that is charged for a month on the plan. It is charged by the day. */
  minimum: number;
  prices: {
    mailbox: number;
    dedicatedIp: number;
    /** The price of a thousand sent mails. */
    sentMails: number;
  };
};

/**
 * The plans that can be chosen. This is the only place for their prices, which PLAN_PRICES can replace from a month on.
 */
export const plans = {
  per_mailbox: {
    name: "Per mailbox",
    minimum: 500,
    prices: { mailbox: 300, dedicatedIp: 2_500, sentMails: 0 },
  },
  per_dedicated_ip: {
    name: "Per dedicated IP",
    minimum: 0,
    prices: { mailbox: 0, dedicatedIp: 9_900, sentMails: 40 },
  },
} as const satisfies Record<string, Plan>;

export type PlanId = keyof typeof plans;
export const PlanId = z.enum(Object.keys(plans) as [PlanId, ...PlanId[]]);

/** The plan of an account that never chose one. */
export const defaultPlan: PlanId = "per_mailbox";

/**
 * A managed dedicated IP is paid for this many days in advance, at the price of a month. After these days it is charged
 * by the day.
 */
export const dedicatedIpFirstDays = 30;

/** The number of days that an account may owe money before it is suspended. */
export const graceDays = 14;

/** A wallet that falls below this balance, in minor units, causes the event `billing.wallet.low_balance`. */
export const lowBalance = 1_000;

/** The largest amount of one top-up, in minor units. */
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
  dedicatedIp: MinorUnits,
  sentMails: MinorUnits,
});

/**
 * Lists of plan prices, each valid from a month on, the oldest first. Before the first list, and for plans that a list
 * leaves out, the earlier prices apply. Prices change only at the beginning of a month. So a recorded day keeps its
 * price, as long as the lists of months that have begun are not edited.
 */
export const PriceLists = z
  .array(
    z.strictObject({
      from: z.string().regex(/^\d{4}-(?:0[1-9]|1[0-2])-01$/, "the first day of a month"),
      plans: z.partialRecord(PlanId, Prices),
    }),
  )
  .max(12, "12 lists at most, as the environment of a function is small: put old ones into catalogue.ts")
  .refine((lists) => lists.every(({ from }, index) => index === 0 || (lists[index - 1]?.from ?? "") < from), {
    error: "the lists are not in the order of their months",
  });
type PriceLists = z.output<typeof PriceLists>;

let parsedPrices: { text: string; lists: PriceLists } = { text: "[]", lists: [] };

/** The price lists of this process, from the JSON in PLAN_PRICES. */
function listsHere(): PriceLists {
  const text = process.env["PLAN_PRICES"] ?? "[]";
  if (text !== parsedPrices.text) parsedPrices = { text, lists: PriceLists.parse(JSON.parse(text)) };
  return parsedPrices.lists;
}

/** A plan with its prices on a day. */
export function planAt(id: PlanId, day: Day): Plan {
  const found = listsHere().findLast((list) => list.from <= day && list.plans[id])?.plans[id];
  if (found === undefined) return plans[id];
  const { minimum, ...prices } = found;
  return { name: plans[id].name, minimum, prices };
}
