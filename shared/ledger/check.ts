import * as z from "zod";

import type { Reader } from "../table/table.ts";
import { availableOf, Balance, postedOf } from "./balance.ts";
import { balanceKey, movementKey, readEntries, type Ledger } from "./ledger.ts";
import { StoredMovement, type Entry } from "./movement.ts";

/**
 * The result of checking a ledger. The result is `unsettled`, and lists no problems, if three checks found problems but
 * the ledger changed during each of them.
 */
export type LedgerCheck = { problems: string[]; unsettled: boolean };

type Balances = Map<string, Balance>;

const maxReads = 3;

/**
 * Checks a ledger:
 * - debits are equal to credits, posted and pending;
 * - no limited account is overdrawn;
 * - the newest `entries` of each account are numbered without gaps and add up to the account's balance;
 * - each of these entries is one side of a movement with the entry's amount.
 *
 * A balance that cannot be read is reported at once. Other problems are reported only if no balance changed during the
 * check. Every movement changes two balances. So if no balance changed, no movement was made during the check.
 */
export async function checkLedger(table: Reader, ledger: Ledger, { entries = 20 } = {}): Promise<LedgerCheck> {
  for (let reads = 0; reads < maxReads; reads++) {
    const before = await readBalances(table, ledger);
    if ("problem" in before) return { problems: [before.problem], unsettled: false };
    const problems = await problemsOf(table, ledger, before, entries);
    if (problems.length === 0) return { problems, unsettled: false };
    const after = await readBalances(table, ledger);
    if (!("problem" in after) && versionsOf(after) === versionsOf(before)) return { problems, unsettled: false };
  }
  return { problems: [], unsettled: true };
}

async function readBalances(table: Reader, ledger: Ledger): Promise<Balances | { problem: string }> {
  const { SK: prefix } = balanceKey(ledger, "");
  const items = await table.between(ledger.partition, prefix, `${prefix}\uffff`);
  const result = z.array(Balance).safeParse(items);
  if (!result.success) return { problem: `a balance cannot be read: ${z.prettifyError(result.error)}` };
  return new Map(items.map(({ SK }, index) => [SK.slice(prefix.length), result.data[index] as Balance]));
}

const versionsOf = (balances: Balances): string =>
  JSON.stringify([...balances].map(([account, { version }]) => [account, version]));

async function problemsOf(table: Reader, ledger: Ledger, balances: Balances, entryCount: number): Promise<string[]> {
  const newest = await Promise.all(
    [...balances].map(async ([account, balance]) => {
      const from = Math.max(0, balance.entries - entryCount);
      const entries = await readEntries(table, ledger, account, from, balance.entries - 1).catch(undefinedIfUnreadable);
      return { account, balance, from, entries };
    }),
  );
  const allEntries = newest.flatMap(({ entries = [] }) => entries);
  const movements = await readMovements(table, ledger, allEntries);
  return [
    ...equalityProblems(balances),
    ...ledger.limited.flatMap((account) => overdraftProblems(account, balances.get(account))),
    ...newest.flatMap(({ account, balance, from, entries }) => entryProblems(account, balance, from, entries)),
    ...allEntries.flatMap((entry) => movementProblems(entry, movements.get(entry.movement_id))),
  ];
}

/**
 * Returns undefined for the error of an entry that cannot be parsed. Throws any other error, because a failure of the
 * table is no problem of the ledger.
 */
function undefinedIfUnreadable(error: unknown): undefined {
  if (!(error instanceof z.ZodError)) throw error;
}

async function readMovements(table: Reader, ledger: Ledger, entries: readonly Entry[]) {
  const ids = [...new Set(entries.map(({ movement_id }) => movement_id))];
  const items = await table.getMany(ids.map((id) => movementKey(ledger, id)));
  return new Map(ids.map((id, index) => [id, StoredMovement.safeParse(items[index]).data]));
}

function equalityProblems(balances: Balances): string[] {
  const all = [...balances.values()];
  const posted = all.reduce((sum, balance) => sum + postedOf(balance), 0);
  const pending = all.reduce((sum, { credits_pending, debits_pending }) => sum + credits_pending - debits_pending, 0);
  return [
    ...(posted === 0 ? [] : [`credits exceed debits by ${posted}`]),
    ...(pending === 0 ? [] : [`pending credits exceed pending debits by ${pending}`]),
  ];
}

const overdraftProblems = (account: string, balance: Balance | undefined): string[] =>
  balance === undefined || availableOf(balance) >= 0 ? [] : [`${account} is overdrawn: ${availableOf(balance)}`];

const signed = ({ direction, amount }: Entry): number => (direction === "credit" ? amount : -amount);

function entryProblems(account: string, balance: Balance, from: number, entries: Entry[] | undefined): string[] {
  if (entries === undefined) return [`entries of ${account} cannot be read`];
  const isDense = entries.every(({ ordinal }, index) => ordinal === from + index);
  if (!isDense || entries.length !== balance.entries - from) return [`entries of ${account} are missing`];
  const first = entries[0];
  if (first === undefined) return postedOf(balance) === 0 ? [] : [`${account} has a balance and no entries`];
  // The balance before the first of these entries.
  let sum = from === 0 ? 0 : first.balance_after - signed(first);
  for (const entry of entries) {
    sum += signed(entry);
    if (sum !== entry.balance_after)
      return [`entry ${entry.ordinal} of ${account} has the balance ${entry.balance_after}, not ${sum}`];
  }
  return sum === postedOf(balance) ? [] : [`${account} has ${postedOf(balance)}, but its entries add up to ${sum}`];
}

/** The amount of a movement's entries; 0 for a hold that was not captured. */
function postedAmount({ kind, status, amount, captured }: StoredMovement): number | undefined {
  if (kind === "transfer") return amount;
  return status === "captured" ? captured : 0;
}

function movementProblems(entry: Entry, movement: StoredMovement | undefined): string[] {
  const { movement_id: id, account, direction, amount } = entry;
  if (movement === undefined) return [`the entries of ${id} have no movement`];
  if (movement[direction] === account && postedAmount(movement) === amount) return [];
  return [`the ${direction} of ${amount} in ${account} differs from the movement ${id}`];
}
