import { randomUUID } from "node:crypto";

import { createAccount } from "../../shared/access/operate-accounts.ts";
import { billingQueue } from "../../shared/billing/due.ts";
import { sweepBilling } from "../../shared/billing/sweep.ts";
import { createLog } from "../../shared/core/log.ts";
import { dueKey } from "../../shared/table/due.ts";
import { fund } from "../support/billing.ts";
import { addUsage } from "../support/usage.ts";
import { testTable } from "../support/world.ts";
import { sum, timed, type Options, type Result } from "./harness.ts";

const created = new Date("2026-01-28T12:00:00Z");

/** An account id in the first shard of the daily run. */
function idInShard(): string {
  for (;;) {
    const id = randomUUID();
    if (dueKey(billingQueue, [id], "").PK === `${billingQueue.name}#0`) return id;
  }
}

/** Makes accounts of one shard, each with a mailbox and money for it. */
async function fillShard(count: number): Promise<void> {
  const client = { id: randomUUID(), name: "Bench" };
  for (let index = 0; index < count; index++) {
    const id = idInShard();
    await createAccount(testTable(), { id, client, name: `Account ${index}`, ownerId: randomUUID() }, created);
    await addUsage(testTable(), id, { mailboxes: 1 });
    await fund({ id }, 10_000);
  }
}

/** Closes a day. Returns the accounts a second, and the table's units for each account. Throws if an account failed. */
async function closeDay(count: number, now: string) {
  const usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  const context = { table: testTable(usage), now: () => new Date(now), requestId: randomUUID() };
  let closed = 0;
  const ms = await timed(async () => {
    const results = await sweepBilling(
      { ...context, log: createLog("error", { service: "bench" }) },
      { budgetMs: Infinity },
    );
    closed = sum(results.map((result) => result.closed));
  });
  if (closed !== count) throw new Error(`${closed} of ${count} accounts were closed`);
  const each = (total: number): number => total / count;
  return {
    perSecond: (1000 * count) / ms,
    calls: each(usage.calls),
    readUnits: each(usage.readUnits),
    writeUnits: each(usage.writeUnits),
  };
}

/**
 * Runs the daily run over one shard in one process, on an ordinary day and at the end of a month, when invoices are
 * made.
 */
export async function run({ quick }: Options): Promise<Result> {
  const count = quick ? 40 : 1_000;
  await fillShard(count);
  await closeDay(count, "2026-01-29T00:30:00Z");
  const days = {
    "an ordinary day": await closeDay(count, "2026-01-30T00:30:00Z"),
    "the last day of a month": await closeDay(count, "2026-02-01T00:30:00Z"),
  };
  return {
    figures: Object.entries(days).flatMap(([day, { perSecond, calls, readUnits, writeUnits }]) => [
      { name: `accounts of one shard, ${day}`, value: perSecond, unit: "a second" },
      { name: `${day}: calls of the table`, value: calls, unit: "an account" },
      { name: `${day}: read units`, value: readUnits, unit: "an account" },
      { name: `${day}: write units`, value: writeUnits, unit: "an account" },
    ]),
  };
}
