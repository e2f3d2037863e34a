import { expect, test } from "vitest";

import { availableOf, postedOf } from "../../../shared/ledger/balance.ts";
import { type Ledger, movementKey, readBalance, readEntries } from "../../../shared/ledger/ledger.ts";
import { MovementConflict, Overdrawn, StoredMovement, type Operation } from "../../../shared/ledger/movement.ts";
import type { Table } from "../../../shared/table/table.ts";
import { afterReading } from "../../support/between.ts";
import { testTable } from "../../support/world.ts";
import { booksOf, hold, newLedger, operate, spend, topUp } from "./scene.ts";

const table = testTable();
const movementOf = (ledger: Ledger, id: string) => table.get(movementKey(ledger, id), StoredMovement);

/** A ledger with `amount` in its wallet. */
async function ledgerWith(amount: number) {
  const ledger = newLedger();
  await operate(table, ledger, [topUp("first", amount)]);
  const wallet = () => readBalance(table, ledger, "wallet");
  return {
    ledger,
    posted: async () => postedOf(await wallet()),
    available: async () => availableOf(await wallet()),
    operate: (...operations: Operation[]) => operate(table, ledger, operations),
  };
}

test("two spends of the last dollar at once: one is done, one is refused, and nothing else moves", async () => {
  const { ledger, posted, operate } = await ledgerWith(100);
  const outcomes = await Promise.allSettled([operate(spend("a", 100)), operate(spend("b", 100))]);
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  const [refused] = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
  expect(refused).toBeInstanceOf(Overdrawn);
  expect(refused).toMatchObject({ account: "wallet", available: 0 });
  expect(await posted()).toBe(0);
  expect((await booksOf(table, ledger))["revenue"]?.entries).toHaveLength(1);
});

test("of many concurrent spends and holds, exactly as many are done as the balance covers", async () => {
  const { posted, available, operate } = await ledgerWith(50);
  const asked = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? spend : hold)(`m${index}`, 10));
  const outcomes = await Promise.allSettled(asked.map((one) => operate(one)));
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
  expect(await available()).toBe(0);
  expect(await posted()).toBeGreaterThanOrEqual(0);
});

test("a movement that is requested eight times at once is made once, and no request is refused", async () => {
  const { ledger, posted, operate } = await ledgerWith(100);
  const outcomes = await Promise.all(Array.from({ length: 8 }, () => operate(spend("same", 100))));
  expect(outcomes.flat().filter(({ existed }) => !existed)).toHaveLength(1);
  expect(await posted()).toBe(0);
  expect(await readEntries(table, ledger, "revenue", 0, 99)).toHaveLength(1);
});

test("an id is good for one movement: anything else under it is a conflict", async () => {
  const { posted, operate } = await ledgerWith(100);
  await operate(spend("taken", 40));
  for (const other of [
    spend("taken", 41),
    hold("taken", 40),
    topUp("taken", 40),
    { ...spend("taken", 40), credit: "outside" },
    { ...spend("taken", 40), code: "another" },
  ]) {
    await expect(operate(other)).rejects.toBeInstanceOf(MovementConflict);
  }
  expect(await posted()).toBe(60);
});

test("a hold reserves money without moving it, and a partial capture moves its part and frees the rest", async () => {
  const { ledger, posted, available, operate } = await ledgerWith(100);
  await operate(hold("h", 70));
  expect([await posted(), await available()]).toEqual([100, 30]);
  expect(await movementOf(ledger, "h")).toMatchObject({ status: "pending", amount: 70, captured: 0 });
  await expect(operate(spend("too much", 31))).rejects.toMatchObject({ available: 30 });
  await operate({ kind: "capture", id: "h", amount: 20 });
  expect([await posted(), await available()]).toEqual([80, 80]);
  expect(await movementOf(ledger, "h")).toMatchObject({ status: "captured", amount: 70, captured: 20 });
  expect(await readBalance(table, ledger, "revenue")).toMatchObject({ credits_posted: 20, credits_pending: 0 });
});

