import { expect, test } from "vitest";

import { checkLedger } from "../../../shared/ledger/check.ts";
import { balanceKey, movementKey, readEntries, type Ledger } from "../../../shared/ledger/ledger.ts";
import type { Table } from "../../../shared/table/table.ts";
import { createMemoryStore, openMemoryTable } from "../../support/memory-table.ts";
import { hold, newLedger, operate, spend, topUp } from "./scene.ts";

/** A ledger with operations of every kind. */
async function lived(): Promise<{ table: Table; ledger: Ledger; store: ReturnType<typeof createMemoryStore> }> {
  const store = createMemoryStore();
  const [table, ledger] = [openMemoryTable(store), newLedger()];
  const past = new Date(Date.now() - 60_000);
  await operate(table, ledger, [topUp("t1", 1_000), spend("s1", 300), hold("h1", 100), hold("h2", 50)]);
  await operate(table, ledger, [hold("h3", 70, past), hold("h4", 80), topUp("t2", 5)]);
  await operate(table, ledger, [
    { kind: "capture", id: "h1", amount: 60 },
    { kind: "void", id: "h2" },
  ]);
  await operate(table, ledger, [{ kind: "expire", id: "h3" }, { kind: "capture", id: "h4" }, hold("h5", 9)]);
  return { table, ledger, store };
}

const key = ({ partition }: Ledger, account: string, ordinal: number) => ({
  PK: partition,
  SK: `LEDGER#ENTRY#${account}#${String(ordinal).padStart(10, "0")}`,
});

test("`checkLedger` finds no problem in the books that the ledger kept, for any number of entries", async () => {
  const { table, ledger } = await lived();
  for (const entries of [1, 2, 3, 20]) {
    expect(await checkLedger(table, ledger, { entries })).toEqual({ problems: [], unsettled: false });
  }
  expect(await checkLedger(table, newLedger())).toEqual({ problems: [], unsettled: false });
});

const mistakes: [string, (ledger: Ledger) => Parameters<Table["attempt"]>[0], RegExp][] = [
  [
    "money from nowhere",
    (ledger) => ({ update: balanceKey(ledger, "wallet"), set: { credits_posted: 2_000 } }),
    /credits exceed debits by 995/,
  ],
  [
    "a balance above the sum of its entries",
    (ledger) => ({ update: balanceKey(ledger, "wallet"), set: { credits_posted: 2_000 } }),
    /wallet has 1560, but its entries add up to 565/,
  ],
  [
    "a hold that is in only one account",
    (ledger) => ({ update: balanceKey(ledger, "wallet"), set: { debits_pending: 10 } }),
    /pending credits exceed pending debits by -1/,
  ],
  [
    "an overdrawn wallet",
    (ledger) => ({ update: balanceKey(ledger, "wallet"), set: { debits_posted: 9_000 } }),
    /wallet is overdrawn/,
  ],
  ["a lost entry", (ledger) => ({ delete: key(ledger, "wallet", 1) }), /entries of wallet are missing/],
  ["a changed entry", (ledger) => ({ update: key(ledger, "revenue", 1), set: { amount: 61 } }), /entry 1 of revenue/],
  ["a lost movement", (ledger) => ({ delete: movementKey(ledger, "s1") }), /the entries of s1 have no movement/],
  [
    "a movement with another amount",
    (ledger) => ({ update: movementKey(ledger, "s1"), set: { amount: 301 } }),
    /the debit of 300 in wallet differs from the movement s1/,
  ],
  [
    "a captured hold that was set to voided",
    (ledger) => ({ update: movementKey(ledger, "h1"), set: { status: "voided" } }),
    /differs from the movement h1/,
  ],
  [
    "a balance with a wrong type",
    (ledger) => ({ update: balanceKey(ledger, "revenue"), set: { entries: "three" } }),
    /a balance cannot be read/,
  ],
  [
    "an entry with a wrong value",
    (ledger) => ({ update: key(ledger, "wallet", 0), set: { direction: "up" } }),
    /entries of wallet cannot be read/,
  ],
];

test.each(mistakes)("%s is found", async (_, mistake, problem) => {
  const { table, ledger } = await lived();
  await table.attempt(mistake(ledger));
  const { problems, unsettled } = await checkLedger(table, ledger);
  expect(problems.join("\n")).toMatch(problem);
  expect(unsettled).toBe(false);
});

test("an account that has had only holds has no entries and no balance", async () => {
  const [table, ledger] = [openMemoryTable(createMemoryStore()), newLedger()];
  await operate(table, ledger, [topUp("t", 100), hold("h", 30)]);
  expect(await readEntries(table, ledger, "revenue", 0, 9)).toEqual([]);
  expect(await checkLedger(table, ledger)).toEqual({ problems: [], unsettled: false });
  await table.attempt({ update: balanceKey(ledger, "revenue"), set: { credits_posted: 1 } });
  const { problems } = await checkLedger(table, ledger);
  expect(problems).toContain("revenue has a balance and no entries");
});

test("books in which money moves during the check are reported as unsettled, and not as wrong", async () => {
  const { store, ledger } = await lived();
  const writer = openMemoryTable(store);
  let made = 0;
  const step = async (point: string) => {
    if (point.startsWith("query")) await operate(writer, ledger, [topUp(`late${made++}`, 1)]);
    return undefined;
  };
  const read = openMemoryTable(store, { step, pageSize: 1 });
  let readings = 0;
  const between: Table["between"] = (partition, from, ...rest) => {
    if (from === balanceKey(ledger, "").SK) readings += 1;
    return read.between(partition, from, ...rest);
  };
  expect(await checkLedger({ ...read, between }, ledger)).toEqual({ problems: [], unsettled: true });
  // The check tries three times, and each time reads the balances before and after the entries.
  expect(readings).toBe(6);
  expect(made).toBeGreaterThan(3);
});

test("if the table fails, the check throws, and reports no problem of the books", async () => {
  const { store, ledger } = await lived();
  let calls = 0;
  const failing = openMemoryTable(store, { step: async () => (++calls === 2 ? "throttled" : undefined) });
  await expect(checkLedger(failing, ledger)).rejects.toMatchObject({ code: "busy" });
});
