import { accountKey, StoredAccount } from "../../accounts/account.ts";
import { getAccount } from "../../accounts/visible.ts";
import { systemAuthor } from "../../changes/record.ts";
import { recorder, type ChangePlan, type Commit } from "../../changes/recorder.ts";
import { timeOrderedId } from "../../core/ids.ts";
import type { Log } from "../../core/log.ts";
import { money } from "../../core/money.ts";
import { dayMs, dayOf, hourMs, later, minuteMs, monthOf } from "../../core/time.ts";
import { MovementConflict } from "../../ledger/movement.ts";
import type { ChargeState } from "../../providers/payments/payments.ts";
import { dueKey, dueWrite, moveDue } from "../../table/due.ts";
import type { Reader, Table } from "../../table/table.ts";
import type { Write } from "../../table/writes.ts";
import { rechargeRetryDays, topupLimit } from "../../wallet/catalogue.ts";
import { openTopup, type Checkouts } from "../../wallet/topup.ts";
import { planWallet, unchangedWallet, type Posting } from "../../wallet/wallet.ts";
import { openAccountBilling, totalDue, type AccountBilling } from "../book.ts";
import { payOwed, reportClosed } from "../payments.ts";
import { nextPayable } from "../settle.ts";
import { leftOf } from "./alerts.ts";
import {
  isLastFailure,
  readSettings,
  settingsWrite,
  noRechargeBefore,
  switchOffChanges,
  withAttempt,
  type StoredSettings,
} from "./auto-recharge.ts";
import { planLastFailure } from "./page-result.ts";
import { readMethod, rechargeQueue, unchangedMethod } from "./payment-method.ts";
import { readRecharge, rechargeChange, rechargeKey, type StoredRecharge } from "./stored-recharge.ts";

/*
 * A recharge has three steps:
 * - One transaction adds the amount to the month's sum of recharges, and queues the recharge.
 * - The provider charges the card, under the id of the recharge.
 * - Another transaction settles the recharge.
 *
 * The first report of the charge's result settles the recharge. A report is the provider's answer to the charge, its
 * webhook, or its answer to a later question. Every report of a success credits the wallet by the same movement,
 * `recharge/<id>`, so the wallet is credited once.
 */

export type WatchContext = { table: Table; now: () => Date };
export type RechargeContext = WatchContext & Checkouts & { log: Log };

const committer = (accountId: string, requestId: string, { table, now }: WatchContext): Commit =>
  recorder({ table, accountId, author: systemAuthor("automatic recharge", "recharges", requestId), now });

/**
 * Whether the status of the account allows recharges: the account is active, past due, or suspended by billing. False
 * for a closed account, and for an account that somebody else suspended.
 */
const mayRecharge = ({ account, state }: AccountBilling): boolean =>
  account.status === "active" ||
  account.status === "past_due" ||
  (account.status === "suspended" && state.suspended_version === account.version);

/**
 * The amount to recharge, in minor units; 0 if the wallet has enough. The result is the larger of two amounts, at most
 * `topupLimit`: the amount in the customer's settings, and the amount that the wallet lacks to pay everything that is
 * due. If the larger amount would pass the monthly cap, and the amount in the settings pays a debt, the result is the
 * amount in the settings.
 */
function neededAmount(book: AccountBilling, { threshold, amount, charged, monthly_cap }: StoredSettings): number {
  const due = totalDue(book);
  const missing = Math.max(0, due - book.available);
  if (leftOf(book) >= threshold && missing === 0) return 0;
  const wanted = Math.min(topupLimit, Math.max(amount, missing));
  const paysDebt =
    book.state.owed > 0 || nextPayable({ open: book.open, available: book.available + amount }) !== undefined;
  return charged + wanted > monthly_cap && paysDebt ? amount : wanted;
}

/**
 * Begins a recharge if the wallet needs one and the customer's settings allow one. Returns the id of the recharge, or
 * undefined if none began. The transaction that begins the recharge also adds the amount to the month's sum. So two
 * processes that begin recharges at the same time cannot pass the cap. The worker of the queue charges the card.
 */
export async function beginRecharge(accountId: string, context: WatchContext): Promise<string | undefined> {
  const { table, now } = context;
  return committer(accountId, timeOrderedId(now()), context)(async () => planBeginning(table, accountId, now()));
}

