import { systemAuthor } from "../../changes/record.ts";
import { recorder } from "../../changes/recorder.ts";
import { Problem } from "../../core/errors.ts";
import { dayMs, dayOf, hourMs, later, minuteMs } from "../../core/time.ts";
import type { CardRemovedEvent, CardSetupState, ProviderEvent } from "../../providers/payments/payments.ts";
import { dueTasks, sweepTasks, type SweepResult } from "../../table/due.ts";
import { handlePayment } from "../payments.ts";
import { cardRemovedReason, planSwitchOff, readSettings, settingsWrite, unchangedSettings } from "./auto-recharge.ts";
import {
  askedWrite,
  planRemoval,
  planSetup,
  postponeSetup,
  readSetup,
  rechargeQueue,
  type StoredSetup,
} from "./payment-method.ts";
import {
  advanceRecharge,
  forgetTask,
  isCharging,
  isOver,
  postponeRecharge,
  settleRecharge,
  type RechargeContext,
} from "./recharge.ts";
import { handleDispute, handleRefund } from "./returns.ts";
import { readRecharge } from "./stored-recharge.ts";
import { watchWallet } from "./watch.ts";

/** Handles an event of the payment provider. Events may come late, more than once and in any order. */
export async function handleProviderEvent(event: ProviderEvent, context: RechargeContext): Promise<string> {
  switch (event.type) {
    case "card_setup":
      return settleCardSetup({ ...event, id: event.setupId }, context);
    case "card_removed":
      return forgetCard(event, context);
    case "charge":
      if (event.isSucceeded) await settleRecharge({ ...event, id: event.chargeId, status: "succeeded" }, context);
      else await advanceRecharge(event.accountId, event.reference, context);
      return "handled";
    case "refund":
      return handleRefund(event, context);
    case "dispute":
      return handleDispute(event, context);
    default:
      return handlePayment(event, context);
  }
}

const committer = (accountId: string, requestId: string, { table, now }: Pick<RechargeContext, "table" | "now">) =>
  recorder({ table, accountId, author: systemAuthor("saved card", "payments", requestId), now });

/**
 * Stores the card that was saved on a page. Forgets the attempts that failed with an earlier card, and removes the
 * earlier card at the provider. If a recharge still charges the earlier card, the earlier card is removed when the
 * recharge ends. A card from a page that was opened earlier than the page of the stored card is only removed at the
 * provider.
 */
async function settleCardSetup(state: CardSetupState, context: RechargeContext): Promise<string> {
  const { table, now, log, payments } = context;
  const { accountId } = state;
  const { isSaved, unneeded } = await committer(
    accountId,
    `setup/${state.reference}`,
    context,
  )(async () => {
    const planned = await planSetup(table, state, now());
    const isSaved = planned.changes.length > 0;
    const settings = await readSettings(table, accountId, dayOf(now()));
    const { retry_at, ...rest } = settings;
    const settingsGuard =
      settings.failures > 0
        ? settingsWrite(accountId, { ...rest, failures: 0 })
        : unchangedSettings(accountId, settings);
    return {
      ...planned,
      value: { isSaved, unneeded: planned.value },
      writes: [...planned.writes, ...(isSaved ? [settingsGuard] : [])],
    };
  });
  // The account has another saved card, so no new recharge can begin with the unneeded card. Only a recharge that began
  // before can still charge it.
  if (unneeded !== undefined && !(await isCharging(table, accountId, unneeded, now()))) {
    await payments.removeCard(unneeded).catch((error: unknown) => {
      log.info("an unneeded card is still with the provider", { account_id: accountId, reason: String(error) });
    });
  }
  return isSaved ? "handled" : "known";
}

/** Forgets a card that the provider does not have any more, and switches off automatic recharges. */
const forgetCard = ({ accountId, cardId, id }: CardRemovedEvent, context: RechargeContext): Promise<string> =>
  committer(
    accountId,
    id,
    context,
  )(async () => {
    const { table, now } = context;
    const removal = await planRemoval(table, accountId, cardId);
    if (removal.writes.length === 0) return { value: "known", writes: [], changes: [] };
    const off = await planSwitchOff(table, accountId, cardRemovedReason, now());
    return {
      value: "handled",
      writes: [...removal.writes, ...off.writes],
      changes: [...removal.changes, ...off.changes],
    };
  });

