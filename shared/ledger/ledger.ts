import { Problem } from "../core/errors.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import { Balance, emptyBalance } from "./balance.ts";
import { applyOperation, type Book } from "./book.ts";
import { Entry, Overdrawn, StoredMovement, type Done, type Operation } from "./movement.ts";

/*
 * A double-entry ledger in one partition and one currency. Every movement debits one account and credits another
 * account by the same amount. So the sum of all debits is always equal to the sum of all credits.
 *
 * Access patterns
 *   the balance of an account                <partition> / LEDGER#BALANCE#<account>
 *   a movement by the id from its caller     <partition> / LEDGER#MOVEMENT#<id>
 *   the entries of an account, by ordinal    <partition> / LEDGER#ENTRY#<account>#<ordinal>
 */
export type Ledger = {
  partition: string;
  /** Accounts whose debits must not exceed their credits. Pending debits count too. */
  limited: readonly string[];
};

/** The key of the balance of an account. */
export const balanceKey = ({ partition }: Ledger, account: string): Key => ({
  PK: partition,
  SK: `LEDGER#BALANCE#${account}`,
});
/** The key of a movement. */
export const movementKey = ({ partition }: Ledger, id: string): Key => ({
  PK: partition,
  SK: `LEDGER#MOVEMENT#${id}`,
});
const entryKey = ({ partition }: Ledger, account: string, ordinal: number): Key => ({
  PK: partition,
  SK: `LEDGER#ENTRY#${account}#${String(ordinal).padStart(10, "0")}`,
});

/**
 * Plans operations in their order, all or none of them. Returns the writes, the result of each operation, and the new
 * balances. The transaction of the writes fails if an item has changed since it was read. Throws:
 * - `Overdrawn` if a limited account does not have the amount;
 * - 503 `busy` if the balances change too often to be read;
 * - `MovementConflict` if an id was used for another movement;
 * - `MovementConflict` if a hold does not exist, or was resolved in another way;
 * - `MovementConflict` if an `expire` is for a hold that has not expired;
 * - a RangeError if an amount or the name of an account is invalid, or if a capture is larger than its hold.
 */
export async function planOperations(
  table: Reader,
  ledger: Ledger,
  operations: readonly Operation[],
  now: Date,
  referenceOf: Book["referenceOf"] = () => undefined,
): Promise<{ done: Done[]; writes: Write[]; balances: ReadonlyMap<string, Balance> }> {
  const items = await readForOperations(table, ledger, operations, now);
  const book = { ...newBook(items), referenceOf };
  const done = operations.map((operation) => applyOperation(book, operation));
  return { done, writes: writesOf(ledger, book), balances: book.balances };
}

type ReadItems = Pick<Book, "limited" | "at" | "balances" | "movements">;

const newBook = ({ balances, movements, ...items }: ReadItems): Book => ({
  ...items,
  referenceOf: () => undefined,
  balances: new Map(balances),
  movements: new Map(movements),
  entries: [],
  changedAccounts: new Set(),
  changedMovements: new Set(),
});

const maxReads = 10;

/**
 * Reads the items that the operations need. Throws `Overdrawn` only if two reads in a row have the same versions. The
 * reason is that one read is not a snapshot. Another process may make the same movement after the movement is read, and
 * before the balance is read. Then the movement seems to be new, but the balance that was read is already smaller by
 * the movement's amount, and seems to be too small. A refusal writes nothing, so no condition of a write would detect
 * this mistake.
 */
async function readForOperations(
  table: Reader,
  ledger: Ledger,
  operations: readonly Operation[],
  now: Date,
): Promise<ReadItems> {
  let items = await readItems(table, ledger, operations, now);
  for (let reads = 1; reads < maxReads; reads++) {
    const overdraft = overdraftOf(items, operations);
    if (!overdraft) return items;
    const newer = await readItems(table, ledger, operations, now);
    if (versionsOf(newer) === versionsOf(items)) throw overdraft;
    items = newer;
  }
  throw new Problem("busy", "The balance changes too fast to read. Try again.", { retry_after: 1 });
}

