import * as z from "zod";

import { accountKey, StoredAccount } from "../accounts/account.ts";
import { Problem } from "../core/errors.ts";
import { timeOrderedId } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import { dayMs, hourMs, minuteMs } from "../core/time.ts";
import type { CheckoutState, Payments } from "../providers/payments/payments.ts";
import { type SweepResult, dueKey, dueTasks, dueWrite, sweepTasks } from "../table/due.ts";
import type { Table } from "../table/table.ts";
import { checkoutQueue, StoredTopup, topupKey } from "../wallet/topup.ts";
import { handlePayment, payOwed } from "./payments.ts";

/**
 * The services with which a process asks the payment provider about checkouts. With `isReadOnly`, result pages do not
 * ask the provider.
 */
export type AskContext = {
  table: Table;
  payments: Pick<Payments, "getCheckout" | "expireCheckout">;
  now: () => Date;
  log: Log;
  isReadOnly?: boolean;
};

/**
 * The worker asks about an open checkout until it has this age, in milliseconds, and the provider has answered. After
 * that, only the result page asks. Bank debits take up to two weeks, so their result comes within this time.
 */
export const askedForMs = 30 * dayMs;

/** The shortest time between two questions from the result page of a checkout, in milliseconds. */
const pageIntervalMs = 4_000;

/**
 * Asks the provider about the checkout of a top-up. If the answer is about another checkout, logs an error and returns
 * undefined.
 */
async function readCheckout(
  accountId: string,
  topup: StoredTopup,
  context: AskContext,
): Promise<CheckoutState | undefined> {
  const state = await context.payments.getCheckout(topup.checkout_id);
  if (isAbout(state, accountId, topup)) return state;
  context.log.error("the provider has a different checkout with this id", { checkout_id: topup.checkout_id });
  return undefined;
}

const isAbout = (state: CheckoutState, accountId: string, { id, checkout_id }: StoredTopup): boolean =>
  state.id === checkout_id && state.reference === id && state.accountId === accountId;

/**
 * Settles a paid or expired checkout as the provider's webhook does. The webhook and this function use the same id for
 * the credit of a payment, so a payment is credited once.
 */
async function settleCheckout(state: CheckoutState, context: AskContext): Promise<void> {
  const { id: checkoutId, status, reference, accountId, amount, currency } = state;
  if (status !== "paid" && status !== "expired") return;
  const facts = { checkoutId, reference, accountId, amount, currency, at: context.now() };
  const outcome = await handlePayment({ id: `asked/${checkoutId}`, type: status, ...facts }, context);
  context.log.info("checkout settled by asking", { checkout_id: checkoutId, account_id: accountId, status, outcome });
}

/**
 * Asks the provider about a pending top-up for its result page, at most every four seconds. If several pages need the
 * answer at the same time, only one page asks. If the provider fails, the top-up stays pending.
 */
export async function askForPage(accountId: string, topup: StoredTopup, context: AskContext): Promise<void> {
  const { table, now, log, isReadOnly = false } = context;
  const { asked_at, version } = topup;
  if (isReadOnly) return;
  const sinceAskedMs = asked_at === undefined ? Infinity : now().getTime() - Date.parse(asked_at);
  if (sinceAskedMs >= 0 && sinceAskedMs < pageIntervalMs) return;
  const claim = { asked_at: now().toISOString(), version: version + 1 };
  const { done } = await table.attempt({ update: topupKey(accountId, topup.id), set: claim, if: { version } });
  if (!done) return;
  await ask(accountId, topup, context).catch((error: unknown) => {
    log[isUnavailable(error) ? "info" : "error"]("the provider could not be asked about a checkout", {
      reason: String(error),
    });
  });
}

/** Asks about a top-up, and settles the top-up by the answer. If the account is closed, ends the payment page first. */
async function ask(accountId: string, topup: StoredTopup, context: AskContext): Promise<void> {
  const account = await context.table.get(accountKey(accountId), StoredAccount);
  if (account?.status === "closed") await context.payments.expireCheckout(topup.checkout_id);
  const state = await readCheckout(accountId, topup, context);
  if (state) await settleCheckout(state, context);
}

/** Whether the error is a 503, so that asking again later can help. */
export const isUnavailable = (error: unknown): boolean => error instanceof Problem && error.status === 503;

/**
 * When to ask again. The older a checkout is, the longer the wait. Undefined if the checkout is older than 30 days and
 * the provider has answered.
 */
