import { accountKey, StoredAccount } from "../accounts/account.ts";
import { getAccount } from "../accounts/visible.ts";
import { change, type Change } from "../changes/kind.ts";
import { systemAuthor } from "../changes/record.ts";
import { recorder, type Commit } from "../changes/recorder.ts";
import type { Log } from "../core/log.ts";
import { money } from "../core/money.ts";
import { batchQueue } from "../domains/domain.ts";
import { MovementConflict } from "../ledger/movement.ts";
import type { PaymentEvent } from "../providers/payments/payments.ts";
import { dueWrite } from "../table/due.ts";
import type { Reader, Table } from "../table/table.ts";
import type { Write } from "../table/writes.ts";
import { StoredTopup, topupKey, topupKind } from "../wallet/topup.ts";
import { planWallet } from "../wallet/wallet.ts";
import { planBilling } from "./book.ts";
import { planPageResult } from "./recharges/page-result.ts";
import { nextPayable, payOpen } from "./settle.ts";

type PaymentContext = { table: Table; now: () => Date; log: Log };

/**
 * Handles an event of the payment provider about a checkout. Events may come late, more than once and in any order. A
 * payment is credited once, by the id of its checkout, even if no top-up is stored for the payment. Then the wallet
 * pays the account's debts that it can pay. Throws 404 if there is no account. Returns:
 * - `credited` if this event credited the payment;
 * - `known` if there was nothing to credit;
 * - `ignored` if the event is in another currency, or if its payment was credited before with another amount;
 * - `ignored` if the event is about a failed or expired checkout that no top-up has.
 */
export async function handlePayment(
  event: PaymentEvent,
  context: PaymentContext,
): Promise<"credited" | "known" | "ignored"> {
  const { table, now, log } = context;
  const commit = committer(event.accountId, event.id, context);
  const { currency } = await getAccount(table, event.accountId);
  if (event.currency !== currency) {
    log.error("payment in another currency", { event_id: event.id, currency: event.currency, expected: currency });
    return "ignored";
  }
  if (event.type !== "paid") {
    return commit(async () => planStatus(table, event, event.type === "failed" ? "failed" : "expired", now()));
  }
  const outcome = await commit(async () => planCredit(table, event, context));
  if (outcome === "ignored") return outcome;
  if (outcome === "credited") await reportClosed(event.accountId, event.amount, context);
  // If the process dies here, the repeated webhook finds the credit and pays the open invoices.
  await payOwed(event.accountId, event.id, context);
  return outcome;
}

/**
 * Logs money that arrived for a closed account. The money is in the wallet. The caller of this function then pays the
 * account's debts from the wallet. The operator decides about the rest.
 */
export async function reportClosed(accountId: string, amount: number, { table, log }: PaymentContext): Promise<void> {
  const account = await table.get(accountKey(accountId), StoredAccount);
  if (account?.status !== "closed") return;
  log.error("a closed account was paid", { account_id: accountId, amount: money(amount) });
}

/**
 * Pays from the wallet the debt in `owed`, and then the open invoices that the wallet can pay. A repeat has no effect.
 */
export async function payOwed(accountId: string, requestId: string, context: PaymentContext): Promise<void> {
  const commit = committer(accountId, requestId, context);
  for (let isMore = true; isMore;) {
    isMore = await commit(async () => {
      const { book, ...plan } = await planBilling(context.table, accountId, context.now(), payOpen);
      return { ...plan, value: nextPayable(book) !== undefined };
    });
  }
}

const committer = (accountId: string, requestId: string, { table, now }: PaymentContext): Commit =>
  recorder({ table, accountId, author: systemAuthor("payment", "payments", requestId), now });

type PlannedCredit = { value: "credited" | "known" | "ignored"; writes: Write[]; changes: Change[] };

async function planCredit(table: Reader, event: PaymentEvent, { now, log }: PaymentContext): Promise<PlannedCredit> {
  const { accountId, checkoutId, amount } = event;
  await getAccount(table, accountId);
  try {
    const wallet = await planWallet(
      table,
      accountId,
      [
        {
          kind: "transfer",
          id: `topup/${checkoutId}`,
          debit: "payments",
          credit: "wallet",
          amount,
          code: "topup",
          type: "topup",
          description: "Top-up",
        },
      ],
      now(),
    );
    const topup = await planStatus(table, event, "paid", now());
    return {
      value: wallet.done[0]?.existed ? "known" : "credited",
      writes: [...wallet.writes, ...topup.writes],
      changes: [...wallet.changes, ...topup.changes],
    };
  } catch (error) {
    if (!(error instanceof MovementConflict)) throw error;
    log.error("a checkout was paid twice with different amounts", { event_id: event.id, checkout_id: checkoutId });
    return { value: "ignored", writes: [], changes: [] };
  }
}

/**
 * The ranks of the statuses. An event can only raise the rank of a top-up, so the order and the repetition of events do
 * not matter.
 */
const ranks = { pending: 0, failed: 1, expired: 2, paid: 3 };

/**
 * Plans the new status of a top-up, if the new status has a higher rank than the present status.
 * - If the top-up is paid, the batch of purchases that waits for the payment becomes due.
 * - If the page of the top-up is for the confirmation of an automatic recharge, the recharge ends with the result of
 *   the page.
 */
async function planStatus(
  table: Reader,
  event: PaymentEvent,
  status: "paid" | "failed" | "expired",
  now: Date,
): Promise<PlannedCredit> {
  const key = topupKey(event.accountId, event.reference);
  const topup = await table.get(key, StoredTopup);
  if (!topup || topup.checkout_id !== event.checkoutId) return { value: "ignored", writes: [], changes: [] };
  if (ranks[topup.status] >= ranks[status]) return { value: "known", writes: [], changes: [] };
  const after = { ...topup, status, version: topup.version + 1 };
  const batchId = status === "paid" ? topup.purchase_batch_id : undefined;
  const confirmation = { accountId: event.accountId, rechargeId: topup.recharge_id };
  const batchWrites =
    batchId === undefined ? [] : [dueWrite(batchQueue, [event.accountId, batchId], now.toISOString())];
  return {
    value: "known",
    writes: [
      { put: { ...key, ...after }, if: { version: topup.version } },
      ...batchWrites,
      ...(await planPageResult(table, confirmation, status === "paid", now)),
    ],
    changes: [change(topupKind, status, topup.id, { before: topup, after })],
  };
}
