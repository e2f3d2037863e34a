import * as z from "zod";

import type { MailCounts } from "./statistics.ts";

/** The number of days whose mail counts for a reputation, today included. */
export const reputationDays = 30;

/**
 * At one of these rates or above, the state is `watch` or `poor`. Large mailbox providers act on complaints from 0.1 %
 * and 0.3 %.
 */
const thresholds = {
  watch: { bounces: 0.02, complaints: 0.001 },
  poor: { bounces: 0.05, complaints: 0.003 },
} as const;

/** With fewer mails than this, the rates say little, and the state is `good`. */
const fewestMails = 100;

const rate = (description: string) => z.number().min(0).max(1).meta({ description });

export const Reputation = z
  .object({
    state: z.enum(["good", "watch", "poor"]).meta({
      description: `\`watch\`: ${thresholds.watch.bounces * 100} % of the mails or more are hard bounces, or ${thresholds.watch.complaints * 100} % or more are complaints. \`poor\`: ${thresholds.poor.bounces * 100} % or more are hard bounces, or ${thresholds.poor.complaints * 100} % or more are complaints. \`good\`: all other cases, and fewer than ${fewestMails} mails.`,
    }),
    days: z.int().meta({ description: "The number of days that the numbers are about, today included." }),
    mails: z.int().min(0).meta({ description: "The mails that were sent, one for each recipient." }),
    hard_bounced: z.int().min(0).meta({ description: "Mails that failed because the address cannot be reached." }),
    complained: z.int().min(0).meta({ description: "Mails that their recipients reported as spam." }),
    bounce_rate: rate("The share of hard bounces among the mails, from 0 to 1."),
    complaint_rate: rate("The share of complaints among the mails, from 0 to 1."),
  })
  .meta({ id: "Reputation", description: "How receivers may judge a dedicated IP, by the mail of the last days." });
type Reputation = z.output<typeof Reputation>;

const fraction = (part: number, whole: number): number =>
  whole === 0 ? 0 : Math.min(1, Math.round((part / whole) * 10_000) / 10_000);

/**
 * The reputation that follows from counts. A mail whose outcome is known counts as sent, even if no server reported the
 * sending.
 */
export function reputationOf({ sent, delivered, soft_bounced, hard_bounced, complained }: MailCounts): Reputation {
  const mails = Math.max(sent, delivered + soft_bounced + hard_bounced);
  const reaches = ({ bounces, complaints }: { bounces: number; complaints: number }): boolean =>
    mails >= fewestMails && (hard_bounced / mails >= bounces || complained / mails >= complaints);
  const lesserState = reaches(thresholds.watch) ? "watch" : "good";
  return {
    state: reaches(thresholds.poor) ? "poor" : lesserState,
    days: reputationDays,
    mails,
    hard_bounced,
    complained,
    bounce_rate: fraction(hard_bounced, mails),
    complaint_rate: fraction(complained, mails),
  };
}