async function planBeginning(table: Reader, accountId: string, now: Date): Promise<ChangePlan<string | undefined>> {
  const nothing = { value: undefined, writes: [], changes: [] };
  const settings = await readSettings(table, accountId, dayOf(now));
  if ((!settings.enabled && !isLastFailure(settings)) || settings.current !== undefined) return nothing;
  const book = await openAccountBilling(table, accountId, now);
  const amount = neededAmount(book, settings);
  const unchanged = unchangedWallet(accountId, book.walletVersion);
  if (amount === 0) {
    if (settings.failures === 0) return nothing;
    // The wallet has enough money again, so the failed attempts no longer count.
    const { retry_at, ...rest } = settings;
    const writes = [settingsWrite(accountId, { ...rest, failures: 0 }), unchanged];
    return { value: undefined, writes, changes: [], housekeeping: true };
  }
  if (isLastFailure(settings)) return planLastFailure(table, book, settings, now);
  const method = await readMethod(table, accountId);
  if (!mayRecharge(book) || !method?.card || noRechargeBefore(settings, now) !== undefined) return nothing;
  const { currency } = book.account;
  const limit = limitReached(settings, amount, currency);
  if (limit !== undefined) return planLimitNotice(accountId, settings, { amount, currency, reason: limit });
  const { count, charged } = settings;
  const [id, at, attempts] = [timeOrderedId(now), now.toISOString(), withAttempt(settings, now)];
  const recharge: StoredRecharge = {
    id,
    amount,
    currency,
    status: "charging",
    customer_id: method.customer_id,
    card_id: method.card.id,
    created_at: at,
    due_at: at,
    version: 1,
  };
  const after = { ...settings, count: count + 1, charged: charged + amount, current: id, last: id, attempts };
  const nextDay = noRechargeBefore(after, now);
  return {
    value: id,
    writes: [
      settingsWrite(accountId, after),
      { put: { ...rechargeKey(accountId, id), ...recharge }, if: "absent" },
      dueWrite(rechargeQueue, [accountId, `recharge/${id}`], at),
      // After the last recharge of a day, the wallet is checked again on the next day.
      ...(nextDay === undefined ? [] : [dueWrite(rechargeQueue, [accountId, `retry/${id}`], nextDay)]),
      unchanged,
      unchangedMethod(accountId, method),
    ],
    changes: [],
    housekeeping: true,
  };
}

/** The limit of the month that forbids a recharge, in words; undefined if no limit forbids the recharge. */
function limitReached(settings: StoredSettings, amount: number, currency: string): string | undefined {
  const { count, charged, max_per_month, monthly_cap } = settings;
  if (count >= max_per_month) return `The limit of recharges in a month (${max_per_month}) is reached.`;
  if (charged + amount <= monthly_cap) return undefined;
  return `A recharge of ${money(amount)} ${currency} would pass your monthly cap of ${money(monthly_cap)} ${currency}: the recharges of this month have taken ${money(charged)} ${currency}.`;
}

/** Plans to tell the customer, once a month, that the limits of the month forbid a recharge that the wallet needs. */
function planLimitNotice(
  accountId: string,
  settings: StoredSettings,
  notice: { amount: number; currency: string; reason: string },
): ChangePlan<string | undefined> {
  if (settings.limit_told === settings.month) return { value: undefined, writes: [], changes: [] };
  // No recharge began, so the notice has the id of the last recharge, or of the account if there was none.
  const told = { ...notice, id: settings.last ?? accountId, status: "limit_reached" as const };
  return {
    value: undefined,
    writes: [settingsWrite(accountId, { ...settings, limit_told: settings.month })],
    changes: [rechargeChange("limit_reached", told)],
  };
}

export const isOver = ({ due_at }: StoredRecharge): boolean => due_at === null;

/** The reason that a recharge gets when it is given up before the card is charged. */
const givenUp = "Automatic recharges were switched off, or the account was closed, before the card was charged.";

/**
 * Ends a recharge whose charge is not known, if the account is closed or automatic recharges are off. Returns whether
 * this call ended the recharge. If the card was charged after all, and the answer was lost, the wallet is credited when
 * the provider's event about the charge comes.
 */
const giveUp = (accountId: string, id: string, context: WatchContext): Promise<boolean> =>
  context.table.commit(async () => {
    const { table } = context;
    const now = context.now();
    const [recharge, settings, account] = await Promise.all([
      readRecharge(table, accountId, id),
      readSettings(table, accountId, dayOf(now)),
      table.get(accountKey(accountId), StoredAccount),
    ]);
    const goesOn = settings.enabled && account?.status !== "closed";
    if (!recharge || isOver(recharge) || recharge.charge_id !== undefined || goesOn)
      return { value: false, writes: [] };
    const ended = { status: "failed" as const, reason: givenUp, due_at: null, settled_at: now.toISOString() };
    const next = withoutRecharge(settings, recharge);
    return {
      value: true,
      writes: [...rechargeWrites(accountId, recharge, { ...recharge, ...ended }), settingsWrite(accountId, next)],
    };
  });

