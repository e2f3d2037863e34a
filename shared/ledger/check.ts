import * as z from "zod";

import type { Reader } from "../table/table.ts";
import { availableOf, Balance, postedOf } from "./balance.ts";
import { balanceKey, movementKey, readEntries, type Ledger } from "./ledger.ts";
import { StoredMovement, type Entry } from "./movement.ts";

/** The result of checking a ledger. It is `unsettled` if the ledger kept changing during the check. */
export type Checked = { problems: string[]; unsettled: boolean };

type Balances = Map<string, Balance>;

const maxReads = 3;

/**
 * Checks a ledger:
 * - debits are equal to credits, posted and pending;
 * - no limited account is overdrawn;
 * - the newest `entries` of each account are numbered without gaps, add up to its balance, and are each one side of a
 *   movement of that amount.
 *
 * A problem is reported only if no balance changed during the check. This shows every movement, because each changes
 * two balances.
 */
export async function checkLedger(table: Reader, ledger: Ledger, { entries = 20 } = {}): Promise<Checked> {
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

async function problemsOf(table: Reader, ledger: Ledger, balances: Balances, window: number): Promise<string[]> {
  const newest = await Promise.all(
    [...balances].map(async ([account, balance]) => {
      const from = Math.max(0, balance.entries - window);
      const found = await readEntries(table, ledger, account, from, balance.entries - 1).catch(unreadable);
      return { account, balance, from, found };
    }),
  );
  const all = newest.flatMap(({ found = [] }) => found);
  const movements = await readMovements(table, ledger, all);
  return [
    ...equalityProblems(balances),
    ...ledger.limited.flatMap((account) => coverProblems(account, balances.get(account))),
    ...newest.flatMap(({ account, balance, from, found }) => entryProblems(account, balance, from, found)),
    ...all.flatMap((entry) => movementProblems(entry, movements.get(entry.movement_id))),
  ];
}

/**
 * Turns an entry that cannot be parsed into undefined. Any other error is thrown, because a failure of the table says
 * nothing about the books.
 */
function unreadable(error: unknown): undefined {
  if (!(error instanceof z.ZodError)) throw error;
}

async function readMovements(table: Reader, ledger: Ledger, entries: readonly Entry[]) {
  const ids = [...new Set(entries.map(({ movement_id }) => movement_id))];
  const items = await table.getMany(ids.map((id) => movementKey(ledger, id)));
  return new Map(ids.map((id, index) => [id, StoredMovement.safeParse(items[index]).data]));
}

function equalityProblems(balances: Balances): string[] {
  const all = [...balances.values()];
  const posted = all.reduce((sum, one) => sum + postedOf(one), 0);
  const pending = all.reduce((sum, one) => sum + one.credits_pending - one.debits_pending, 0);
  return [
    ...(posted === 0 ? [] : [`credits exceed debits by ${posted}`]),
    ...(pending === 0 ? [] : [`pending credits exceed pending debits by ${pending}`]),
  ];
}

const coverProblems = (account: string, balance: Balance | undefined): string[] =>
  balance === undefined || availableOf(balance) >= 0 ? [] : [`${account} is overdrawn: ${availableOf(balance)}`];

const signed = ({ direction, amount }: Entry): number => (direction === "credit" ? amount : -amount);

function entryProblems(account: string, balance: Balance, from: number, found: Entry[] | undefined): string[] {
  if (found === undefined) return [`entries of ${account} cannot be read`];
  const isDense = found.every(({ ordinal }, index) => ordinal === from + index);
  if (!isDense || found.length !== balance.entries - from) return [`entries of ${account} are missing`];
  const first = found[0];
  if (first === undefined) return postedOf(balance) === 0 ? [] : [`${account} has a balance and no entries`];
  let sum = from === 0 ? 0 : first.balance_after - signed(first);
  const broken = found.find((entry) => (sum += signed(entry)) !== entry.balance_after);
  if (broken) return [`entry ${broken.ordinal} of ${account} has the balance ${broken.balance_after}, not ${sum}`];
  return sum === postedOf(balance) ? [] : [`${account} has ${postedOf(balance)}, but its entries add up to ${sum}`];
}

function movementProblems(entry: Entry, movement: StoredMovement | undefined): string[] {
  const { movement_id: id, account, direction, amount } = entry;
  if (movement === undefined) return [`the entries of ${id} have no movement`];
  const posted =
    movement.kind === "transfer" ? movement.amount : movement.status === "captured" ? movement.captured : 0;
  if (movement[direction] === account && posted === amount) return [];
  return [`the ${direction} of ${amount} in ${account} is not what ${id} moved`];
}
