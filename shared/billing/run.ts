import { accountIds } from "../accounts/account.ts";
import { change } from "../changes/kind.ts";
import { changeJournalOf, systemAuthor } from "../changes/record.ts";
import { recorder, writerOf } from "../changes/recorder.ts";
import { mapConcurrently } from "../core/concurrency.ts";
import type { Log } from "../core/log.ts";
import { type Day, dayMs, dayOf, later, plusDays } from "../core/time.ts";
import { removeDeletedNames } from "../mail/mailboxes/names.ts";
import { batchReads } from "../table/batch-reads.ts";
import { indexEntries } from "../table/journal.ts";
import { SeenItems } from "../table/seen-items.ts";
import type { Table } from "../table/table.ts";
import { leavingDays } from "../wallet/catalogue.ts";
import { periodEnd, planKind, planOn, withoutEnd, type BillingState } from "../wallet/state.ts";
import { queueOldTopups } from "./ask.ts";
import { planBilling, type AccountBilling } from "./book.ts";
import { refreshVatId } from "./profile.ts";
import { giveBillingNotices } from "./recharges/watch.ts";
import { vatRegisterHere } from "./services.ts";
import { accrueThrough, nextPayable, payOpen, settleLate, settlePurchases, settleThrough } from "./settle.ts";

export type RunContext = { table: Table; now: () => Date; requestId: string };

/**
 * Closes an account's days up to `last`: records their usage, invoices every month that ended, and pays the invoices
 * that the wallet can pay. Takes at least one transaction for each month. A repeated or concurrent run changes nothing
 * more.
 *
 * A closed account has no further days. For a closed account, this function only invoices the purchases that were paid
 * since the closing, and pays the open invoices.
 */
export async function runAccount(accountId: string, last: Day, context: RunContext): Promise<void> {
  const { table, now, requestId } = context;
  const commit = recorder({ table, accountId, author: systemAuthor("billing day", "billing", requestId), now });
  for (let isMore = true; isMore;) {
    isMore = await commit(async () => {
      const { book, ...plan } = await planBilling(table, accountId, now(), async (opened) => {
        if (opened.status === "closed") {
          await settlePurchases(table, opened, dayOf(opened.now));
          return payOpen(opened);
        }
        await settleLate(table, opened, last);
        await accrueThrough(table, opened, last);
        const end = periodEnd(opened.state);
        if (end <= last && opened.state.accrue_from > end) await settleThrough(table, opened, end);
        payOpen(opened);
        notePlanEnd(opened);
      });
      const isBehind = book.state.accrue_from <= last || periodEnd(book.state) <= last;
      return { ...plan, value: (isBehind && book.status !== "closed") || nextPayable(book) !== undefined };
    });
  }
}

/**
 * Records in a book that the account has no plan.
 * - The first day without a plan gets an event. The day of an immediate cancellation is still a day with a plan.
 * - After `leavingDays` days, another event says that nobody can use the account's mailboxes any more. So members have
 *   known about the end of the plan for at least this time.
 * - When the account has a plan again, both records are removed once the first whole day with a plan is recorded. So a
 *   plan that is cancelled on its first day does not start the count of days again.
 */
function notePlanEnd(book: AccountBilling): void {
  const today = dayOf(book.now);
  if (book.state.accrue_from > today) return;
  if (planOn(book.state, today) !== null) {
    const yesterday = plusDays(today, -1);
    if (book.state.accrue_from === today && planOn(book.state, yesterday) !== null) book.state = withoutEnd(book.state);
    return;
  }
  const { ended_on, lapsed_on } = book.state;
  if (ended_on === undefined) note(book, "ended", { ended_on: today });
  else if (lapsed_on === undefined && plusDays(ended_on, leavingDays) <= today)
    note(book, "lapsed", { lapsed_on: today });
}

/** Adds an event to a book. The event of the end has the first day without a plan, which can be an earlier day. */
function note(book: AccountBilling, verb: "ended" | "lapsed", members: Partial<BillingState>): void {
  const today = dayOf(book.now);
  const end = book.state.plans.findLast(({ from }) => from <= today);
  book.state = { ...book.state, ...members };
  const after = { plan_id: null, from: verb === "ended" ? (end?.from ?? today) : today };
  book.changes.push(change(planKind, verb, book.accountId, { after }));
}

/** Asks the register about the VAT id of an account, so that the next invoices use the answer. */
export function askAboutVatId(accountId: string, context: RunContext): Promise<void> {
  const author = systemAuthor("VAT id", "billing", context.requestId);
  return refreshVatId(accountId, writerOf(context, accountId, author), vatRegisterHere());
}

/**
 * Runs the daily tasks of an account. Each account has batches of its own for its reads, so that a read that fails for
 * one account does not fail for another.
 */
export async function runDailyTasks(accountId: string, last: Day, context: RunContext): Promise<void> {
  const batched = { ...context, table: batchReads(context.table, new SeenItems()) };
  await askAboutVatId(accountId, batched);
  await runAccount(accountId, last, batched);
  await queueOldTopups(accountId, batched);
  await giveBillingNotices(accountId, batched);
}

const concurrency = 8;

/**
 * Closes the days up to `last` for all accounts, eight at a time. The failure of one account is logged and counted, and
 * does not stop the other accounts.
 */
export async function runAll(
  last: Day,
  context: RunContext & { log: Log; onProgress?: (done: number, total: number) => void },
): Promise<{ accounts: number; failed: number }> {
  const { table, log, onProgress } = context;
  const ids: string[] = [];
  for await (const id of accountIds(table)) ids.push(id);
  let [done, failed] = [0, 0];
  await mapConcurrently(ids, concurrency, async (id) => {
    await runDailyTasks(id, last, context).catch((error: unknown) => {
      failed += 1;
      log.error("billing day failed", { account_id: id, error: String(error) });
    });
    done += 1;
    onProgress?.(done, ids.length);
  });
  await mapConcurrently(ids, concurrency, (id) => tidyAccount(id, context));
  return { accounts: done, failed };
}

/**
 * How many of the last days each run indexes. One day is not enough, because the daily run of an account may fail for
 * some days.
 */
const indexedDays = 7;

/**
 * Indexes the last days of the audit log, including days that the worker `index_journals` has not indexed. Also removes
 * the names of deleted mailboxes from the search. Logs a failure, and does not throw.
 */
export const tidyAccount = (accountId: string, { table, now, log }: RunContext & { log: Log }): Promise<void> =>
  Promise.all([
    indexEntries(table, changeJournalOf(accountId), { since: new Date(later(now(), -indexedDays * dayMs)) }, now()),
    removeDeletedNames(table, accountId),
  ]).then(
    () => undefined,
    (error: unknown) => log.error("account not tidied", { account_id: accountId, error: String(error) }),
  );