/**
 * Charges the card of a recharge, or asks about the charge, and settles the recharge by the answer. Charges nothing for
 * a closed account, or after recharges were switched off.
 */
export async function advanceRecharge(accountId: string, id: string, context: RechargeContext): Promise<void> {
  const { table, payments } = context;
  const recharge = await readRecharge(table, accountId, id);
  if (!recharge || isOver(recharge)) return;
  if (await giveUp(accountId, id, context)) return removeReplaced(accountId, recharge, context);
  const state =
    recharge.charge_id === undefined
      ? await payments.charge({
          reference: id,
          accountId,
          customerId: recharge.customer_id,
          cardId: recharge.card_id,
          amount: recharge.amount,
          currency: recharge.currency,
          description: "Automatic top-up",
          startedAt: new Date(recharge.created_at),
        })
      : await payments.getCharge(recharge.charge_id);
  await settleRecharge(state, context);
}

/**
 * Settles a recharge by the state of its charge. A repeat changes nothing.
 * - If the charge succeeded, credits the amount of the charge to the wallet, and then pays what the account owes.
 * - If the bank requires a confirmation, opens a page on which the customer pays the same amount.
 * - If the charge failed, ends the recharge with the reason. If the charge is still running, asks again later.
 * - A charge of another amount than the recharge is logged, and the amount of the charge counts.
 * - A charge in another currency is logged and changes nothing.
 */
export async function settleRecharge(state: ChargeState, context: RechargeContext): Promise<void> {
  const { table, now, log } = context;
  const { accountId, reference, status } = state;
  const recharge = await readRecharge(table, accountId, reference);
  const { currency } = recharge ?? (await getAccount(table, accountId));
  if (state.currency !== currency || (recharge && recharge.amount !== state.amount)) {
    log.error("a charge has another amount or currency than its recharge", {
      account_id: accountId,
      charge_id: state.id,
    });
  }
  if (state.currency !== currency) return;
  if (state.refusal !== undefined) {
    log.error("the provider refused a charge", {
      account_id: accountId,
      recharge_id: reference,
      reason: state.refusal,
    });
  }
  const requestId = `recharge/${reference}`;
  const isRunning = recharge !== undefined && !isOver(recharge);
  // The bank requires a confirmation, so the charge is cancelled. The customer pays the same amount on a page, where
  // the bank asks for the confirmation. No page is needed if another card was saved: that card is charged instead.
  const needsPage = status === "action_required" && isRunning && !(await isReplaced(table, accountId, recharge));
  const purpose = { description: "Automatic top-up", rechargeId: reference };
  const page = needsPage
    ? await openTopup(accountId, recharge.amount, { table, now, requestId }, context, purpose)
    : undefined;
  const settle = committer(
    accountId,
    requestId,
    context,
  )(async () => {
    const planned = await planSettlement(table, state, page?.session.hosted_page.url, now());
    const opened = planned.value === "ended" ? await page?.plan() : undefined;
    return {
      ...planned,
      writes: [...planned.writes, ...(opened?.writes ?? [])],
      changes: [...planned.changes, ...(opened?.changes ?? [])],
    };
  });
  const outcome = await settle.catch((error: unknown) => {
    if (!(error instanceof MovementConflict)) throw error;
    log.error("a charge was reported with two amounts", { account_id: accountId, charge_id: state.id });
  });
  if (outcome === "credited") await reportClosed(accountId, state.amount, context);
  if (isRunning && status !== "processing") await removeReplaced(accountId, recharge, context);
  // If the process dies here, the provider's webhook or the daily run pays the open invoices.
  if (status === "succeeded") await payOwed(accountId, requestId, context);
}

/** Whether another card was saved since a recharge began. */
async function isReplaced(table: Reader, accountId: string, { card_id }: StoredRecharge): Promise<boolean> {
  const card = (await readMethod(table, accountId))?.card;
  return card !== undefined && card !== null && card.id !== card_id;
}

/** Removes the card of an ended recharge at the provider, if another card was saved meanwhile. */
async function removeReplaced(accountId: string, recharge: StoredRecharge, context: RechargeContext): Promise<void> {
  const { table, payments, log } = context;
  if (!(await isReplaced(table, accountId, recharge))) return;
  await payments.removeCard(recharge.card_id).catch((error: unknown) => {
    log.info("a replaced card is still with the provider", { account_id: accountId, reason: String(error) });
  });
}

