import { randomUUID } from "node:crypto";

import type { Balance } from "../../../shared/ledger/balance.ts";
import { planOperations, readBalance, readEntries, type Ledger } from "../../../shared/ledger/ledger.ts";
import type { Done, Entry, Operation } from "../../../shared/ledger/movement.ts";
import type { Table } from "../../../shared/table/table.ts";

/** A ledger in which `wallet` must not be overdrawn. */
export const newLedger = (): Ledger => ({ partition: `TEST#${randomUUID()}`, limited: ["wallet"] });

/** Does all of the operations or none. */
export const operate = (
  table: Table,
  ledger: Ledger,
  operations: readonly Operation[],
  now: Date = new Date(),
): Promise<Done[]> =>
  table.commit(async () => {
    const { done, writes } = await planOperations(table, ledger, operations, now);
    return { value: done, writes };
  });

type Transfer = Extract<Operation, { kind: "transfer" }>;
type Hold = Extract<Operation, { kind: "hold" }>;

export const topUp = (id: string, amount: number): Transfer => ({
  kind: "transfer",
  id,
  debit: "outside",
  credit: "wallet",
  amount,
  code: "top_up",
});

export const spend = (id: string, amount: number): Transfer => ({
  kind: "transfer",
  id,
  debit: "wallet",
  credit: "revenue",
  amount,
  code: "spend",
});

export const hold = (id: string, amount: number, expiresAt?: Date): Hold => ({
  ...spend(id, amount),
  kind: "hold",
  ...(expiresAt ? { expiresAt: expiresAt.toISOString() } : {}),
});

/** The balances and the entries of some accounts of a ledger. */
export async function booksOf(
  table: Table,
  ledger: Ledger,
  accounts: readonly string[] = ["wallet", "revenue", "outside"],
): Promise<Record<string, { balance: Balance; entries: Entry[] }>> {
  const books = accounts.map(async (account) => {
    const balance = await readBalance(table, ledger, account);
    return [account, { balance, entries: await readEntries(table, ledger, account, 0, balance.entries - 1) }] as const;
  });
  return Object.fromEntries(await Promise.all(books));
}
