import { money } from "../../shared/core/money.ts";
import { Balance, postedOf } from "../../shared/ledger/balance.ts";
import { Entry, StoredMovement } from "../../shared/ledger/movement.ts";
import { StoredTopup } from "../../shared/wallet/topup.ts";
import { StoredTransaction } from "../../shared/wallet/transaction.ts";
import type { Change } from "../support/memory-table.ts";
import { currencyOf, type Scene } from "./billing-scene.ts";
import { mustHold, type Invariant } from "./world.ts";

type Books = {
  accountId: string;
  movements: Map<string, StoredMovement>;
  entries: Map<string, Entry>;
  rows: Map<string, StoredTransaction>;
  /** The effective instant of each listed transaction, by the ordinal of the transaction. */
  places: Map<number, string>;
  topups: Map<string, StoredTopup>;
  listed: number;
  balance: Balance | undefined;
};

const minorOf = (amount: string): number => Number(amount.replace(".", ""));

/**
 * Each movement of a wallet has one transaction. The amounts of the transactions add up to the balance. Every credit of
 * a top-up belongs to a paid checkout, happens once, and has an amount that the provider reported.
 */
export function walletInvariant(scene: Scene, accountId: string): Invariant {
  const books: Books = {
    accountId,
    movements: new Map(),
    entries: new Map(),
    rows: new Map(),
    places: new Map(),
    topups: new Map(),
    listed: 0,
    balance: undefined,
  };
  const check = (changes: readonly Change[]): void => {
    const touched = new Set(
      changes.flatMap((change) => (change.key.PK === `ACCOUNT#${accountId}` ? note(books, change) : [])),
    );
    for (const id of touched) checkMovement(books, id);
    if (touched.size > 0) checkSums(books);
    for (const { checkout_id, status } of books.topups.values()) {
      const isCredited = books.movements.has(`topup/${checkout_id}`);
      mustHold(isCredited === (status === "paid"), () => `${checkout_id} is ${status} and credited: ${isCredited}`);
    }
    for (const id of touched) checkCredit(scene, books.movements.get(id));
  };
  return { name: `the wallet of ${accountId}`, check };
}

/** Notes a change. Returns the ids of the movements that the change concerns. */
function note(books: Books, { key, before, after }: Change): string[] {
  if (key.SK.startsWith("LEDGER#MOVEMENT#")) {
    const movement = StoredMovement.parse(after);
    // The transfer of VAT moves no money of the customer.
    if (movement.id.startsWith("vat/")) return [];
    books.movements.set(movement.id, movement);
    return [movement.id];
  }
  if (key.SK.startsWith("LEDGER#ENTRY#wallet#")) {
    const entry = Entry.parse(after);
    books.entries.set(entry.movement_id, entry);
    return [entry.movement_id];
  }
  if (key.SK.startsWith("LIST#transactions#ROW#")) {
    const row = StoredTransaction.parse(after);
    const old = before && StoredTransaction.parse(before);
    mustHold(!old || old.movement_id === row.movement_id, () => `${key.SK} became another transaction`);
    mustHold(!old || old.effective_at === row.effective_at, () => `${key.SK} was at ${old?.effective_at}, and moved`);
    const currency = currencyOf(books.accountId);
    mustHold(row.currency === currency, () => `${key.SK} is in ${row.currency}, not in ${currency}`);
    notePlace(books, Number(key.SK.slice(-10)), row.effective_at);
    mustHold(!old || old.status === "pending", () => `${key.SK} was ${old?.status} and was changed`);
    if (!old) books.listed += 1;
    books.rows.set(row.movement_id, row);
    return [row.movement_id];
  }
  if (key.SK.startsWith("TOPUP#")) books.topups.set(key.SK, StoredTopup.parse(after));
  if (key.SK === "LEDGER#BALANCE#wallet") books.balance = Balance.parse(after);
  return [];
}

/** Checks that transactions are in the order of their instants. */
function notePlace({ places }: Books, ordinal: number, at: string): void {
  places.set(ordinal, at);
  const [before = "", after = "~"] = [places.get(ordinal - 1), places.get(ordinal + 1)];
  mustHold(before <= at && at <= after, () => `transaction ${ordinal} is of ${at}, between ${before} and ${after}`);
}

const statuses = { pending: "pending", captured: "settled", voided: "void", expired: "void" } as const;

function checkMovement({ movements, rows, entries }: Books, id: string): void {
  const [movement, row, entry] = [movements.get(id), rows.get(id), entries.get(id)];
  mustHold(movement !== undefined && row !== undefined, () => `${id} is a movement or a transaction, and not both`);
  const status = movement.status ? statuses[movement.status] : "settled";
  const amount = movement.status === "captured" ? (movement.captured ?? 0) : movement.amount;
  const direction = movement.debit === "wallet" ? "debit" : "credit";
  const told = [row.status, row.amount, row.direction, row.transaction_id].join();
  const wanted = [status, money(amount), direction, movement.reference].join();
  mustHold(told === wanted, () => `the transaction of ${id} says ${told} and not ${wanted}`);
  if (status !== "settled") return;
  mustHold(
    row.balance_after === money(entry?.balance_after ?? NaN),
    () => `${id}: the balance ${row.balance_after} is not that of its entry`,
  );
}

function checkSums({ rows, balance, listed }: Books): void {
  let [settled, held] = [0, 0];
  for (const { status, direction, amount } of rows.values()) {
    if (status === "settled") settled += minorOf(amount) * (direction === "credit" ? 1 : -1);
    if (status === "pending") held += minorOf(amount);
  }
  mustHold(listed === rows.size, () => `${listed} transactions are listed of ${rows.size} movements`);
  const posted = balance ? postedOf(balance) : 0;
  mustHold(settled === posted, () => `the wallet holds ${posted}, its transactions come to ${settled}`);
  const pending = balance?.debits_pending ?? 0;
  mustHold(held === pending, () => `the wallet has ${pending} held, its transactions ${held}`);
}

function checkCredit({ events }: Scene, movement: StoredMovement | undefined): void {
  if (!movement?.id.startsWith("topup/")) return;
  const amounts = events
    .filter(({ event }) => event.type === "paid" && `topup/${event.checkoutId}` === movement.id)
    .map(({ event }) => event.amount);
  mustHold(amounts.includes(movement.amount), () => `${movement.id}: ${movement.amount} of ${amounts.join()} was paid`);
}