/** Whether a running recharge charges a card, so that the provider still has to keep the card. */
export async function isCharging(table: Reader, accountId: string, cardId: string, now: Date): Promise<boolean> {
  const { current } = await readSettings(table, accountId, dayOf(now));
  const recharge = current === undefined ? undefined : await readRecharge(table, accountId, current);
  return recharge !== undefined && !isOver(recharge) && recharge.card_id === cardId;
}

/**
 * The result of a settlement: `ended` if the recharge takes no money and the customer is told, `credited` if the money
 * of the recharge is in the wallet now, undefined in all other cases.
 */
type Settled = "ended" | "credited" | undefined;

/**
 * Plans the settlement of a recharge by the state of its charge. `action_url` is the address of the page on which the
 * customer confirms the payment. Plans nothing for a recharge that is over, unless the charge succeeded.
 */
async function planSettlement(
  table: Reader,
  state: ChargeState,
  action_url: string | undefined,
  now: Date,
): Promise<ChangePlan<Settled>> {
  const { accountId, reference, status } = state;
  const recharge = await readRecharge(table, accountId, reference);
  const settings = await readSettings(table, accountId, dayOf(now));
  if (status === "succeeded") return planSuccess(table, state, recharge, settings, now);
  if (!recharge || isOver(recharge)) return { value: undefined, writes: [], changes: [] };
  const known = state.id === undefined ? {} : { charge_id: state.id };
  if (status === "processing") {
    const after: StoredRecharge = { ...recharge, ...known, status, due_at: nextAsk(recharge, now) };
    return { value: undefined, writes: rechargeWrites(accountId, recharge, after), changes: [], housekeeping: true };
  }
  const method = await readMethod(table, accountId);
  const unchanged = method ? [unchangedMethod(accountId, method)] : [];
  if (method?.card && method.card.id !== recharge.card_id) {
    const plan = planWithNewCard(accountId, { ...recharge, ...known }, settings, now);
    return { ...plan, writes: [...plan.writes, ...unchanged] };
  }
  const after: StoredRecharge = {
    ...recharge,
    ...known,
    status,
    reason: state.reason ?? "The bank declined the payment.",
    ...(action_url === undefined ? {} : { action_url }),
    due_at: null,
    settled_at: now.toISOString(),
  };
  const next = afterFailure(settings, after, now);
  const retry_at = (next.enabled ? noRechargeBefore(next, now) : undefined) ?? null;
  return {
    value: "ended",
    writes: [
      ...rechargeWrites(accountId, recharge, after),
      settingsWrite(accountId, next),
      ...retryWrites(accountId, recharge, next),
      ...unchanged,
    ],
    changes: [
      rechargeChange(status, after, status === "failed" ? { retry_at } : {}),
      ...switchOffChanges(accountId, after, settings, next),
    ],
  };
}

/** The write that queues a check of the wallet at `retry_at`, after a failed recharge. None without `retry_at`. */
const retryWrites = (accountId: string, { id }: StoredRecharge, { retry_at }: StoredSettings): Write[] =>
  retry_at !== undefined ? [dueWrite(rechargeQueue, [accountId, `retry/${id}`], retry_at)] : [];

/**
 * Plans the end of a recharge that failed, if the customer has saved another card meanwhile. The recharge does not
 * count as a failure, because the new card is charged at once.
 */
function planWithNewCard(
  accountId: string,
  recharge: StoredRecharge,
  settings: StoredSettings,
  now: Date,
): ChangePlan<Settled> {
  const after: StoredRecharge = {
    ...recharge,
    status: "failed",
    reason: "Another card was saved meanwhile. It is charged instead.",
    due_at: null,
    settled_at: now.toISOString(),
  };
  return {
    value: undefined,
    writes: [
      ...rechargeWrites(accountId, recharge, after),
      settingsWrite(accountId, withoutRecharge(settings, recharge)),
      dueWrite(rechargeQueue, [accountId, `retry/${recharge.id}`], now.toISOString()),
    ],
    changes: [],
    housekeeping: true,
  };
}

const rechargeWrites = (accountId: string, before: StoredRecharge, after: StoredRecharge): Write[] => [
  {
    put: { ...rechargeKey(accountId, before.id), ...after, version: before.version + 1 },
    if: { version: before.version },
  },
  ...moveDue(rechargeQueue, [accountId, `recharge/${before.id}`], before.due_at, after.due_at),
];

