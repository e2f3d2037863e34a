import { accountIds } from "../accounts/account.ts";
import { changeJournalOf } from "../changes/record.ts";
import { recorder } from "../changes/recorder.ts";
import { mapConcurrently } from "../core/concurrency.ts";
import type { Log } from "../core/log.ts";
import type { Day } from "../core/time.ts";
import { packNames } from "../mail/mailboxes/names.ts";
import { indexEntries } from "../table/journal.ts";
import type { Table } from "../table/table.ts";
import { periodEnd } from "../wallet/state.ts";
import { queueOldTopups } from "./ask.ts";
import { planBilling } from "./book.ts";
import { accrueThrough, nextPayable, payOpen, settleThrough } from "./settle.ts";

export type RunWork = { table: Table; now: () => Date; requestId: string };

const system = { type: "system" as const, id: "billing" };

/**
 * Closes an account's days up to `last`: records their usage, invoices every month that ended, and pays what the wallet
 * can pay. A second run, or a run at the same time, changes nothing. It takes one transaction a month.
 */
export async function runAccount(accountId: string, last: Day, work: RunWork): Promise<void> {
  const { table, now, requestId } = work;
  const author = { action: "system: billing day", actor: system, requestId };
  const commit = recorder({ table, accountId, author, now });
  for (let isMore = true; isMore;) {
    isMore = await commit(async () => {
      const { book, ...plan } = await planBilling(table, accountId, now(), async (opened) => {
        if (opened.status === "closed") return;
        await accrueThrough(table, opened, last);
        const end = periodEnd(opened.state);
        if (end <= last && opened.state.accrue_from > end) settleThrough(opened, end);
        payOpen(opened);
      });
      const isBehind = book.state.accrue_from <= last || nextPayable(book) !== undefined;
      return { ...plan, value: isBehind && book.status !== "closed" };
    });
  }
}

/** Does the daily work for an account. */
async function closeDay(accountId: string, last: Day, work: RunWork): Promise<void> {
  await runAccount(accountId, last, work);
  await queueOldTopups(accountId, work);
}

const concurrency = 8;

/** Closes a day for all accounts, several at a time. One account's failure does not stop the others; it is counted. */
export async function runAll(
  last: Day,
  work: RunWork & { log: Log; onProgress?: (done: number, total: number) => void },
): Promise<{ accounts: number; failed: number }> {
  const { table, log, onProgress } = work;
  const ids: string[] = [];
  for await (const id of accountIds(table)) ids.push(id);
  let [done, failed] = [0, 0];
  await mapConcurrently(ids, concurrency, async (id) => {
    await closeDay(id, last, work).catch((error: unknown) => {
      failed += 1;
      log.error("billing day failed", { account_id: id, error: String(error) });
    });
    done += 1;
    onProgress?.(done, ids.length);
  });
  await mapConcurrently(ids, concurrency, (id) => indexAccount(id, work));
  return { accounts: done, failed };
}

/** Indexes what earlier versions stored: every day of the audit log, and the names of mailboxes. */
const indexAccount = (accountId: string, { table, now, log }: RunWork & { log: Log }): Promise<void> =>
  Promise.all([
    indexEntries(table, changeJournalOf(accountId), { since: new Date(0) }, now()),
    packNames(table, accountId),
  ]).then(
    () => undefined,
    (error: unknown) => log.error("account not indexed", { account_id: accountId, error: String(error) }),
  );
