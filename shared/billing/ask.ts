import * as z from "zod";

import { Problem } from "../core/errors.ts";
import { timeOrderedId } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import { dayMs, hourMs, minuteMs } from "../core/time.ts";
import type { CheckoutState, Payments } from "../providers/payments/payments.ts";
import { type SweepResult, dueKey, dueTasks, dueWrite, sweepTasks } from "../table/due.ts";
import type { Table } from "../table/table.ts";
import { checkoutQueue, StoredTopup, topupKey } from "../wallet/topup.ts";
import { handlePayment, payOwed } from "./payments.ts";

/** The services for asking the payment provider about checkouts. */
export type AskWork = {
  table: Table;
  payments: Pick<Payments, "getCheckout">;
  now: () => Date;
  log: Log;
  isReadOnly?: boolean;
};

/** The age of a checkout after which only its result page asks about it. Bank debits take up to two weeks. */
export const askedForMs = 30 * dayMs;

/** The least time between two questions for the result page of a checkout. */
const pageRestMs = 4_000;

/** Asks the provider about the checkout of a top-up; undefined if the answer is about another checkout. */
async function readCheckout(accountId: string, topup: StoredTopup, work: AskWork): Promise<CheckoutState | undefined> {
  const state = await work.payments.getCheckout(topup.checkout_id);
  if (isAbout(state, accountId, topup)) return state;
  work.log.error("the provider has another checkout by this id", { checkout_id: topup.checkout_id });
  return undefined;
}

const isAbout = (state: CheckoutState, accountId: string, { id, checkout_id }: StoredTopup): boolean =>
  state.id === checkout_id && state.reference === id && state.accountId === accountId;

/**
 * Settles a checkout as the provider's webhook does. Both credit a payment under the same id, so it is credited once.
 */
async function settleCheckout(state: CheckoutState, work: AskWork): Promise<void> {
  const { id: checkoutId, status, reference, accountId, amount, currency } = state;
  if (status !== "paid" && status !== "expired") return;
  const facts = { checkoutId, reference, accountId, amount, currency, at: work.now() };
  const outcome = await handlePayment({ id: `asked/${checkoutId}`, type: status, ...facts }, work);
  work.log.info("checkout settled by asking", { checkout_id: checkoutId, account_id: accountId, status, outcome });
}

/**
 * Asks the provider about a pending top-up for its result page, unless somebody asked a few seconds ago. If several
 * pages need the answer at the same time, only one asks. If the provider fails, the top-up stays pending.
 */
export async function askForPage(accountId: string, topup: StoredTopup, work: AskWork): Promise<void> {
  const { table, now, log, isReadOnly = false } = work;
  const { asked_at, version } = topup;
  if (isReadOnly) return;
  const restedMs = asked_at === undefined ? Infinity : now().getTime() - Date.parse(asked_at);
  if (restedMs >= 0 && restedMs < pageRestMs) return;
  const claim = { asked_at: now().toISOString(), version: version + 1 };
  const { done } = await table.attempt({ update: topupKey(accountId, topup.id), set: claim, if: { version } });
  if (!done) return;
  await ask(accountId, topup, work).catch((error: unknown) => {
    log[isUnavailable(error) ? "info" : "error"]("the provider was asked in vain", { reason: String(error) });
  });
}

/** Asks about a top-up, and settles it by the answer. */
async function ask(accountId: string, topup: StoredTopup, work: AskWork): Promise<void> {
  const state = await readCheckout(accountId, topup, work);
  if (state) await settleCheckout(state, work);
}

/** Whether the error is a 503, so that asking again later will help. */
export const isUnavailable = (error: unknown): boolean => error instanceof Problem && error.status === 503;

/**
 * When to ask again: the older a checkout is, the less often. Undefined once it is too old and the provider has
 * answered.
 */
function nextAsk({ created_at }: StoredTopup, askedAt: Date, isAnswered: boolean): string | undefined {
  const ageMs = askedAt.getTime() - Date.parse(created_at);
  if (isAnswered && ageMs > askedForMs) return undefined;
  const mostMs = ageMs < 2 * dayMs ? hourMs : dayMs;
  return new Date(askedAt.getTime() + Math.min(mostMs, Math.max(2 * minuteMs, ageMs / 2))).toISOString();
}

/** Asks about a top-up that is due, and puts it back into the queue until it is settled or too old. */
async function askDue(accountId: string, reference: string, at: string, work: AskWork): Promise<void> {
  const { table, now } = work;
  const key = topupKey(accountId, reference);
  const topup = await table.get(key, StoredTopup);
  const askedAt = now();
  let failure: unknown;
  if (topup?.status === "pending") {
    await ask(accountId, topup, work).catch((error: unknown) => void (failure = error));
  } else if (topup?.status === "paid") {
    // The process that credited the top-up may have died before it paid what was owed.
    await payOwed(accountId, `asked/${topup.checkout_id}`, work);
  }
  const after = await table.get(key, StoredTopup);
  const isOpen = after?.status === "pending" && !isMissing(failure);
  await reschedule(
    [accountId, reference],
    at,
    isOpen ? nextAsk(after, askedAt, failure === undefined) : undefined,
    table,
  );
  if (failure !== undefined) throw failure;
}

/** Whether the provider does not know the checkout. It will not know it later either. */
const isMissing = (error: unknown): boolean => error instanceof Problem && error.code === "not_found";

/**
 * Moves a task of the queue to its next due time, or removes it from the queue. If two processes try this at the same
 * time, only one succeeds.
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
    const isThere = (await table.get(due, z.object({}))) !== undefined;
    const writes = [{ delete: due, if: "present" as const }, dueWrite(checkoutQueue, task, next)];
    return { value: undefined, writes: isThere ? writes : [] };
  });
}

/**
 * Asks about the checkouts that are due. With `early` it asks about all open checkouts, for use after an outage in which
 * webhooks may have been lost.
 */
export async function sweepCheckouts(work: AskWork, { early = false } = {}): Promise<SweepResult> {
  const until = early ? new Date(work.now().getTime() + askedForMs) : work.now();
  const one = (accountId: string, reference: string, at: string): Promise<void> =>
    askDue(accountId, reference, at, work);
  const tasks = await dueTasks(checkoutQueue, one, { table: work.table, now: () => until });
  return sweepTasks(tasks, work.log);
}

/** Puts the pending top-ups that the first version stored without a queue into the queue, due at once. */
export async function queueOldTopups(accountId: string, { table, now }: Pick<AskWork, "table" | "now">): Promise<void> {
  const at = now();
  const first = topupKey(accountId, timeOrderedId(new Date(at.getTime() - askedForMs)));
  const items = await table.between(first.PK, first.SK, topupKey(accountId, "g").SK);
  for (const { id } of items.map((item) => StoredTopup.parse(item)).filter(isOutsideQueue)) {
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
