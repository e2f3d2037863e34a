import * as z from "zod";

import type { Day } from "../core/days.ts";

/** One way to pay. Prices are integer minor units of `currency` in shared/core/money.ts, for a whole month. */
type Plan = {
  name: string;
  /** What is charged at least for a month on the plan, by the day. */
  minimum: number;
  prices: {
    mailbox: number;
    dedicatedIp: number;
    /** For a thousand. */
    sentMails: number;
  };
};

/** The plans one can be on. This is the one place for prices of plans. */
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
 * A dedicated IP is paid for so many days in advance when it is claimed, at the price of a month, whatever becomes of
 * it; by the day after them.
 */
export const dedicatedIpFirstDays = 30;

/** How long an account may owe before it is suspended. */
export const graceDays = 14;

/** Below this a wallet is low, which is an event. */
export const lowBalance = 1_000;

/** What one may top up at once. */
export const topupLimit = 1_000_000;

/** How long a checkout may be paid. */
export const checkoutHours = 23;

/** Who invoices. */
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
 * What plans cost from months on, the oldest first; until then, and for plans that a list leaves out, what was before.
 * Invoices are made by the month, from what was used on its days: with prices that begin with a month no day that is
 * recorded already gets another price, as long as the lists of months that have begun stay as they are.
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

let read: { text: string; lists: PriceLists } = { text: "[]", lists: [] };

/** The lists of this process, in PLAN_PRICES as JSON. */
function listsHere(): PriceLists {
  const text = process.env["PLAN_PRICES"] ?? "[]";
  if (text !== read.text) read = { text, lists: PriceLists.parse(JSON.parse(text)) };
  return read.lists;
}

/** A plan with its prices on a day. */
export function planAt(id: PlanId, day: Day): Plan {
  const found = listsHere().findLast((list) => list.from <= day && list.plans[id])?.plans[id];
  if (found === undefined) return plans[id];
  const { minimum, ...prices } = found;
  return { name: plans[id].name, minimum, prices };
}
