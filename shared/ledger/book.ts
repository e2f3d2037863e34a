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
 * The balances and movements of a ledger as they were read, with the changes by operations. Operations leave the
 * versions as they were read, because the writes compare these versions with the stored versions.
 */
export type Book = {
  /** Accounts whose debits must not exceed their credits. Pending debits count too. */
  limited: readonly string[];
  /** The time of the operations. */
  at: string;
  /** Returns the `reference` of a new movement. Called once for each new movement. */
  referenceOf: (id: string) => string | undefined;
  balances: Map<string, Balance>;
  movements: Map<string, StoredMovement | undefined>;
  entries: Entry[];
  changedAccounts: Set<string>;
  /** The ids of the changed movements. */
  changedMovements: Set<string>;
};

/**
 * Applies one operation to a book. Throws `Overdrawn` and `MovementConflict`, and a RangeError for an invalid amount or
 * account. The book must not be used after an error.
 */
export function applyOperation(book: Book, operation: Operation): Done {
  const entriesBefore = book.entries.length;
  const result = applyByKind(book, operation);
  return { kind: operation.kind, ...result, entries: book.entries.slice(entriesBefore) };
}

/** A movement after an operation. `existed` tells whether the operation was done before, and so changed nothing. */
type MovementResult = { movement: StoredMovement; existed: boolean };

function applyByKind(book: Book, operation: Operation): MovementResult {
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

function beginMovement(book: Book, operation: Extract<Operation, { kind: "transfer" | "hold" }>): MovementResult {
  const { id, kind, debit, credit, amount, code } = operation;
  requireAmount(amount);
  requireSides(debit, credit);
  const existing = book.movements.get(id);
  if (existing) {
    if (!isRepeat(existing, operation)) throw new MovementConflict(`The id ${id} belongs to another movement.`);
    return { movement: existing, existed: true };
  }
  requireAvailable(book, debit, amount);
  const reference = book.referenceOf(id);
  const movement: StoredMovement = {
    id,
    kind,
    debit,
    credit,
    amount,
    code,
    ...(kind === "hold" && operation.tax !== undefined ? { tax: operation.tax } : {}),
    ...(reference === undefined ? {} : { reference }),
    at: book.at,
    ...(kind === "hold" ? { status: "pending" as const, captured: 0 } : {}),
    ...(kind === "hold" && operation.expiresAt !== undefined ? { expires_at: operation.expiresAt } : {}),
    version: 0,
  };
  if (kind === "hold") reserve(book, movement, amount);
  else post(book, movement, amount);
  return putMovement(book, movement);
}

function requireSides(debit: string, credit: string): void {
  if (debit === credit) throw new RangeError("A movement needs two different accounts.");
  // In the key of an entry, # separates the name of the account from the ordinal.
  if (`${debit}${credit}`.includes("#")) throw new RangeError("The name of an account must not contain #.");
}

/**
 * Whether an operation repeats the movement. The expiry of a hold is not compared, because a repeat at a later time has
 * another expiry. The tax of a hold is not compared either.
 */
const isRepeat = (movement: StoredMovement, operation: Extract<Operation, { kind: "transfer" | "hold" }>): boolean =>
  (["kind", "debit", "credit", "amount", "code"] as const).every((name) => movement[name] === operation[name]);

function capture(book: Book, id: string, requestedAmount?: number): MovementResult {
  const hold = holdOf(book, id);
  const amount = requestedAmount ?? hold.amount;
  requireAmount(amount);
  if (amount > hold.amount) throw new RangeError("A capture cannot be larger than the hold.");
  if (hold.status === "captured" && hold.captured === amount) return { movement: hold, existed: true };
  if (hold.status !== "pending") throw new MovementConflict(`The hold ${id} is ${hold.status ?? "gone"}, not pending.`);
  reserve(book, hold, -hold.amount);
  post(book, hold, amount);
  return putMovement(book, { ...hold, status: "captured", captured: amount, resolved_at: book.at });
}

function releaseHold(book: Book, id: string, status: "voided" | "expired"): MovementResult {
  const hold = holdOf(book, id);
  if (hold.status === status) return { movement: hold, existed: true };
  if (hold.status !== "pending") throw new MovementConflict(`The hold ${id} is ${hold.status ?? "gone"}, not pending.`);
  if (status === "expired" && (hold.expires_at === undefined || hold.expires_at > book.at)) {
    throw new MovementConflict(`The hold ${id} has not expired.`);
  }
  reserve(book, hold, -hold.amount);
  return putMovement(book, { ...hold, status, resolved_at: book.at });
}

function holdOf({ movements }: Book, id: string): StoredMovement {
  const hold = movements.get(id);
  if (hold?.kind !== "hold") throw new MovementConflict(`The hold ${id} does not exist.`);
  return hold;
}

const balanceOf = ({ balances }: Book, account: string): Balance => balances.get(account) ?? emptyBalance;

function requireAvailable(book: Book, account: string, amount: number): void {
  const available = availableOf(balanceOf(book, account));
  if (book.limited.includes(account) && available < amount) throw new Overdrawn(account, available, amount);
}

function changeBalance(book: Book, account: string, amounts: Parameters<typeof addAmounts>[1]): Balance {
  const next = addAmounts(balanceOf(book, account), amounts);
  book.balances.set(account, next);
  book.changedAccounts.add(account);
  return next;
}

/** Reserves an amount in both accounts of a hold. A negative amount ends the reservation. */
function reserve(book: Book, { debit, credit }: StoredMovement, amount: number): void {
  changeBalance(book, debit, { debits_pending: amount });
  changeBalance(book, credit, { credits_pending: amount });
}

/** Adds an entry with this amount to both accounts of a movement. */
function post(book: Book, { id, debit, credit, code }: StoredMovement, amount: number): void {
  for (const [account, direction, amounts] of [
    [debit, "debit", { debits_posted: amount, entries: 1 }],
    [credit, "credit", { credits_posted: amount, entries: 1 }],
  ] as const) {
    const ordinal = balanceOf(book, account).entries;
    const balance_after = postedOf(changeBalance(book, account, amounts));
    book.entries.push({ movement_id: id, account, direction, amount, code, balance_after, at: book.at, ordinal });
  }
}

/** Puts a new or changed movement into the book. */
function putMovement(book: Book, movement: StoredMovement): MovementResult {
  book.movements.set(movement.id, movement);
  book.changedMovements.add(movement.id);
  return { movement, existed: false };
}
