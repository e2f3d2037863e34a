import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Accrual, accrualKey } from "../../../shared/billing/charges.ts";
import { dayOf, plusDays, type Day } from "../../../shared/core/time.ts";
import { deletedMailboxesOf } from "../../../shared/mail/mailboxes/deleted.ts";
import { mailboxesOf } from "../../../shared/mail/mailboxes/mailbox.ts";
import { appendRows, readList, readWhole, rowKey } from "../../../shared/table/ranked-list.ts";
import { closeDays, use } from "../../support/billing.ts";
import { removeForGood } from "../../support/domain-deletions.ts";
import { write } from "../../support/domain-work.ts";
import { storedOf } from "../../support/entry-points.ts";
import { at, home, send, stocked } from "../../support/mailboxes.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { testTable, type Account } from "../../support/world.ts";

// The clock stands still, so that the day does not end while the tests run.
const now = new Date();
const today = dayOf(now);
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now }));
afterEach(() => void vi.useRealTimers());

async function scene(locals: string[]) {
  const account = await newRoomyAccount();
  const { name } = await home(account);
  return { account, name, ids: await stocked(account, name, locals) };
}

const remove = (account: Account, id: string) => send(account, "DELETE", at(id));
const restore = (account: Account, id: string) => send(account, "POST", at(id, "/restore"));

/** Closes the days up to `last`. Returns the number of mailboxes on each day from today to `last`. */
async function countedUpTo(account: Account, last: Day): Promise<number[]> {
  await closeDays(account, last);
  const { PK, SK } = accrualKey(account.id, today);
  const rows = await testTable().between(PK, SK, accrualKey(account.id, last).SK);
  return rows.map((row) => Accrual.parse(row).mailboxes);
}

test("a day counts the mailboxes that were deleted on it, the day after does not", async () => {
  const { account, ids } = await scene(["ada", "bob", "cy"]);
  for (const id of ids.slice(1)) expect((await remove(account, id)).status).toBe(200);
  expect(await countedUpTo(account, today)).toEqual([3]);
  expect(await countedUpTo(account, plusDays(today, 1))).toEqual([3, 1]);
});

test("a mailbox that is deleted before the daily run and restored after it is counted on both days, once each", async () => {
  const { account, ids } = await scene(["ada", "bob"]);
  for (const id of ids) await remove(account, id);
  expect(await countedUpTo(account, today)).toEqual([2]);
  for (const id of ids) expect((await restore(account, id)).status).toBe(200);
  expect(await countedUpTo(account, plusDays(today, 1))).toEqual([2, 2]);
  for (const id of ids) await remove(account, id);
  for (const id of ids) await restore(account, id);
  expect(await countedUpTo(account, plusDays(today, 2))).toEqual([2, 2, 2]);
});

test("days that are recorded late count a deleted mailbox from its creation to its deletion", async () => {
  const { account, ids } = await scene(["ada", "bob", "cy"]);
  for (const id of ids.slice(1)) await remove(account, id);
  const [first, second, third] = [1, 2, 3].map((days) => plusDays(today, days)) as [Day, Day, Day];
  const lives = [
    { created_at: `${today}T00:00:00.000Z`, deleted_at: `${first}T23:59:59.999Z` },
    { created_at: `${second}T00:00:00.000Z`, deleted_at: `${third}T00:00:00.000Z` },
  ];
  for (const [ordinal, set] of lives.entries()) {
    await write({ update: rowKey(deletedMailboxesOf(account.id), ordinal), set });
  }
  expect(await countedUpTo(account, plusDays(third, 1))).toEqual([2, 2, 2, 2, 1]);
});

test("a day counts all mailboxes that were deleted on it, even many pages of them, and none that were deleted before", async () => {
  const account = await newRoomyAccount();
  await use(account, 1);
  const table = testTable();
  const yesterday = plusDays(today, -1);
  for (const [day, rows] of [[yesterday, 40], ...Array.from({ length: 9 }, () => [today, 90] as const)] as const) {
    const lives = Array.from({ length: rows }, () => ({
      created_at: `${yesterday}T00:00:00.000Z`,
      deleted_at: `${day}T12:00:00.000Z`,
    }));
    await table.commit(async () => {
      const state = await readWhole(table, deletedMailboxesOf(account.id));
      return { value: undefined, writes: appendRows(state, lives) };
    });
  }
  expect(await countedUpTo(account, today)).toEqual([811]);
});

/** The sort keys of the rows that count the account's purged mailboxes. */
const pastOf = async (account: Account): Promise<string[]> =>
  (await storedOf(account)).map(({ SK }) => SK).filter((key) => key.startsWith("PAST_MAILBOXES#"));

test("a day counts the mailboxes that were purged on it with their domain, the day after does not", async () => {
  const { account, name, ids } = await scene(["ada", "bob", "cy"]);
  for (const id of ids) await remove(account, id);
  expect((await removeForGood(account, name)).status).toBe(200);
  expect((await send(account, "GET", "mailboxes/deleted")).body.total).toBe(0);
  expect(await pastOf(account)).toHaveLength(1);
  expect(await countedUpTo(account, plusDays(today, 1))).toEqual([3, 0]);
});

test("a purge after the day is recorded stores nothing for this day", async () => {
  const { account, name, ids } = await scene(["ada", "bob"]);
  for (const id of ids) await remove(account, id);
  expect(await countedUpTo(account, today)).toEqual([2]);
  await removeForGood(account, name);
  expect(await pastOf(account)).toEqual([]);
});

test("a day does not count the mailboxes that were created after it and before the daily run", async () => {
  const account = await newRoomyAccount();
  const table = testTable();
  const tomorrow = plusDays(today, 1);
  for (const [day, rows] of [[today, 1], ...Array.from({ length: 6 }, () => [tomorrow, 90] as const)] as const) {
    const created = Array.from({ length: rows }, () => ({ created_at: `${day}T00:10:00.000Z` }));
    await table.commit(async () => {
      const { state } = await readList(table, mailboxesOf(account.id));
      return { value: undefined, writes: appendRows(state, created) };
    });
  }
  expect(await countedUpTo(account, today)).toEqual([1]);
  expect(await countedUpTo(account, tomorrow)).toEqual([1, 541]);
});
