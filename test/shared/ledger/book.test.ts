import fc from "fast-check";
import { expect, test } from "vitest";

import { availableOf, emptyBalance, postedOf } from "../../../shared/ledger/balance.ts";
import { applyOperation, type Book } from "../../../shared/ledger/book.ts";
import { MovementConflict, Overdrawn, type Operation } from "../../../shared/ledger/movement.ts";
import { doNaively, heldIn, newNaiveLedger, postedIn, type Outcome } from "./naive-ledger.ts";

const id = fc.constantFrom("a", "b", "c", "d", "e");
const account = fc.constantFrom("wallet", "deposit", "revenue", "outside");
const amount = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 1, max: 20 }) },
  fc.constantFrom(0, -1, 0.5, Number.NaN, 2 ** 53),
);
const code = fc.oneof({ weight: 6, arbitrary: fc.constant("x") }, fc.constant("y"));
const sides = { id, debit: account, credit: account, amount, code };
const minute = fc.integer({ min: 0, max: 9 });
const timeOf = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));

const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ kind: fc.constant("transfer" as const), ...sides }),
  fc.record({ kind: fc.constant("transfer" as const), ...sides, debit: fc.constant("outside") }),
  fc.record(
    { kind: fc.constant("hold" as const), ...sides, expiresAt: minute.map((at) => timeOf(at).toISOString()) },
    { requiredKeys: ["kind", "id", "debit", "credit", "amount", "code"] },
  ),
  fc.record({ kind: fc.constant("capture" as const), id, amount }, { requiredKeys: ["kind", "id"] }),
  fc.record({ kind: fc.constantFrom("void" as const, "expire" as const), id }),
);

/** A repeat of the operation from `again` steps ago. */
const again = fc.record({ again: fc.integer({ min: 1, max: 5 }) });

const limited = ["wallet", "deposit"];
const newBook = (): Book => ({
  limited,
  at: "",
  referenceOf: () => undefined,
  balances: new Map(),
  movements: new Map(),
  entries: [],
  changedAccounts: new Set(),
  changedMovements: new Set(),
});

const copyOf = ({ referenceOf, ...book }: Book): Book => ({ ...structuredClone(book), referenceOf });

function outcomeOf(book: Book, operation: Operation): Outcome {
  try {
    return applyOperation(book, operation).existed ? "existed" : "done";
  } catch (error) {
    if (error instanceof Overdrawn) return "overdrawn";
    if (error instanceof MovementConflict) return "conflict";
    if (error instanceof RangeError) return "invalid";
    throw error;
  }
}

test("the results and balances agree with a simple ledger that counts everything again from its operations", () => {
  const seen = new Set<Outcome>();
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.oneof(operation, again), minute), { maxLength: 40 }), (steps) => {
      const naive = newNaiveLedger(limited);
      let book = newBook();
      const asked: Operation[] = [];
      for (const [step, at] of steps) {
        const operation = "again" in step ? asked[asked.length - step.again] : step;
        if (!operation) continue;
        asked.push(operation);
        const next = { ...copyOf(book), at: timeOf(at).toISOString() };
        const outcome = outcomeOf(next, operation);
        expect([operation, outcome]).toEqual([operation, doNaively(naive, operation, timeOf(at))]);
        seen.add(outcome);
        if (outcome === "done" || outcome === "existed") book = next;
        for (const name of ["wallet", "deposit", "revenue", "outside"]) {
          const balance = book.balances.get(name) ?? emptyBalance;
          expect(postedOf(balance)).toBe(postedIn(naive, name));
          expect(availableOf(balance)).toBe(postedIn(naive, name) - heldIn(naive, name));
          if (limited.includes(name)) expect(availableOf(balance)).toBeGreaterThanOrEqual(0);
        }
      }
      const moved = naive.posted.flatMap(({ id, debit, credit, amount }) => [
        { id, account: debit, direction: "debit", amount },
        { id, account: credit, direction: "credit", amount },
      ]);
      const entries = book.entries.map(({ movement_id, account, direction, amount }) => ({
        id: movement_id,
        account,
        direction,
        amount,
      }));
      expect(entries).toEqual(moved);
    }),
    { numRuns: 300 },
  );
  expect([...seen].toSorted()).toEqual(["conflict", "done", "existed", "invalid", "overdrawn"]);
});