/** When to ask about a charge again: after half of the recharge's age, at least 2 minutes and at most 12 hours. */
const nextAsk = ({ created_at }: Pick<StoredRecharge, "created_at">, now: Date): string =>
  later(now, Math.min(dayMs / 2, Math.max(2 * minuteMs, (now.getTime() - Date.parse(created_at)) / 2)));

/** The settings after a recharge that took no money. The recharge does not count for the month any more. */
function withoutRecharge(settings: StoredSettings, recharge: StoredRecharge): StoredSettings {
  const { current, ...rest } = settings;
  const isOfMonth = monthOf(dayOf(new Date(recharge.created_at))) === settings.month;
  return {
    ...rest,
    ...(current === undefined || current === recharge.id ? {} : { current }),
    ...(isOfMonth ? { count: settings.count - 1, charged: settings.charged - recharge.amount } : {}),
  };
}

/**
 * The settings after a recharge that failed, or that the payer has to confirm. The next attempt has to wait. After the
 * last attempt, automatic recharges are off. If the last attempt has a payment page, they stay on for a day, because
 * the page can be paid for less than a day.
 */
function afterFailure(settings: StoredSettings, recharge: StoredRecharge, now: Date): StoredSettings {
  const { retry_at, ...rest } = withoutRecharge(settings, recharge);
  const failures = settings.failures + 1;
  const wait = rechargeRetryDays[failures - 1] ?? (recharge.action_url === undefined ? undefined : 1);
  return {
    ...rest,
    failures: wait === undefined ? 0 : failures,
    enabled: wait !== undefined && settings.enabled,
    ...(wait === undefined ? {} : { retry_at: later(now, wait * dayMs) }),
  };
}

const creditOf = (reference: string, amount: number): Posting => ({
  kind: "transfer",
  id: `recharge/${reference}`,
  debit: "payments",
  credit: "wallet",
  amount,
  code: "topup",
  type: "topup",
  description: "Automatic top-up",
});

async function planSuccess(
  table: Reader,
  { id: charge_id, accountId, reference, amount }: ChargeState,
  recharge: StoredRecharge | undefined,
  settings: StoredSettings,
  now: Date,
): Promise<ChangePlan<Settled>> {
  const wallet = await planWallet(table, accountId, [creditOf(reference, amount)], now);
  const value = wallet.done[0]?.existed ? undefined : ("credited" as const);
  const credited = { value, writes: wallet.writes, changes: wallet.changes };
  // The money was taken, so it is credited even if the recharge is not known.
  if (!recharge || recharge.status === "succeeded") return credited;
  const { reason, action_url, ...rest } = recharge;
  const after: StoredRecharge = {
    ...rest,
    ...(charge_id === undefined ? {} : { charge_id }),
    status: "succeeded",
    due_at: null,
    settled_at: now.toISOString(),
  };
  const { current, retry_at, ...kept } = settings;
  // `withoutRecharge` took the amount of an ended recharge out of its month. The provider has charged the card all the
  // same, so the amount counts again, if the month of the recharge is still the month of the settings.
  const countsAgain = isOver(recharge) && monthOf(dayOf(new Date(recharge.created_at))) === settings.month;
  const next: StoredSettings = {
    ...kept,
    ...(countsAgain ? { count: settings.count + 1, charged: settings.charged + recharge.amount } : {}),
    ...(current === undefined || current === reference ? {} : { current }),
    failures: 0,
  };
  return {
    value,
    writes: [...wallet.writes, ...rechargeWrites(accountId, recharge, after), settingsWrite(accountId, next)],
    changes: [...wallet.changes, rechargeChange("succeeded", after)],
  };
}

/**
 * Moves the task of a recharge to a later time, at most an hour away, because the provider could not be asked about the
 * charge.
 */
export async function postponeRecharge(accountId: string, id: string, { table, now }: WatchContext): Promise<void> {
  await table.commit(async () => {
    const recharge = await readRecharge(table, accountId, id);
    if (!recharge || isOver(recharge)) return { value: undefined, writes: [] };
    const due_at = later(now(), Math.min(hourMs, Date.parse(nextAsk(recharge, now())) - now().getTime()));
    return { value: undefined, writes: rechargeWrites(accountId, recharge, { ...recharge, due_at }) };
  });
}

/** Removes a finished task from the queue. */
export const forgetTask = async (accountId: string, task: string, at: string, table: Table): Promise<void> =>
  void (await table.attempt({ delete: dueKey(rechargeQueue, [accountId, task], at) }));