/**
 * The worker asks about a page for saving a card until the page has this age, in milliseconds, and the provider has
 * answered. The page is open for less than a day.
 */
const setupAskedMs = 2 * dayMs;

/** Asks the provider about a page for saving a card, and stores the card. */
async function askSetup(accountId: string, setup: StoredSetup, context: RechargeContext): Promise<void> {
  const state = await context.payments.getCardSetup(setup.session_id);
  if (state.accountId !== accountId || state.reference !== setup.id) {
    context.log.error("the provider has a different page with this id", { session_id: setup.session_id });
    return;
  }
  await settleCardSetup(state, context);
}

/** The shortest time between two questions from the result page, in milliseconds. */
const pageIntervalMs = 4_000;

/**
 * Asks the provider about a card that is being saved, because somebody opened the result page. Asks at most every four
 * seconds.
 */
export async function askSetupForPage(
  accountId: string,
  setup: StoredSetup,
  context: RechargeContext & { isReadOnly?: boolean },
): Promise<void> {
  if (context.isReadOnly) return;
  const at = context.now();
  const sinceMs = setup.asked_at === undefined ? Infinity : at.getTime() - Date.parse(setup.asked_at);
  if (sinceMs >= 0 && sinceMs < pageIntervalMs) return;
  const { done } = await context.table.attempt(askedWrite(accountId, setup, at));
  if (!done) return;
  await askSetup(accountId, setup, context).catch((error: unknown) => {
    context.log.info("the provider could not be asked about a page for saving a card", { reason: String(error) });
  });
}

/**
 * Asks about a page for saving a card, and moves or removes the task. Returns false if the stored page does not need a
 * task any more. In this case the caller has to remove the task from the queue.
 */
async function runSetupTask(accountId: string, reference: string, context: RechargeContext): Promise<boolean> {
  const { table, now } = context;
  const setup = await readSetup(table, accountId, reference);
  if (!setup || setup.due_at === null) return false;
  const failure = await askSetup(accountId, setup, context).then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  await table.commit(async () => {
    const after = await readSetup(table, accountId, reference);
    if (!after || after.due_at === null) return { value: undefined, writes: [] };
    const ageMs = now().getTime() - Date.parse(after.created_at);
    const isGone = failure?.error instanceof Problem && failure.error.code === "not_found";
    const isLast = isGone || (failure === undefined && ageMs > setupAskedMs);
    const next = isLast ? null : later(now(), Math.min(hourMs, Math.max(2 * minuteMs, ageMs / 2)));
    return { value: undefined, writes: postponeSetup(accountId, after, next) };
  });
  if (failure) throw failure.error;
  return true;
}

/** Advances a recharge. Returns false if the recharge does not run. In this case the caller has to remove the task. */
async function runRechargeTask(accountId: string, id: string, context: RechargeContext): Promise<boolean> {
  const recharge = await readRecharge(context.table, accountId, id);
  if (!recharge || isOver(recharge)) return false;
  try {
    await advanceRecharge(accountId, id, context);
  } catch (error) {
    await postponeRecharge(accountId, id, context);
    throw error;
  }
  return true;
}

/**
 * Runs a task of the queue. After this, the task usually has another due time or is removed. A check of the wallet that
 * fails leaves its task as it is.
 */
async function runTask(accountId: string, task: string, at: string, context: RechargeContext): Promise<void> {
  const [kind, id = ""] = task.split("/");
  const run = { setup: runSetupTask, recharge: runRechargeTask }[kind ?? ""];
  if (run) {
    if (await run(accountId, id, context)) return;
  } else {
    await watchWallet(accountId, context);
  }
  await forgetTask(accountId, task, at, context.table);
}

/** Runs the due tasks of `rechargeQueue`: charges cards, asks about charges and pages, and checks wallets. */
export async function sweepRecharges(context: RechargeContext): Promise<SweepResult> {
  return sweepTasks(await dueTasks(rechargeQueue, runTask, context), context.log);
}
