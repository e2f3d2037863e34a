import * as z from "zod";

import { invalidAt } from "../../core/errors.ts";
import { dayOf } from "../../core/time.ts";
import type { Reader } from "../../table/table.ts";
import type { Key } from "../../table/writes.ts";
import { defaultPlan, plans } from "../../wallet/catalogue.ts";
import { BillingState, planOn, stateKey } from "../../wallet/state.ts";
import { defaultQuotaBytes } from "./mailbox.ts";

/** The smallest quota: one mebibyte. A quota of 0 is not allowed, because mail servers read 0 as no limit. */
const leastBytes = 2 ** 20;

/** The documentation of a quota in an input. */
export const quotaMeta = {
  description:
    "The space that the mailbox may use, in bytes: at least 1 MiB, and at most the limit of the plan. A mailbox that already uses this space is full.",
  examples: [21_474_836_480],
};

export const QuotaAllowed = z.int().min(leastBytes).meta(quotaMeta);

/** The items that `requireQuota` reads if a quota is given. */
export const aheadOfQuota = (accountId: string, quota: number | undefined): Key[] =>
  quota === undefined ? [] : [stateKey(accountId)];

/**
 * Returns a function that explains why the account's plan of today does not allow a quota in bytes. The function
 * returns undefined for an allowed quota. Without a quota, the function checks the default quota. An account without a
 * plan has the limit of the default plan.
 */
export async function quotaFaults(
  table: Reader,
  accountId: string,
  now: Date,
): Promise<(quota: number | undefined) => string | undefined> {
  const state = await table.get(stateKey(accountId), BillingState);
  const { name, mailboxBytes } = plans[(state && planOn(state, dayOf(now))) ?? defaultPlan];
  return (quota = defaultQuotaBytes) => {
    if (quota < leastBytes) return `A mailbox has a quota of ${leastBytes} bytes (1 MiB) at least`;
    const most = `${mailboxBytes} bytes (${mailboxBytes / 2 ** 30} GiB)`;
    return quota <= mailboxBytes ? undefined : `The plan ${name} allows a mailbox a quota of ${most} at most`;
  };
}

/** Throws 422 if the account's plan of today does not allow the quota of a body. */
export async function requireQuota(table: Reader, accountId: string, quota: number, now: Date): Promise<void> {
  const msg = (await quotaFaults(table, accountId, now))(quota);
  if (msg !== undefined) throw invalidAt(["body", "quota_allowed"], msg);
}

/** The shares of the quota, in per cent, at which the event `mailbox.quota_reached` is sent. */
const quotaSteps = [80, 95, 100] as const;

/** The used share of a quota, in per cent, rounded down to one decimal. A quota of 0 counts as used up. */
export const usedPercent = (used: number, allowed: number): number =>
  allowed === 0 ? 100 : Math.floor((used / allowed) * 1_000) / 10;

/** The highest step of the quota that the usage has reached, in per cent; 0 below the first step. */
export const quotaStep = (used: number, allowed: number): number =>
  quotaSteps.findLast((step) => usedPercent(used, allowed) >= step) ?? 0;
