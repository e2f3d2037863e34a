import * as z from "zod";

import { AccountStatus } from "../accounts/account.ts";
import { change } from "../changes/kind.ts";
import type { ChangePlan } from "../changes/recorder.ts";
import { invalidAt, type InvalidInput, Problem } from "../core/errors.ts";
import { clock, type Day, Timestamp, dayOf, daysBetween, nextMonth, plusDays, startOf } from "../core/time.ts";
import { ipsOf } from "../dedicated-ips/dedicated-ip.ts";
import type { Context } from "../http/route.ts";
import { readSent, sentKey } from "../mail/usage/sent.ts";
import { aheadOfList } from "../table/ranked-list.ts";
import type { Ahead } from "../table/read-ahead.ts";
import type { Write } from "../table/writes.ts";
import { PlanId, plans } from "../wallet/catalogue.ts";
import { wasCancelledImmediately, keepsPlanFrom, periodEnd, planKind, planOn, withPlan } from "../wallet/state.ts";
import { planBilling, type AccountBilling, aheadOfBilling } from "./book.ts";
import { Preview, previewOf } from "./preview.ts";
import { accrueThrough, payOpen, settleLate, settleThrough } from "./settle.ts";
import { countManaged } from "./usage.ts";

export const PlanAnswer = z
  .object({
    status: z.enum(["active", "scheduled", "cancelled"]).meta({
      description:
        "`active` or `cancelled` if the change applies already, `scheduled` if it applies from `effective_at` on.",
    }),
    account_status: AccountStatus.nullable().optional().meta({ description: "The account's status after the change." }),
    effective_at: Timestamp.nullable().optional().meta({
      description:
        "When the change takes effect. For an immediate cancellation: the start of today (UTC). Today is still charged.",
    }),
    eligible: z.boolean().nullable().optional().meta({ description: "Whether the change was possible. Always true." }),
    previous_plan_id: PlanId.nullable()
      .optional()
      .meta({ description: "The plan before the change. Null if there was none." }),
    target_plan_id: PlanId.nullable()
      .optional()
      .meta({ description: "The plan after the change. Null if there is none." }),
    preview: Preview,
  })
  .meta({ id: "PlanChangeResponse", description: "The result of changing or cancelling the plan." });
type PlanAnswer = z.output<typeof PlanAnswer>;

const planAnswer = (book: AccountBilling, previous: PlanId | null, target: PlanId | null, from: Day): PlanAnswer => {
  const isNow = from <= dayOf(book.now);
  const statusNow = target === null ? "cancelled" : "active";
  return {
    status: isNow ? statusNow : "scheduled",
    account_status: book.status,
    effective_at: startOf(from).toISOString(),
    eligible: true,
    previous_plan_id: previous,
    target_plan_id: target,
  };
};

function requireNothingDue({ open }: AccountBilling): void {
  if (open.length === 0) return;
  throw new Problem("payment_due", "The account has an open invoice. Top up the wallet to pay it first.", {
    open_invoices: open.map(({ number }) => number),
  });
}

/** The items that `changePlan` reads first. The range has the number of mails that the account sent today. */
export function aheadOfChange(accountId: string): Ahead {
  const { PK, SK } = sentKey(accountId, dayOf(clock()));
  return { keys: aheadOfBilling(accountId), ranges: [{ partition: PK, from: SK, to: SK }] };
}

type PlannedChange = ChangePlan<PlanAnswer> & { book: AccountBilling };

/** Plans the writes and the answer of `changePlan`. Throws the errors of `changePlan`. */
async function planChangeOf(
  accountId: string,
  target: PlanId,
  effective: Day | undefined,
  { table, now }: Pick<Context, "table" | "now">,
): Promise<PlannedChange> {
  const at = now();
  const today = dayOf(at);
  const requested = effective ?? today;
  if (requested < today) throw invalidDay("This day is over. Write today or a later day");
  if (requested > plusDays(today, maxDaysAhead))
    throw invalidDay("This day is more than a year away. Write an earlier day");
  let answer: PlanAnswer | undefined;
  const sent = await readSent(table, accountId, today, today);
  const planned = await planBilling(table, accountId, at, (book) => {
    requireNothingDue(book);
    const isSentOnOtherPlan = sent.has(today) && ![null, target].includes(planOn(book.state, today));
    const first = isSentOnOtherPlan ? plusDays(today, 1) : today;
    if (effective === today && isSentOnOtherPlan)
      throw invalidDay("Mail was sent today on the present plan. Write tomorrow or a later day");
    const earliest = first < book.state.accrue_from ? book.state.accrue_from : first;
    // A day that is recorded already keeps its plan.
    const from = requested < earliest ? earliest : requested;
    const previous = planOn(book.state, from);
    if (keepsPlanFrom(book.state, target, from)) {
      throw new Problem("plan_unchanged", `The account already has the plan ${plans[target].name} on that day.`);
    }
    book.state = withPlan(book.state, target, from);
    book.changes.push(planChange("changed", accountId, previous, target, from));
    answer = planAnswer(book, previous, target, from);
  });
  if (!answer) throw new Error("nothing was planned");
  // Makes the transaction fail if mail of today is reported meanwhile.
  const unsent: Write[] = sent.has(today) ? [] : [{ check: sentKey(accountId, today), if: "absent" }];
  return { ...planned, value: answer, writes: [...planned.writes, ...unsent] };
}

