import { AccountPointer, accountsMatching } from "../../shared/accounts/account.ts";
import { mapConcurrently } from "../../shared/core/concurrency.ts";
import type { Log } from "../../shared/core/log.ts";
import { hourMs } from "../../shared/core/time.ts";
import { workerContext } from "../../shared/http/worker.ts";
import { checkLedger } from "../../shared/ledger/check.ts";
import { readRows } from "../../shared/table/ranked-list.ts";
import type { Reader } from "../../shared/table/table.ts";
import { walletOf } from "../../shared/wallet/wallet.ts";

type CheckContext = { table: Reader; log: Log; now: () => Date };
type Bounds = { most?: number; atOnce?: number; budgetMs?: number };

type LedgersChecked = {
  /** The number of all accounts. */
  total: number;
  /** The number of accounts that this run checked or failed to check. */
  accounts: number;
  /** The number of accounts whose ledger has problems. */
  violations: number;
  /** The number of accounts whose ledger seemed to have problems, but kept changing during the check. */
  unsettled: number;
  /** The number of accounts whose ledger could not be read. */
  failed: number;
};

const hoursOfDay = 24;

/**
 * The accounts to check in the hour of `now`, at most `most`. With up to 24 × `most` accounts, each account is checked
 * once a day. With more accounts, a round of all accounts takes longer than a day.
 */
export function turnAt(now: Date, total: number, most: number): { skip: number; take: number } {
  const turns = Math.max(hoursOfDay, Math.ceil(total / most));
  const take = Math.ceil(total / turns);
  return { skip: (Math.floor(now.getTime() / hourMs) % turns) * take, take };
}

/**
 * Checks the ledgers of this hour's accounts (`turnAt`), at most `most` of them. After `budgetMs` milliseconds, no
 * further check begins. Each account whose ledger has problems or could not be read is logged as an error.
 */
export async function checkLedgers({ table, log, now }: CheckContext, bounds: Bounds = {}): Promise<LedgersChecked> {
  const { most = 2_000, atOnce = 8, budgetMs = 40_000 } = bounds;
  const startedMs = performance.now();
  const list = accountsMatching({});
  const { total } = await readRows(table, list, { skip: 0, take: 0 });
  const { rows } = await readRows(table, list, turnAt(now(), total, most));
  const counts: LedgersChecked = { total, accounts: 0, violations: 0, unsettled: 0, failed: 0 };
  await mapConcurrently(
    rows.map((row) => AccountPointer.parse(row).account_id),
    atOnce,
    async (id) => {
      counts.accounts += 1;
      const checked = await checkLedger(table, walletOf(id)).catch((error: unknown) => {
        counts.failed += 1;
        log.error("ledger not checked", { account_id: id, reason: String(error) });
      });
      if (checked?.unsettled) counts.unsettled += 1;
      if (!checked || checked.problems.length === 0) return;
      counts.violations += 1;
      log.error("ledger violation", { account_id: id, problems: checked.problems });
    },
    () => performance.now() - startedMs > budgetMs,
  );
  if (counts.accounts < rows.length) {
    const left = rows.length - counts.accounts;
    log.error("no time left to check ledgers", { left, planned: rows.length });
  }
  return counts;
}

/** Checks the ledgers of this hour's accounts, and changes nothing. Scheduled every hour. */
export async function handler(): Promise<void> {
  const work = workerContext("check_ledgers");
  work.log.info("ledgers checked", { ...(await checkLedgers(work)) });
}
