import * as z from "zod";

/** One way to pay. Prices are integer minor units of `currency` in shared/core/money.ts, for a whole month. */
export type Plan = {
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