/**
 * Changes the plan from a day on. Earlier days and days that are recorded already keep their plan. The default is
 * today. But if mail was sent today on another plan, the default is tomorrow, because this mail is charged by that
 * plan. Throws:
 * - 409 `plan_unchanged` or `payment_due`;
 * - 422 for a past day, and for a day that is more than a year away;
 * - 422 for today, if mail was sent today on another plan.
 */
export const changePlan = (
  accountId: string,
  target: PlanId,
  effective: Day | undefined,
  context: Context,
): Promise<PlanAnswer> =>
  context.commit(async () => {
    const { value, writes, changes } = await planChangeOf(accountId, target, effective, context);
    return { value, writes, changes };
  });

/** The answer of `changePlan` with its costs, without the change. Throws as `changePlan` does. */
export const previewPlan = (
  accountId: string,
  target: PlanId,
  effective: Day | undefined,
  context: Context,
): Promise<PlanAnswer> =>
  context.commit(async () => {
    const { value, book } = await planChangeOf(accountId, target, effective, context);
    const preview = await previewOf(context.table, book, {}, context.permissions);
    return { value: { ...value, preview }, writes: [], changes: [] };
  });

const planChange = (
  verb: "changed" | "cancelled",
  id: string,
  before: PlanId | null,
  after: PlanId | null,
  from: Day,
) => change(planKind, verb, id, { before: { plan_id: before, from }, after: { plan_id: after, from } });

/**
 * A change of plan can be this many days ahead. The state has an entry for each planned change, at most one for each
 * day. The limit keeps the number of entries so small that the state fits into one item of the table.
 */
const maxDaysAhead = 366;

const invalidDay = (msg: string): InvalidInput => invalidAt(["body", "effective_date"], msg);

/** The items that `cancelPlan` reads first. */
export const aheadOfCancelling = (accountId: string): Ahead =>
  aheadOfList(ipsOf(accountId), [], aheadOfBilling(accountId));

/**
 * Cancels the plan from the first day of the next month on. With `isImmediate`, today is the last day of the plan, and
 * this function records and invoices the usage of today at once (`settleNow`). Further usage of today could not be
 * charged, so the account counts as an account without a plan (`planToday`). Therefore `effective_at` of the answer is
 * the start of today, although the stored plans change tomorrow. Throws:
 * - 409 `plan_cancelled` if the plan is cancelled already;
 * - 409 `plan_in_use` while the account has managed dedicated IPs.
 */
export function cancelPlan(
  accountId: string,
  isImmediate: boolean,
  { table, commit, now }: Context,
): Promise<PlanAnswer> {
  return commit(async () => {
    const at = now();
    const today = dayOf(at);
    let answer: PlanAnswer | undefined;
    const { count, unchanged } = await countManaged(table, accountId);
    const { writes, changes } = await planBilling(table, accountId, at, async (book) => {
      const previous = planOn(book.state, today);
      const from = isImmediate ? today : nextMonth(today);
      if (wasCancelledImmediately(book.state, today) || keepsPlanFrom(book.state, null, from)) {
        throw new Problem("plan_cancelled", "The plan is cancelled already.");
      }
      if (count > 0) throw planInUse(count);
      if (isImmediate) await settleNow(table, book, today);
      const firstDayWithout = isImmediate ? plusDays(today, 1) : from;
      book.state = withPlan(book.state, null, firstDayWithout);
      book.changes.push(planChange("cancelled", accountId, previous, null, firstDayWithout));
      answer = planAnswer(book, previous, null, from);
    });
    if (!answer) throw new Error("nothing was planned");
    return { value: answer, writes: [...writes, unchanged], changes };
  });
}

const planInUse = (dedicated_ip_count: number): Problem =>
  new Problem("plan_in_use", "Delete the managed dedicated IPs first, because the plan pays for them.", {
    dedicated_ip_count,
  });

/** The most days that one transaction can record. */
const maxDaysPerTransaction = 31;

/**
 * Makes the final invoices, and pays what the wallet can pay. Invoices purchases after an earlier immediate
 * cancellation, a month that ended and is not invoiced yet, and the days of this month up to `last`. Does nothing if
 * more than 31 days are not recorded yet. The daily run then makes these invoices.
 */
export async function settleNow(table: Context["table"], book: AccountBilling, last: Day): Promise<void> {
  if (daysBetween(book.state.accrue_from, last).length > maxDaysPerTransaction) return;
  await settleLate(table, book, last);
  while (book.state.settle_from <= last) {
    await accrueThrough(table, book, last);
    await settleThrough(table, book, last < periodEnd(book.state) ? last : periodEnd(book.state));
  }
  payOpen(book);
}
