import { Balance, availableOf, emptyBalance } from "../../shared/ledger/balance.ts";
import type { Ledger } from "../../shared/ledger/ledger.ts";
import { Entry, StoredMovement } from "../../shared/ledger/movement.ts";
import type { Item } from "../../shared/table/writes.ts";
import type { Change } from "../support/memory-table.ts";
import { mustHold, type Invariant } from "./world.ts";

/** The sums of an account, counted from its entries and its open holds. */
type Counted = { debits: number; credits: number; debitsHeld: number; creditsHeld: number; entries: number };
type Sides = { debit?: Entry; credit?: Entry };

type Books = {
  ledger: Ledger;
  accounts: Map<string, Counted>;
  balances: Map<string, Balance>;
  movements: Map<string, StoredMovement>;
  entries: Map<string, Sides>;
};

/**
 * The rules of a ledger:
 * - Entries never change, and are numbered without gaps.
 * - A movement has at most one entry on each side, of the same amount.
 * - A stored balance is the sum of its entries and open holds.
 * - All debits together are equal to all credits.
 * - No limited account is overdrawn.
 * - A hold is resolved at most once.
 */
export function ledgerInvariant(ledger: Ledger): Invariant {
  const books: Books = {
    ledger,
    accounts: new Map(),
    balances: new Map(),
    movements: new Map(),
    entries: new Map(),
  };
  return { name: `the books of ${ledger.partition}`, check: (changes) => checkCommit(books, changes) };
}

function checkCommit(books: Books, changes: readonly Change[]): void {
  const touched = new Set<string>();
  const moved = new Set<string>();
  // A commit lists its keys by kind: balances, entries, movements. So their agreement is checked after the loop.
  for (const { key, before, after } of changes) {
    if (key.PK !== books.ledger.partition) continue;
    const [family, kind, name = ""] = key.SK.split("#");
    if (family !== "LEDGER") continue;
    mustHold(after !== undefined, () => `${key.SK} was deleted`);
    if (kind === "BALANCE") books.balances.set(name, Balance.parse(after));
    else if (kind === "ENTRY") moved.add(post(books, key.SK, before, Entry.parse(after)));
    else moved.add(settle(books, StoredMovement.parse(after)));
    if (kind === "BALANCE") touched.add(name);
  }
  for (const id of moved) {
    const movement = books.movements.get(id);
    mustHold(movement !== undefined, () => `the entries of ${id} have no movement`);
    checkMovement(movement, books.entries.get(id) ?? {});
    touched.add(movement.debit).add(movement.credit);
  }
  for (const account of touched) checkAccount(books, account);
  checkEqual(books);
}

const countedOf = ({ accounts }: Books, account: string): Counted => {
  const counted = accounts.get(account) ?? { debits: 0, credits: 0, debitsHeld: 0, creditsHeld: 0, entries: 0 };
  accounts.set(account, counted);
  return counted;
};

function post(books: Books, place: string, before: Item | undefined, entry: Entry): string {
  const { account, movement_id, direction, amount, ordinal, balance_after } = entry;
  mustHold(before === undefined, () => `${place} was changed`);
  const sides = books.entries.get(movement_id) ?? {};
  mustHold(sides[direction] === undefined, () => `${movement_id} moved twice`);
  books.entries.set(movement_id, { ...sides, [direction]: entry });
  const counted = countedOf(books, account);
  mustHold(ordinal === counted.entries, () => `${place} is entry ${counted.entries} of ${account}`);
  counted.entries += 1;
  counted[direction === "debit" ? "debits" : "credits"] += amount;
  const sum = counted.credits - counted.debits;
  mustHold(balance_after === sum, () => `${place} says ${balance_after} where the entries add up to ${sum}`);
  return movement_id;
}

const heldBy = (movement: StoredMovement | undefined): number => (movement?.status === "pending" ? movement.amount : 0);

/** The members of a movement that change when a hold is resolved. The other members never change. */
const changing = new Set<string>(["version", "resolved_at", "status", "captured"]);
const constantNames = (Object.keys(StoredMovement.shape) as (keyof StoredMovement)[]).filter(
  (name) => !changing.has(name),
);

function settle(books: Books, movement: StoredMovement): string {
  const { id, debit, credit } = movement;
  const known = books.movements.get(id);
  if (known) {
    mustHold(known.status === "pending", () => `${id} was ${known.status ?? "done"} and became ${movement.status}`);
    mustHold(movement.status !== "pending", () => `${id} began twice`);
    const changed = constantNames.find((name) => known[name] !== movement[name]);
    mustHold(changed === undefined, () => `the ${changed} of ${id} was changed`);
  }
  const change = heldBy(movement) - heldBy(known);
  countedOf(books, debit).debitsHeld += change;
  countedOf(books, credit).creditsHeld += change;
  books.movements.set(id, movement);
  return id;
}

function checkMovement(movement: StoredMovement, sides: Sides): void {
  const { id, kind, debit, credit, amount, status, captured, expires_at = "never", resolved_at = "" } = movement;
  mustHold(status !== "expired" || expires_at <= resolved_at, () => `${id} expired before ${expires_at}`);
  const ofHold = status === "captured" ? (captured ?? 0) : 0;
  const posted = kind === "transfer" ? amount : ofHold;
  mustHold(posted <= amount, () => `${id} captured more than it held`);
  const found = [sides.debit?.account, sides.debit?.amount, sides.credit?.account, sides.credit?.amount].join();
  const wanted = (posted === 0 ? [undefined, undefined, undefined, undefined] : [debit, posted, credit, posted]).join();
  mustHold(found === wanted, () => `${id} has the entries ${found} instead of ${wanted}`);
}

function checkAccount(books: Books, account: string): void {
  const counted = countedOf(books, account);
  const balance = books.balances.get(account) ?? emptyBalance;
  const stored: Counted = {
    debits: balance.debits_posted,
    credits: balance.credits_posted,
    debitsHeld: balance.debits_pending,
    creditsHeld: balance.credits_pending,
    entries: balance.entries,
  };
  const differs = (Object.keys(counted) as (keyof Counted)[]).find((name) => counted[name] !== stored[name]);
  mustHold(
    differs === undefined,
    () => `${account} stores ${differs} ${stored[differs ?? "debits"]}, counted ${counted[differs ?? "debits"]}`,
  );
  const available = availableOf(balance);
  const isCovered = available >= 0 || !books.ledger.limited.includes(account);
  mustHold(isCovered, () => `${account} is overdrawn: ${available}`);
}

function checkEqual({ balances }: Books): void {
  let difference = 0;
  let held = 0;
  for (const { debits_posted, credits_posted, debits_pending, credits_pending } of balances.values()) {
    difference += debits_posted - credits_posted;
    held += debits_pending - credits_pending;
  }
  mustHold(difference === 0 && held === 0, () => `debits and credits differ by ${difference}, held ones by ${held}`);
}
