import { isDeepStrictEqual } from "node:util";

import { AccountPointer, accountsMatching } from "../../shared/accounts/account.ts";
import { readChangePages } from "../../shared/changes/history.ts";
import { mapConcurrently } from "../../shared/core/concurrency.ts";
import { domainById } from "../../shared/domains/find.ts";
import { checkLedger } from "../../shared/ledger/check.ts";
import { readBalance, readEntries } from "../../shared/ledger/ledger.ts";
import { domainList } from "../../shared/mail/mailboxes/plan.ts";
import { type List, type ListState, readRows, readWhole, rowKey } from "../../shared/table/ranked-list.ts";
import { readAgain } from "../../shared/table/read-again.ts";
import type { Table } from "../../shared/table/table.ts";
import { walletOf } from "../../shared/wallet/wallet.ts";

/** A table, and its restored copy. The copy has the state of the table at the time `at`. */
export type Pair = { source: Table; restored: Table; at: Date };

/** The numbers of all accounts, of compared accounts and of compared changes, and the problems in words. */
export type Comparison = { accounts: number; compared: number; changes: number; problems: string[] };

/**
 * The length of the time before `at` in which changes are not compared, in milliseconds. A change is committed some
 * seconds after the time that it contains. So the copy can lack a change whose time is shortly before `at`.
 */
const marginMs = 60_000;
const lookBackMs = 30 * 86_400_000;

/**
 * Compares a restored table with its source, for up to `sample` accounts spread over all accounts. Compares only rows
 * that are never rewritten: the recorded changes of the 30 days before `at`, and the newest 200 entries of the wallet.
 * In the restored table, also checks that the ledgers are balanced, and that the count of each list is the number of
 * its rows. Rejects before the next account if `signal` is aborted.
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
  const restoredSet = new Set(restoredKeys);
  const missing = sourceKeys.filter((key) => !restoredSet.has(key)).length;
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
 * The names of an account's lists, from the keys of their rows. A domain's list of mailboxes may have no key of its
 * own, because its head can be in the row of the domain. So the names of these lists come from the ids of the domains.
 */
async function listNames(table: Table, partition: string): Promise<string[]> {
  const domains = await table.between(partition, "LIST#domains#ROW#", "LIST#domains#ROW#\uffff");
  const names = domains.map(({ id }) => `domain/${String(id)}/mailboxes`);
  for (let from = "LIST#"; ;) {
    const [row] = await table.between(partition, from, "LIST#\uffff", { limit: 1 });
    if (!row) return [...new Set(names)];
    const [, name] = /^LIST#(.+?)#(?:HEAD|HOLES#|ROW#|NAMES#)/.exec(row.SK) ?? [];
    if (name === undefined) throw new Error(`No list has the key ${row.SK}.`);
    names.push(name);
    from = `LIST#${name}#\uffff`;
  }
}

/** The number of lists that are checked at a time. */
const atOnce = 8;

/**
 * Checks all lists of an account, and reads all their rows. Returns a text for each list whose count differs from the
 * number of its rows, or that cannot be read.
 */
export async function checkLists(table: Table, id: string): Promise<string[]> {
  const partition = `ACCOUNT#${id}`;
  const names = await listNames(table, partition);
  const checked = await mapConcurrently(names, atOnce, (name) => isCounted(table, id, { partition, name }));
  return checked.flatMap((result, index) => {
    const list = `the list ${names[index]}`;
    if (result.status === "rejected") {
      const reason = result.reason instanceof Error ? result.reason.message : String(result.reason);
      return [`${list} cannot be read: ${reason}`];
    }
    return result.value ? [] : [`the count of ${list} differs from the number of its rows`];
  });
}

/** The number of ordinals whose rows are read at a time. */
const chunk = 1_000;

/** The state of a list. The head of a domain's list of mailboxes can be in the row of the domain. */
async function stateOf(table: Table, id: string, list: List): Promise<ListState> {
  const [, domainId] = /^domain\/(.+)\/mailboxes$/.exec(list.name) ?? [];
  const domain = domainId === undefined ? undefined : await domainById(table, id, domainId);
  return domain ? domainList(table, domain) : readWhole(table, list);
}

/** Whether the count of a list is the number of its rows. If the list changes meanwhile, reads again. */
const isCounted = (table: Table, id: string, list: List): Promise<boolean> =>
  readAgain(async () => {
    const { next, live, version } = await stateOf(table, id, list);
    let rows = 0;
    // The ordinal `next` is read too: a row that the head does not count would have this ordinal.
    for (let from = 0; from <= next; from += chunk) {
      const [first, last] = [rowKey(list, from), rowKey(list, from + chunk - 1)];
      rows += (await table.between(list.partition, first.SK, last.SK)).length;
    }
    const after = await stateOf(table, id, list);
    return after.version === version ? rows === live : undefined;
  });