function nextAsk({ created_at }: StoredTopup, askedAt: Date, isAnswered: boolean): string | undefined {
  const ageMs = askedAt.getTime() - Date.parse(created_at);
  if (isAnswered && ageMs > askedForMs) return undefined;
  const longestMs = ageMs < 2 * dayMs ? hourMs : dayMs;
  return new Date(askedAt.getTime() + Math.min(longestMs, Math.max(2 * minuteMs, ageMs / 2))).toISOString();
}

/**
 * Asks about a due top-up. Puts the top-up back into the queue, unless the top-up is settled, too old or unknown to the
 * provider.
 */
async function askDue(accountId: string, reference: string, at: string, context: AskContext): Promise<void> {
  const { table, now } = context;
  const key = topupKey(accountId, reference);
  const topup = await table.get(key, StoredTopup);
  const askedAt = now();
  let failure: unknown;
  if (topup?.status === "pending") {
    await ask(accountId, topup, context).catch((error: unknown) => void (failure = error));
  } else if (topup?.status === "paid") {
    // The process that credited the top-up may have died before it paid the open invoices.
    await payOwed(accountId, `asked/${topup.checkout_id}`, context);
  }
  const after = await table.get(key, StoredTopup);
  const isOpen = after?.status === "pending" && !isNotFound(failure);
  await reschedule(
    [accountId, reference],
    at,
    isOpen ? nextAsk(after, askedAt, failure === undefined) : undefined,
    table,
  );
  if (failure !== undefined) throw failure;
}

/** Whether the provider does not know the checkout, so that asking again is useless. */
const isNotFound = (error: unknown): boolean => error instanceof Problem && error.code === "not_found";

/**
 * Moves a task of the queue to its next due time, or removes the task. If two processes move a task at the same time,
 * only one succeeds.
 */
async function reschedule(
  task: [accountId: string, reference: string],
  at: string,
  next: string | undefined,
  table: Table,
): Promise<void> {
  const due = dueKey(checkoutQueue, task, at);
  if (next === at) return;
  if (next === undefined) return void (await table.attempt({ delete: due }));
  await table.commit(async () => {
    const isQueued = (await table.get(due, z.object({}))) !== undefined;
    const writes = [{ delete: due, if: "present" as const }, dueWrite(checkoutQueue, task, next)];
    return { value: undefined, writes: isQueued ? writes : [] };
  });
}

/**
 * Asks about the checkouts that are due. With `early`, also asks about open checkouts that are not due yet. Use `early`
 * after an outage, because webhooks may have been lost. One call asks about 500 checkouts at most (`sweepTasks`).
 */
export async function sweepCheckouts(context: AskContext, { early = false } = {}): Promise<SweepResult> {
  const until = early ? new Date(context.now().getTime() + askedForMs) : context.now();
  const runTask = (accountId: string, reference: string, at: string): Promise<void> =>
    askDue(accountId, reference, at, context);
  const tasks = await dueTasks(checkoutQueue, runTask, { table: context.table, now: () => until });
  return sweepTasks(tasks, context.log);
}

/** The top-ups of the last thirty days. */
async function recentTopups(table: Table, accountId: string, at: Date): Promise<StoredTopup[]> {
  const first = topupKey(accountId, timeOrderedId(new Date(at.getTime() - askedForMs)));
  // The ids are hexadecimal, so all of them sort before "g".
  const items = await table.between(first.PK, first.SK, topupKey(accountId, "g").SK);
  return items.map((item) => StoredTopup.parse(item));
}

/**
 * Queues a task that is due now for each pending top-up of the last thirty days, so that the worker asks about these
 * top-ups in its next run.
 */
export async function askSoon(accountId: string, table: Table, at: Date): Promise<void> {
  for (const { id, status } of await recentTopups(table, accountId, at)) {
    if (status === "pending") await table.attempt(dueWrite(checkoutQueue, [accountId, id], at.toISOString()));
  }
}

/**
 * Queues the pending top-ups of the last thirty days that the first version stored without queueing them. Their tasks
 * are due at once.
 */
export async function queueOldTopups(
  accountId: string,
  { table, now }: Pick<AskContext, "table" | "now">,
): Promise<void> {
  const at = now();
  for (const { id } of (await recentTopups(table, accountId, at)).filter(isOutsideQueue)) {
    const key = topupKey(accountId, id);
    await table.commit(async () => {
      const topup = await table.get(key, StoredTopup);
      if (!topup || !isOutsideQueue(topup)) return { value: undefined, writes: [] };
      const { version } = topup;
      const queued = { update: key, set: { is_queued: true, version: version + 1 }, if: { version } };
      return { value: undefined, writes: [queued, dueWrite(checkoutQueue, [accountId, id], at.toISOString())] };
    });
  }
}

const isOutsideQueue = ({ status, is_queued }: StoredTopup): boolean => status === "pending" && !is_queued;
