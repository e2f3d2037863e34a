import { expect, test } from "vitest";

import { createAccount } from "../../../shared/access/operate-accounts.ts";
import { runAll } from "../../../shared/billing/run.ts";
import { changeJournalOf } from "../../../shared/changes/record.ts";
import { timeOrderedId } from "../../../shared/core/ids.ts";
import { dayOf } from "../../../shared/core/time.ts";
import { migrateAccount } from "../../../shared/migrations/migration.ts";
import { appendEntries } from "../../../shared/table/journal.ts";
import type { Table } from "../../../shared/table/table.ts";
import { dispatch } from "../../../shared/webhooks/dispatch.ts";
import { sweepJournals } from "../../../shared/webhooks/index-journals.ts";
import { keepingReceiver, newScene } from "../../support/webhooks.ts";

const indexesOf = (table: Table, accountId: string, journal: string) =>
  table.between(`ACCOUNT#${accountId}`, `JOURNAL#${journal}#INDEX#`, `JOURNAL#${journal}#INDEX#~`);

async function appendChanges(table: Table, accountId: string, count: number, at: Date): Promise<void> {
  for (let done = 0; done < count; done += 50) {
    const entries = Array.from({ length: 50 }, () => ({ id: timeOrderedId(at) }));
    const writes = appendEntries(changeJournalOf(accountId), entries, at);
    await table.commit(async () => ({ value: undefined, writes }));
  }
}

test("one of 32 events makes its journals due, and they are indexed once their entries are old enough", async () => {
  const { url } = await keepingReceiver();
  const { accountId, work, event, subscribe, passMinutes } = await newScene();
  const { table } = work;
  const { id } = await subscribe(url);
  await appendChanges(table, accountId, 100, work.now());
  /** The id of an event, with this last byte. Only a last byte that is a multiple of 32 makes the journals due. */
  const idEnding = (byte: string, place: number) => ({ id: `${timeOrderedId(work.now(), place).slice(0, -2)}${byte}` });
  for (let place = 0; place < 70; place++) await dispatch(event("workspace.created", idEnding("01", place)), work);
  passMinutes(5);
  expect(await sweepJournals(work)).toMatchObject({ due: 0 });
  await dispatch(event("workspace.created", idEnding("40", 70)), work);
  expect(await sweepJournals(work)).toMatchObject({ due: 0 });
  passMinutes(5);
  expect(await sweepJournals(work)).toEqual({ due: 2, done: 2, failed: 0 });
  expect(await indexesOf(table, accountId, "changes")).toEqual([expect.objectContaining({ count: 101 })]);
  expect(await indexesOf(table, accountId, `deliveries/${id}`)).toEqual([expect.objectContaining({ count: 71 })]);
  expect(await sweepJournals(work)).toMatchObject({ due: 0 });
});

test("without events, the daily run indexes the last days of the audit log, and a migration indexes all days", async () => {
  const { accountId, work, passMinutes } = await newScene();
  const { table, log, now } = work;
  await createAccount(
    table,
    { id: accountId, client: { id: accountId, name: "C" }, name: "A", ownerId: accountId },
    now(),
  );
  await appendChanges(table, accountId, 200, now());
  passMinutes(100 * 24 * 60);
  await appendChanges(table, accountId, 200, now());
  passMinutes(2 * 24 * 60);
  await runAll(dayOf(now()), { table, now, log, requestId: "r" });
  expect(await indexesOf(table, accountId, "changes")).toEqual([expect.objectContaining({ version: 1 })]);
  expect(await migrateAccount(accountId, { table, now })).toEqual([]);
  expect(await indexesOf(table, accountId, "changes")).toHaveLength(2);
});
