import { addAmounts, availableOf, emptyBalance, postedOf, type Balance } from "./balance.ts";
import {
  type Done,
  type Entry,
  MovementConflict,
  type Operation,
  Overdrawn,
  type StoredMovement,
  requireAmount,
} from "./movement.ts";

/**
 * The data that operations work on: the stored items with the changes of the operations. Versions are those that were
 * read.
 */
export type Book = {
  /** Accounts whose debits, pending ones included, must not exceed their credits. */
  limited: readonly string[];
  at: string;
  /** Called once for each new movement, to get its `reference`. */
  referenceOf: (id: string) => string | undefined;
  balances: Map<string, Balance>;
  movements: Map<string, StoredMovement | undefined>;
  entries: Entry[];
  /** The accounts that changed (`touched`), and the movements that changed (`settled`). */
  touched: Set<string>;
  settled: Set<string>;
};

/** Applies one operation to a book. Throws `Overdrawn` and `MovementConflict`; the book must not be used after that. */
export function perform(book: Book, operation: Operation): Done {
  const entriesBefore = book.entries.length;
  const found = step(book, operation);
  return { kind: operation.kind, ...found, entries: book.entries.slice(entriesBefore) };
}

type FoundMovement = { movement: StoredMovement; existed: boolean };

function step(book: Book, operation: Operation): FoundMovement {
  switch (operation.kind) {
    case "transfer":
    case "hold":
      return beginMovement(book, operation);
    case "capture":
      return capture(book, operation.id, operation.amount);
    case "void":
      return releaseHold(book, operation.id, "voided");
    default:
      return releaseHold(book, operation.id, "expired");
  }
}

function beginMovement(book: Book, operation: Extract<Operation, { kind: "transfer" | "hold" }>): FoundMovement {
  const { id, kind, debit, credit, amount, code } = operation;
  requireAmount(amount);
  requireSides(debit, credit);
  const known = book.movements.get(id);
  if (known) {
    if (!isRepeat(known, operation)) throw new MovementConflict(`The id ${id} belongs to another movement.`);
    return { movement: known, existed: true };
  }
  requireRoom(book, debit, amount);
  const reference = book.referenceOf(id);
  const movement: StoredMovement = {
    id,
    kind,
    debit,
    credit,
    amount,
    code,
    ...(reference === undefined ? {} : { reference }),
    at: book.at,
    ...(kind === "hold" ? { status: "pending" as const, captured: 0 } : {}),
    ...(kind === "hold" && operation.expiresAt !== undefined ? { expires_at: operation.expiresAt } : {}),
    version: 0,
  };
  if (kind === "hold") reserve(book, movement, amount);
  else post(book, movement, amount);
  return settleMovement(book, movement);
}

function requireSides(debit: string, credit: string): void {
  if (debit === credit) throw new RangeError("A movement needs two different accounts.");
  // A # ends the account's name in the keys of its entries.
  if (`${debit}${credit}`.includes("#")) throw new RangeError("The name of an account must not have a #.");
}

/**
 * Whether an operation repeats a known movement. The expiry of a hold is not compared, because a repeat is made at
 * another time.
 */
const isRepeat = (known: StoredMovement, asked: Extract<Operation, { kind: "transfer" | "hold" }>): boolean =>
  (["kind", "debit", "credit", "amount", "code"] as const).every((name) => known[name] === asked[name]);

function capture(book: Book, id: string, asked?: number): FoundMovement {
  const hold = holdOf(book, id);
  const amount = asked ?? hold.amount;
  requireAmount(amount);
  if (amount > hold.amount) throw new RangeError("A capture cannot be larger than the hold.");
  if (hold.status === "captured" && hold.captured === amount) return { movement: hold, existed: true };
  if (hold.status !== "pending") throw new MovementConflict(`The hold ${id} is ${hold.status ?? "gone"}, not pending.`);
  reserve(book, hold, -hold.amount);
  post(book, hold, amount);
  return settleMovement(book, { ...hold, status: "captured", captured: amount, resolved_at: book.at });
}

function releaseHold(book: Book, id: string, status: "voided" | "expired"): FoundMovement {
  const hold = holdOf(book, id);
  if (hold.status === status) return { movement: hold, existed: true };
  if (hold.status !== "pending") throw new MovementConflict(`The hold ${id} is ${hold.status ?? "gone"}, not pending.`);
  if (status === "expired" && (hold.expires_at === undefined || hold.expires_at > book.at)) {
    throw new MovementConflict(`The hold ${id} has not expired.`);
  }
  reserve(book, hold, -hold.amount);
  return settleMovement(book, { ...hold, status, resolved_at: book.at });
}

function holdOf({ movements }: Book, id: string): StoredMovement {
  const hold = movements.get(id);
  if (hold?.kind !== "hold") throw new MovementConflict(`The hold ${id} does not exist.`);
  return hold;
}

const balanceOf = ({ balances }: Book, account: string): Balance => balances.get(account) ?? emptyBalance;

function requireRoom(book: Book, account: string, amount: number): void {
  const available = availableOf(balanceOf(book, account));
  if (book.limited.includes(account) && available < amount) throw new Overdrawn(account, available);
}

function change(book: Book, account: string, by: Parameters<typeof addAmounts>[1]): Balance {
  const next = addAmounts(balanceOf(book, account), by);
  book.balances.set(account, next);
  book.touched.add(account);
  return next;
}

function reserve(book: Book, { debit, credit }: StoredMovement, amount: number): void {
  change(book, debit, { debits_pending: amount });
  change(book, credit, { credits_pending: amount });
}

function post(book: Book, { id, debit, credit, code }: StoredMovement, amount: number): void {
  for (const [account, direction, by] of [
    [debit, "debit", { debits_posted: amount, entries: 1 }],
    [credit, "credit", { credits_posted: amount, entries: 1 }],
  ] as const) {
    const ordinal = balanceOf(book, account).entries;
    const balance_after = postedOf(change(book, account, by));
    book.entries.push({ movement_id: id, account, direction, amount, code, balance_after, at: book.at, ordinal });
  }
}

function settleMovement(book: Book, movement: StoredMovement): FoundMovement {
  book.movements.set(movement.id, movement);
  book.settled.add(movement.id);
  return { movement, existed: false };
}
