import { Problem } from "../core/errors.ts";
import type { Reader } from "../table/table.ts";
import type { Key, Write } from "../table/writes.ts";
import { Balance, emptyBalance } from "./balance.ts";
import { perform, type Book } from "./book.ts";
import { Entry, Overdrawn, StoredMovement, type Done, type Operation } from "./movement.ts";

/*
 * A double-entry ledger in one partition and one currency: every movement debits one account and credits
 * another by the same amount, so that debits and credits are equal overall at every moment.
 *
 * Access patterns
 *   the balance of an account                <partition> / LEDGER#BALANCE#<account>
 *   a movement by the id from its caller     <partition> / LEDGER#MOVEMENT#<id>
 *   the entries of an account, by ordinal    <partition> / LEDGER#ENTRY#<account>#<ordinal>
 */
export type Ledger = {
  partition: string;
  /** Accounts whose debits, pending ones included, must not exceed their credits. */
  limited: readonly string[];
};

export const balanceKey = ({ partition }: Ledger, account: string): Key => ({
  PK: partition,
  SK: `LEDGER#BALANCE#${account}`,
});
export const movementKey = ({ partition }: Ledger, id: string): Key => ({
  PK: partition,
  SK: `LEDGER#MOVEMENT#${id}`,
});
const entryKey = ({ partition }: Ledger, account: string, ordinal: number): Key => ({
  PK: partition,
  SK: `LEDGER#ENTRY#${account}#${String(ordinal).padStart(10, "0")}`,
});

/**
 * Plans operations, all or none of them, in their order, for one transaction with other writes. Returns the writes and
 * the result of each operation. The transaction fails if another process changed one of the same items since they were
 * read. Throws:
 * - `Overdrawn` if, at some moment during the call, the amount was not covered;
 * - 503 `busy` if the balances changed too often to tell;
 * - `MovementConflict` if an id was used for another movement, or if a hold does not exist, was already resolved in
 *   another way, or has not expired.
 */
export async function planOperations(
  table: Reader,
  ledger: Ledger,
  operations: readonly Operation[],
  now: Date,
  referenceOf: Book["referenceOf"] = () => undefined,
): Promise<{ done: Done[]; writes: Write[]; balances: ReadonlyMap<string, Balance> }> {
  const seen = await readForOperations(table, ledger, operations, now);
  const book = { ...newBook(seen), referenceOf };
  const done = operations.map((operation) => perform(book, operation));
  return { done, writes: writesOf(ledger, book), balances: book.balances };
}

type ReadItems = Pick<Book, "limited" | "at" | "balances" | "movements">;

const newBook = ({ balances, movements, ...seen }: ReadItems): Book => ({
  ...seen,
  referenceOf: () => undefined,
  balances: new Map(balances),
  movements: new Map(movements),
  entries: [],
  touched: new Set(),
  settled: new Set(),
});

const maxReads = 10;

/**
 * Reads the items that the operations need. A refusal writes nothing, so no condition notices that it was based on an
 * old read. Movements are read before balances. In between, another process may have made the same movement, and the
 * balance then lacks its amount. So an operation is refused only if two reads see the same versions.
 */
async function readForOperations(
  table: Reader,
  ledger: Ledger,
  operations: readonly Operation[],
  now: Date,
): Promise<ReadItems> {
  let seen = await readBook(table, ledger, operations, now);
  for (let reads = 1; reads < maxReads; reads++) {
    const overdraft = overdraftOf(seen, operations);
    if (!overdraft) return seen;
    const again = await readBook(table, ledger, operations, now);
    if (versionsOf(again) === versionsOf(seen)) throw overdraft;
    seen = again;
  }
  throw new Problem("busy", "The balance changes too fast to read. Try again.", { retry_after: 1 });
}

function overdraftOf(seen: ReadItems, operations: readonly Operation[]): Overdrawn | undefined {
  const book = newBook(seen);
  try {
    for (const operation of operations) perform(book, operation);
    return undefined;
  } catch (error) {
    if (error instanceof Overdrawn) return error;
    throw error;
  }
}

/** The versions of all items that were read. Versions only increase, so equal versions mean equal contents. */
const versionsOf = ({ movements, balances }: ReadItems): string =>
  JSON.stringify([movements, balances].map((all) => [...all].map(([name, item]) => [name, item?.version ?? 0])));

async function readBook(
  table: Reader,
  ledger: Ledger,
  operations: readonly Operation[],
  now: Date,
): Promise<ReadItems> {
  const ids = [...new Set(operations.map(({ id }) => id))];
  const [items, early] = await Promise.all([
    table.getMany(ids.map((id) => movementKey(ledger, id))),
    readBalances(table, ledger, sidesOf(operations)),
  ]);
  const known = items.map((item) => (item ? StoredMovement.parse(item) : undefined));
  const others = sidesOf(known).filter((account) => !early.has(account));
  const later = others.length > 0 ? await readBalances(table, ledger, others) : [];
  return {
    limited: ledger.limited,
    at: now.toISOString(),
    movements: new Map(ids.map((id, index) => [id, known[index]])),
    balances: new Map([...early, ...later]),
  };
}

/** The accounts that operations or movements name. */
const sidesOf = (all: readonly (object | undefined)[]): string[] => [
  ...new Set(
    all.flatMap((one) => (one && "debit" in one && "credit" in one ? [String(one.debit), String(one.credit)] : [])),
  ),
];

/** The balances of accounts; empty ones for those that have none. */
async function readBalances(table: Reader, ledger: Ledger, accounts: readonly string[]): Promise<Map<string, Balance>> {
  const items = await table.getMany(accounts.map((account) => balanceKey(ledger, account)));
  return new Map(
    accounts.map((account, index) => [account, items[index] ? Balance.parse(items[index]) : emptyBalance]),
  );
}

/** The condition that an item still has the version that was read. */
const isStill = (version: number): NonNullable<Write["if"]> => (version === 0 ? "absent" : { version });

const changed = <T>(all: ReadonlyMap<string, T>, names: ReadonlySet<string>) =>
  [...names].flatMap((name) => all.get(name) ?? []);

/** The writes of the changed items. Items of operations that were done before need no condition: those are never undone. */
function writesOf(ledger: Ledger, { balances, movements, entries, touched, settled }: Book): Write[] {
  return [
    ...[...touched].flatMap((account): Write[] => {
      const { version, ...balance } = balances.get(account) ?? emptyBalance;
      return [{ put: { ...balanceKey(ledger, account), ...balance, version: version + 1 }, if: isStill(version) }];
    }),
    ...changed(movements, settled).map(({ version, ...movement }): Write => ({
      put: { ...movementKey(ledger, movement.id), ...movement, version: version + 1 },
      if: isStill(version),
    })),
    ...entries.map((entry): Write => ({
      put: { ...entryKey(ledger, entry.account, entry.ordinal), ...entry },
      if: "absent",
    })),
  ];
}

/** Reads the balance of an account; an empty one if it has none. */
export async function readBalance(table: Reader, ledger: Ledger, account: string): Promise<Balance> {
  return (await table.get(balanceKey(ledger, account), Balance)) ?? emptyBalance;
}

/** The movement with this id; undefined when there is none. */
export const readMovement = (table: Reader, ledger: Ledger, id: string): Promise<StoredMovement | undefined> =>
  table.get(movementKey(ledger, id), StoredMovement);

/** The entries of an account from one ordinal to another, both included, oldest first. */
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
