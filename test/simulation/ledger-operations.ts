import { Problem } from "../../shared/core/errors.ts";
import { Balance, emptyBalance } from "../../shared/ledger/balance.ts";
import { applyOperation, type Book } from "../../shared/ledger/book.ts";
import { balanceKey, movementKey, planOperations, type Ledger } from "../../shared/ledger/ledger.ts";
import {
  MovementConflict,
  Overdrawn,
  StoredMovement,
  type Done,
  type Operation,
} from "../../shared/ledger/movement.ts";
import { mustHold, type World } from "./world.ts";

/**
 * The answer to a caller: done, refused, or unknown. After an unknown answer, the caller asks again with the same ids.
 */
export type Answer = { done: Done[] } | { refused: Error } | { unknown: Problem };

/**
 * Asks for operations, and checks the answer. An operation that is answered as done must be stored. A refusal must have
 * been right at some moment between question and answer.
 */
async function ask(world: World, ledger: Ledger, operations: readonly Operation[]): Promise<Answer> {
  const now = world.now();
  let wasRefusable = false;
  const unwatch = world.watch(() => (wasRefusable ||= isRefusable(world, ledger, operations, now)));
  try {
    const done = await world.table.commit(async () => {
      const planned = await planOperations(world.table, ledger, operations, now);
      return { value: planned.done, writes: planned.writes };
    });
    for (const [index, one] of done.entries()) {
      checkAnswer(operations[index], one);
      checkStored(world, ledger, one);
    }
    return { done };
  } catch (error) {
    if (error instanceof Problem) return { unknown: error };
    if (!isRefusal(error)) throw error;
    mustHold(wasRefusable, () => `refused without a reason: ${error.message} ${JSON.stringify(operations)}`);
    return { refused: error };
  } finally {
    unwatch();
  }
}

const isRefusal = (error: unknown): error is Error =>
  error instanceof Overdrawn || error instanceof MovementConflict || error instanceof RangeError;

/** Asks again as long as the answer is unknown, four times at most. A caller whose answers get lost does the same. */
export async function insist(world: World, ledger: Ledger, operations: readonly Operation[]): Promise<Answer> {
  for (let asked = 1; ; asked++) {
    const answer = await ask(world, ledger, operations);
    if (!("unknown" in answer) || asked === 4) {
      world.note(textOf(answer));
      return answer;
    }
  }
}

const textOf = (answer: Answer): string =>
  "done" in answer
    ? `learns: ${answer.done.map(({ existed }) => (existed ? "was done before" : "done")).join(", ")}`
    : `learns: ${("refused" in answer ? answer.refused : answer.unknown).message}`;

function isRefusable(world: World, ledger: Ledger, operations: readonly Operation[], now: Date): boolean {
  const book = bookNow(world, ledger, operations, now);
  try {
    for (const operation of operations) applyOperation(book, operation);
    return false;
  } catch {
    return true;
  }
}

function bookNow({ peek }: World, ledger: Ledger, operations: readonly Operation[], now: Date): Book {
  const movements = new Map(
    operations.map(({ id }) => {
      const item = peek(movementKey(ledger, id));
      return [id, item && StoredMovement.parse(item)];
    }),
  );
  const sides = [...operations, ...movements.values()].flatMap((one) =>
    one && "debit" in one ? [one.debit, one.credit] : [],
  );
  const balances = sides.map((account) => {
    const item = peek(balanceKey(ledger, account));
    return [account, item ? Balance.parse(item) : emptyBalance] as const;
  });
  return {
    limited: ledger.limited,
    at: now.toISOString(),
    referenceOf: () => undefined,
    balances: new Map(balances),
    movements,
    entries: [],
    changedAccounts: new Set(),
    changedMovements: new Set(),
  };
}

/** Checks that the answer has the requested movement. An earlier call may have made the movement. */
function checkAnswer(asked: Operation | undefined, { kind, movement }: Done): void {
  const wanted =
    asked && "debit" in asked
      ? [asked.kind, asked.id, asked.debit, asked.credit, asked.amount]
      : [asked?.kind, asked?.id, movement.debit, movement.credit, movement.amount];
  const told = [kind, movement.id, movement.debit, movement.credit, movement.amount];
  mustHold(told.join() === wanted.join(), () => `asked for ${wanted.join()}, got ${told.join()}`);
  const amount = asked?.kind === "capture" ? (asked.amount ?? movement.amount) : movement.captured;
  mustHold(movement.captured === amount, () => `captured ${movement.captured} of ${movement.id} instead of ${amount}`);
}

/** Checks that an operation that was answered as done is stored. */
function checkStored({ peek }: World, ledger: Ledger, { kind, movement, existed }: Done): void {
  const stored = StoredMovement.optional().parse(peek(movementKey(ledger, movement.id)));
  const isThere = stored?.amount === movement.amount && stored.debit === movement.debit;
  mustHold(isThere, () => `${kind} of ${movement.id} was answered (existed: ${existed}) and is not stored`);
  const isResolved = movement.status !== undefined && movement.status !== "pending";
  const isKept = !isResolved || (stored?.status === movement.status && stored.captured === movement.captured);
  mustHold(isKept, () => `${movement.id} was answered ${movement.status} and is ${stored?.status}`);
}
