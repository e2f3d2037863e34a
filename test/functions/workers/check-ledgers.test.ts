import { expect, test } from "vitest";

import { handler, checkLedgers, turnAt } from "../../../functions/workers/check-ledgers.ts";
import { createAccount } from "../../../shared/access/operate-accounts.ts";
import type { Log, LogFields } from "../../../shared/core/log.ts";
import { balanceKey } from "../../../shared/ledger/ledger.ts";
import type { Table } from "../../../shared/table/table.ts";
import { planWallet, walletOf } from "../../../shared/wallet/wallet.ts";
import { logged } from "../../support/logged.ts";
import { createMemoryStore, openMemoryTable } from "../../support/memory-table.ts";

const hourMs = 3_600_000;

function recordingLog(): Log & { errors: [string, LogFields | undefined][] } {
  const errors: [string, LogFields | undefined][] = [];
  return { errors, debug: () => undefined, info: () => undefined, error: (...line) => void errors.push(line as never) };
}

async function accountsWithMoney(table: Table, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    const client = { id: crypto.randomUUID(), name: "Client" };
    const { id } = await createAccount(table, { client, name: `A${index}`, ownerId: crypto.randomUUID() }, new Date());
    await table.commit(async () => ({
      value: undefined,
      writes: (
        await planWallet(
          table,
          id,
          [
            {
              kind: "transfer",
              id: "first",
              debit: "payments",
              credit: "wallet",
              amount: 500,
              code: "topup",
              type: "topup",
              description: "Test",
            },
          ],
          new Date(),
        )
      ).writes,
    }));
    ids.push(id);
  }
  return ids;
}

test("each account has its hour in a round of 24 hours, and the round is longer if an hour cannot hold its accounts", () => {
  for (const [total, most] of [
    [0, 10],
    [1, 10],
    [23, 10],
    [100, 10],
    [1_000, 10],
    [241, 10],
  ] as const) {
    const seen = new Set<number>();
    const hours = Math.max(24, Math.ceil(total / most));
    for (let hour = 0; hour < hours; hour++) {
      const { skip, take } = turnAt(new Date(hour * hourMs), total, most);
      expect(take).toBeLessThanOrEqual(most);
      for (let rank = skip; rank < Math.min(total, skip + take); rank++) seen.add(rank);
    }
    expect(seen.size).toBe(total);
  }
});

test("checks the ledger of every account once a day, and logs the accounts with faults", async () => {
  const table = openMemoryTable(createMemoryStore());
  const ids = await accountsWithMoney(table, 30);
  const wrong = ids[17] ?? "";
  await table.attempt({ update: balanceKey(walletOf(wrong), "wallet"), set: { credits_posted: 501 } });
  const log = recordingLog();
  let [accounts, violations] = [0, 0];
  for (let hour = 0; hour < 24; hour++) {
    const counts = await checkLedgers({ table, log, now: () => new Date(hour * hourMs) });
    expect(counts).toMatchObject({ total: 30, unsettled: 0, failed: 0 });
    accounts += counts.accounts;
    violations += counts.violations;
  }
  expect([accounts, violations]).toEqual([30, 1]);
  const problems = [expect.stringContaining("credits exceed debits by 1"), expect.stringContaining("add up to 500")];
  expect(log.errors).toEqual([["ledger violation", { account_id: wrong, problems }]]);
});

test("an account that cannot be read is logged, and the other accounts of the hour are checked", async () => {
  const store = createMemoryStore();
  const [first = ""] = await accountsWithMoney(openMemoryTable(store), 40);
  const step = async (point: string) =>
    point.startsWith(`query ACCOUNT#${first} LEDGER#BALANCE`) ? ("throttled" as const) : undefined;
  const log = recordingLog();
  const counts = await checkLedgers({ table: openMemoryTable(store, { step }), log, now: () => new Date(0) });
  // The first of the 24 hours has two of the 40 accounts.
  expect(counts).toMatchObject({ accounts: 2, failed: 1, violations: 0 });
  expect(log.errors.map(([message]) => message)).toEqual(["ledger not checked"]);
});

test("a run begins no further check after its time is over", async () => {
  const table = openMemoryTable(createMemoryStore());
  await accountsWithMoney(table, 25);
  const counts = await checkLedgers({ table, log: recordingLog(), now: () => new Date(0) }, { budgetMs: -1 });
  expect(counts.accounts).toBe(0);
});

test("the worker checks the table that its environment names, and logs one line", async () => {
  const lines = logged();
  await handler();
  expect(lines.filter((line) => line.includes("ledgers checked"))).toHaveLength(1);
});