test.for<[string, Operation, Partial<Record<Operation["kind"], "existed" | "refused">>]>([
  ["captured", { kind: "capture", id: "h" }, { capture: "existed", void: "refused", expire: "refused" }],
  ["voided", { kind: "void", id: "h" }, { capture: "refused", void: "existed", expire: "refused" }],
  ["expired", { kind: "expire", id: "h" }, { capture: "refused", void: "refused", expire: "existed" }],
])(
  "a hold that is %s stays so: the same operation again changes nothing, and other operations are refused",
  async ([state, first, then]) => {
    const { ledger, operate } = await ledgerWith(100);
    await operate(hold("h", 70, new Date(0)));
    await operate(first);
    const books = await booksOf(table, ledger);
    for (const kind of ["capture", "void", "expire"] as const) {
      const again = operate({ kind, id: "h" });
      if (then[kind] === "existed") expect(await again).toMatchObject([{ existed: true, entries: [] }]);
      else await expect(again).rejects.toThrow(new MovementConflict(`The hold h is ${state}, not pending.`));
    }
    await expect(operate({ kind: "capture", id: "h", amount: 69 })).rejects.toBeInstanceOf(MovementConflict);
    expect(await booksOf(table, ledger)).toEqual(books);
  },
);

test("of a concurrent capture, void and expiry of one hold, only one succeeds", async () => {
  const { ledger, available, posted, operate } = await ledgerWith(100);
  await operate(hold("h", 70, new Date(0)));
  const kinds = ["capture", "void", "expire"] as const;
  const outcomes = await Promise.allSettled(kinds.map((kind) => operate({ kind, id: "h" })));
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  const status = (await movementOf(ledger, "h"))?.status;
  expect(await available()).toBe(status === "captured" ? 30 : 100);
  expect(await posted()).toBe(await available());
});

test("a hold cannot expire before its end, and a hold without an end cannot expire", async () => {
  const { ledger, available, operate: operateNow } = await ledgerWith(100);
  const end = new Date("2026-03-01T12:00:00.000Z");
  await operateNow(hold("h", 70, end), hold("endless", 10));
  const expireAt = (id: string, now: Date) => operate(table, ledger, [{ kind: "expire", id }], now);
  await expect(expireAt("h", new Date(end.getTime() - 1))).rejects.toBeInstanceOf(MovementConflict);
  await expect(expireAt("endless", new Date("2099-01-01"))).rejects.toBeInstanceOf(MovementConflict);
  expect(await available()).toBe(20);
  await expireAt("h", end);
  expect(await available()).toBe(90);
});

test("resolving a missing hold is a conflict", async () => {
  const { operate } = await ledgerWith(100);
  await operate(spend("a transfer", 1));
  for (const id of ["never", "a transfer"]) {
    for (const kind of ["capture", "void", "expire"] as const) {
      await expect(operate({ kind, id })).rejects.toBeInstanceOf(MovementConflict);
    }
  }
});

test("operations of one plan are all done or none, and each sees the effects of the ones before it", async () => {
  const { ledger, posted, operate } = await ledgerWith(100);
  const books = await booksOf(table, ledger);
  await expect(operate(spend("a", 60), topUp("b", 10), spend("c", 60))).rejects.toMatchObject({ available: 50 });
  expect(await booksOf(table, ledger)).toEqual(books);
  expect(await movementOf(ledger, "a")).toBeUndefined();
  await operate(topUp("b", 30), hold("h", 130), { kind: "capture", id: "h", amount: 120 }, spend("c", 10));
  expect(await posted()).toBe(0);
});

test("a plan that was partly done before does the rest", async () => {
  const { posted, operate } = await ledgerWith(100);
  await operate(spend("a", 10));
  expect(await operate(spend("a", 10), spend("b", 20))).toMatchObject([{ existed: true }, { existed: false }]);
  expect(await posted()).toBe(70);
});

test("entries are read back in their order, each with the account's balance after it", async () => {
  const { ledger, operate } = await ledgerWith(100);
  await operate(spend("a", 10));
  await operate(hold("h", 50), { kind: "capture", id: "h", amount: 30 }, topUp("b", 5));
  const told = (await readEntries(table, ledger, "wallet", 0, 9)).map((entry) => [
    entry.ordinal,
    entry.movement_id,
    entry.direction,
    entry.amount,
    entry.balance_after,
  ]);
  expect(told).toEqual([
    [0, "first", "credit", 100, 100],
    [1, "a", "debit", 10, 90],
    [2, "h", "debit", 30, 60],
    [3, "b", "credit", 5, 65],
  ]);
  expect((await readEntries(table, ledger, "wallet", 1, 2)).map(({ ordinal }) => ordinal)).toEqual([1, 2]);
  expect(await readEntries(table, ledger, "wallet", 2, 1)).toEqual([]);
});