function overdraftOf(items: ReadItems, operations: readonly Operation[]): Overdrawn | undefined {
  const book = newBook(items);
  try {
    for (const operation of operations) applyOperation(book, operation);
    return undefined;
  } catch (error) {
    if (error instanceof Overdrawn) return error;
    throw error;
  }
}

/** The versions of all items that were read. Versions only increase, so equal versions mean equal contents. */
const versionsOf = ({ movements, balances }: ReadItems): string =>
  JSON.stringify([movements, balances].map((all) => [...all].map(([name, item]) => [name, item?.version ?? 0])));

/** Reads the movements of operations, and the balances of the accounts in the operations and in these movements. */
async function readItems(
  table: Reader,
  ledger: Ledger,
  operations: readonly Operation[],
  now: Date,
): Promise<ReadItems> {
  const ids = [...new Set(operations.map(({ id }) => id))];
  const [items, ofOperations] = await Promise.all([
    table.getMany(ids.map((id) => movementKey(ledger, id))),
    readBalances(table, ledger, sidesOf(operations)),
  ]);
  const movements = items.map((item) => (item ? StoredMovement.parse(item) : undefined));
  const others = sidesOf(movements).filter((account) => !ofOperations.has(account));
  const ofMovements = others.length > 0 ? await readBalances(table, ledger, others) : [];
  return {
    limited: ledger.limited,
    at: now.toISOString(),
    movements: new Map(ids.map((id, index) => [id, movements[index]])),
    balances: new Map([...ofOperations, ...ofMovements]),
  };
}

/** The accounts that operations or movements name. */
const sidesOf = (all: readonly (object | undefined)[]): string[] => [
  ...new Set(
    all.flatMap((item) =>
      item && "debit" in item && "credit" in item ? [String(item.debit), String(item.credit)] : [],
    ),
  ),
];

/** Reads the balances of accounts. An account without a stored balance has the empty balance. */
async function readBalances(table: Reader, ledger: Ledger, accounts: readonly string[]): Promise<Map<string, Balance>> {
  const items = await table.getMany(accounts.map((account) => balanceKey(ledger, account)));
  return new Map(
    accounts.map((account, index) => [account, items[index] ? Balance.parse(items[index]) : emptyBalance]),
  );
}

/** The condition that an item still has the version that was read. */
const hasVersion = (version: number): NonNullable<Write["if"]> => (version === 0 ? "absent" : { version });

/**
 * The writes of the changed items. An operation that was done before needs no condition, because it is never undone.
 */
function writesOf(ledger: Ledger, { balances, movements, entries, changedAccounts, changedMovements }: Book): Write[] {
  return [
    ...[...changedAccounts].flatMap((account): Write[] => {
      const { version, ...balance } = balances.get(account) ?? emptyBalance;
      return [{ put: { ...balanceKey(ledger, account), ...balance, version: version + 1 }, if: hasVersion(version) }];
    }),
    ...[...changedMovements]
      .flatMap((id) => movements.get(id) ?? [])
      .map(({ version, ...movement }): Write => ({
        put: { ...movementKey(ledger, movement.id), ...movement, version: version + 1 },
        if: hasVersion(version),
      })),
    ...entries.map((entry): Write => ({
      put: { ...entryKey(ledger, entry.account, entry.ordinal), ...entry },
      if: "absent",
    })),
  ];
}

/** Reads the balance of an account; the empty balance if none is stored. */
export async function readBalance(table: Reader, ledger: Ledger, account: string): Promise<Balance> {
  return (await table.get(balanceKey(ledger, account), Balance)) ?? emptyBalance;
}

/** Reads the entries of an account from one ordinal to another, both included, oldest first. */
export async function readEntries(
  table: Reader,
  ledger: Ledger,
  account: string,
  from: number,
  to: number,
): Promise<Entry[]> {
  if (to < from) return [];
  const [first, last] = [entryKey(ledger, account, from), entryKey(ledger, account, to)];
  return (await table.between(ledger.partition, first.SK, last.SK)).map((item) => Entry.parse(item));
}
