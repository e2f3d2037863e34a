import { isDeepStrictEqual } from "node:util";

import { AccountPointer, accountsMatching } from "../../shared/accounts/account.ts";
import { readChangePages } from "../../shared/changes/history.ts";
import { checkLedger } from "../../shared/ledger/check.ts";
import { readBalance, readEntries } from "../../shared/ledger/ledger.ts";
import { type List, readHeads, readRows, readWhole, rowKey } from "../../shared/table/ranked-list.ts";
import { readAgain } from "../../shared/table/read-again.ts";
import type { Table } from "../../shared/table/table.ts";
import { walletOf } from "../../shared/wallet/wallet.ts";

/** A table, and its restored copy. The copy has the state of the table at the time `at`. */
export type Pair = { source: Table; restored: Table; at: Date };

/** The numbers of all accounts, of compared accounts and of compared changes, and the problems in words. */
export type Comparison = { accounts: number; compared: number; changes: number; problems: string[] };

/**
 * The length of the time before `at` in which changes are not compared, in milliseconds. A change is committed some
 * seconds after the time that it contains.
 */
const marginMs = 60_000;
const lookBackMs = 30 * 86_400_000;

const lists = [
  "workspaces",
  "domains",
  "dns_records",
  "mailboxes",
  "groups",
  "tags",
  "webhooks",
  "forwarding",
  "credentials",
  "transactions",
  "invoices",
];

/**
 * Compares a restored table with its source, for up to `sample` accounts spread over all accounts. Compares only rows
 * that never change: the changes of the 30 days before `at`, and the newest 200 entries of the wallet. In the restored
 * table, also checks that the ledgers are balanced, and that the count of each list is the number of its rows. Rejects
 * before the next account if `signal` is aborted.
 */
export async function compare(pair: Pair, sample: number, signal: AbortSignal): Promise<Comparison> {
  const { total } = await readRows(pair.restored, accountsMatching({}), { skip: 0, take: 0 });
  const compared = Math.min(sample, total);
  const result: Comparison = { accounts: total, compared, changes: 0, problems: [] };
  for (let index = 0; index < compared; index++) {
    signal.throwIfAborted();
    const skip = Math.floor((index * total) / compared);
    const { rows } = await readRows(pair.restored, accountsMatching({}), { skip, take: 1 });
    const id = AccountPointer.parse(rows[0]).account_id;
    const { changes, problems } = await compareAccount(pair, id);
    result.changes += changes;
    result.problems.push(...problems.map((problem) => `account ${id}: ${problem}`));
  }
  return result;
}

async function compareAccount(pair: Pair, id: string): Promise<{ changes: number; problems: string[] }> {
  const { count, problems } = await compareChanges(pair, id);
  const { problems: broken, unsettled } = await checkLedger(pair.restored, walletOf(id), { entries: 200 });
  return {
    changes: count,
    problems: [
      ...problems,
      ...broken,
      ...(unsettled ? ["the restored table changed during the comparison"] : []),
      ...(await compareEntries(pair, id)),
      ...(await checkLists(pair.restored, id)),
    ],
  };
}

async function compareChanges({ source, restored, at }: Pair, id: string) {
  const untilMs = at.getTime() - marginMs;
  const span = { sinceMs: untilMs - lookBackMs, untilMs };
  const [sourceKeys, restoredKeys] = await Promise.all([keysOf(source, id, span), keysOf(restored, id, span)]);
  const missing = sourceKeys.filter((key) => !new Set(restoredKeys).has(key)).length;
  const surplus = restoredKeys.length - (sourceKeys.length - missing);
  return {
    count: restoredKeys.length,
    problems: [
      ...(missing > 0 ? [`${missing} of ${sourceKeys.length} changes are missing`] : []),
      ...(surplus > 0 ? [`${surplus} changes are not in the source table`] : []),
    ],
  };
}

async function keysOf(table: Table, id: string, span: { sinceMs: number; untilMs: number }): Promise<string[]> {
  const keys: string[] = [];
  for await (const rows of readChangePages(table, id, span)) keys.push(...rows.map(({ SK }) => SK));
  return keys;
}

async function compareEntries({ source, restored }: Pair, id: string): Promise<string[]> {
  const ledger = walletOf(id);
  const { entries } = await readBalance(restored, ledger, "wallet");
  const [from, to] = [Math.max(0, entries - 200), entries - 1];
  const [expected, actual] = await Promise.all(
    [source, restored].map((one) => readEntries(one, ledger, "wallet", from, to)),
  );
  return isDeepStrictEqual(expected, actual) ? [] : ["the wallet's entries differ from the source table"];
}

/**
 * Checks the lists of an account, and reads all their rows. Returns a text for each list whose count differs from the
 * number of its rows, or that cannot be read.
 */
export async function checkLists(table: Table, id: string): Promise<string[]> {
  const checked = lists.map(async (name) => {
    try {
      const isRight = await isCounted(table, { partition: `ACCOUNT#${id}`, name });
      return isRight ? [] : [`the count of the list ${name} differs from the number of its rows`];
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return [`the list ${name} cannot be read: ${reason}`];
    }
  });
  return (await Promise.all(checked)).flat();
}

/** The number of ordinals whose rows are read at a time. */
const chunk = 1_000;

/** Whether the count of a list is the number of its rows. If the list changes meanwhile, reads again. */
const isCounted = (table: Table, list: List): Promise<boolean> =>
  readAgain(async () => {
    const { next, live, version } = await readWhole(table, list);
    let rows = 0;
    // The ordinal `next` is read too: a row that the head does not count would have this ordinal.
    for (let from = 0; from <= next; from += chunk) {
      const [first, last] = [rowKey(list, from), rowKey(list, from + chunk - 1)];
      rows += (await table.between(list.partition, first.SK, last.SK)).length;
    }
    const [after] = await readHeads(table, [list]);
    return after?.version === version ? rows === live : undefined;
  });