test("an account without a limit can have a negative balance", async () => {
  const { ledger, operate } = await ledgerWith(100);
  await operate({ kind: "transfer", id: "back", debit: "revenue", credit: "wallet", amount: 25, code: "refund" });
  expect(postedOf(await readBalance(table, ledger, "revenue"))).toBe(-25);
});

test.for([0, -1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY])("%d is not an amount", async (amount) => {
  const { ledger, operate } = await ledgerWith(100);
  await operate(hold("h", 70));
  const books = await booksOf(table, ledger);
  for (const operation of [
    topUp("a", amount),
    spend("b", amount),
    hold("c", amount),
    { kind: "capture", id: "h", amount } as const,
  ]) {
    await expect(operate(operation)).rejects.toBeInstanceOf(RangeError);
  }
  expect(await booksOf(table, ledger)).toEqual(books);
});

test("a sum cannot exceed the largest exact integer, and a capture cannot exceed its hold", async () => {
  const { posted, operate } = await ledgerWith(Number.MAX_SAFE_INTEGER);
  await expect(operate(topUp("one more", 1))).rejects.toBeInstanceOf(RangeError);
  await operate(hold("h", 70));
  await expect(operate({ kind: "capture", id: "h", amount: 71 })).rejects.toBeInstanceOf(RangeError);
  expect(await posted()).toBe(Number.MAX_SAFE_INTEGER);
});

test("a movement needs two different accounts, and the name of an account cannot contain `#`", async () => {
  const { operate } = await ledgerWith(100);
  const between = (debit: string, credit: string) => ({ ...topUp("x", 1), debit, credit });
  await expect(operate(between("wallet", "wallet"))).rejects.toBeInstanceOf(RangeError);
  await expect(operate(between("outside", "wallet#0000000000"))).rejects.toBeInstanceOf(RangeError);
});

test("a refusal for missing money reads the ledger twice, because money may have moved; a conflict reads it once", async () => {
  const { ledger, operate: operateHere } = await ledgerWith(100);
  await operateHere(spend("taken", 40));
  const callsFor = async (operation: Operation) => {
    const usage = { readUnits: 0, writeUnits: 0, calls: 0 };
    await expect(operate(testTable(usage), ledger, [operation])).rejects.toThrow();
    return usage.calls;
  };
  expect(await callsFor(spend("taken", 41))).toBe(2);
  expect(await callsFor(spend("too much", 61))).toBe(4);
});

test("a spend is refused as busy, and makes no movement, if the balance changes at each read", async () => {
  const { ledger, posted, operate: operateHere } = await ledgerWith(100);
  let topUps = 0;
  const changing: Table = {
    ...table,
    getMany: async (keys) => {
      const items = await table.getMany(keys);
      await operateHere(topUp(`topup-${topUps++}`, 1));
      return items;
    },
  };
  const refused = operate(changing, ledger, [spend("too much", 1_000)]);
  await expect(refused).rejects.toMatchObject({ code: "busy", extras: { retry_after: 1 } });
  expect(await posted()).toBe(100 + topUps);
});

test("each change of a balance and of a movement raises its version, so equal versions mean equal contents", async () => {
  const { ledger, operate } = await ledgerWith(100);
  const versions: (number | undefined)[][] = [];
  for (const operation of [hold("h", 70), { kind: "capture", id: "h" } as const]) {
    await operate(operation);
    versions.push([(await readBalance(table, ledger, "wallet")).version, (await movementOf(ledger, "h"))?.version]);
  }
  const [[balance = 0, movement = 0] = [], [laterBalance, laterMovement] = []] = versions;
  expect(laterBalance).toBeGreaterThan(balance);
  expect(laterMovement).toBeGreaterThan(movement);
});

test("a spend is not refused if the same spend was made while the ledger was read", async () => {
  const { ledger, posted, operate } = await ledgerWith(100);
  const isMovement = ({ SK }: { SK: string }): boolean => SK === movementKey(ledger, "same").SK;
  const once = () => operate(spend("same", 100));
  expect(await afterReading(isMovement, once, once)).toMatchObject([{ existed: true }]);
  expect(await posted()).toBe(0);
  expect(await readEntries(table, ledger, "revenue", 0, 99)).toHaveLength(1);
});
