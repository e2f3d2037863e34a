import { changeJournalOf } from "../changes/record.ts";
import { later, minuteMs } from "../core/time.ts";
import { dueKey, dueTasks, dueWrite, type Queue, type SweepResult, sweepTasks } from "../table/due.ts";
import { settledMs } from "../table/journal-index.ts";
import type { Journal } from "../table/journal-keys.ts";
import { indexEntries } from "../table/journal.ts";
import type { DeliveryContext } from "./deliver.ts";
import { deliveriesOf } from "./delivery.ts";
import type { PublishedEvent } from "./signing.ts";

/** Journals with new entries to index, keyed by account and by the journal: `changes`, or the id of a webhook. */
const queue: Queue = { name: "JOURNAL_DUE", shards: 16 };

/** One of so many events makes the journals due: an index is extended by dozens of entries at a time. */
const sample = 32;

const isSampled = (id: string): boolean => Number.parseInt(id.slice(-2), 16) % sample === 0;

type Work = Pick<DeliveryContext, "table" | "log" | "now">;

/** Makes the journals due that an event and its deliveries to these webhooks are in, unless other events do. */
export async function noteEntries(
  { id, account_id }: PublishedEvent,
  webhookIds: readonly string[],
  { table, now }: Pick<Work, "table" | "now">,
): Promise<void> {
  if (!isSampled(id)) return;
  // All events of a minute write the same items.
  const at = later(new Date(Math.ceil(now().getTime() / minuteMs) * minuteMs), settledMs);
  for (const name of ["changes", ...webhookIds]) await table.attempt(dueWrite(queue, [account_id, name], at));
}

const journalOf = (accountId: string, name: string): Journal =>
  name === "changes" ? changeJournalOf(accountId) : deliveriesOf(accountId, name);

const indexedDays = 2;

/** Extends the indexes of the journals that are due, for today and the day before. */
export async function sweepJournals(work: Work): Promise<SweepResult> {
  const indexOne = async (accountId: string, name: string, at: string, { table, now }: Work): Promise<void> => {
    const since = new Date(later(now(), -(indexedDays - 1) * 24 * 60 * minuteMs));
    await indexEntries(table, journalOf(accountId, name), { since }, now());
    await table.attempt({ delete: dueKey(queue, [accountId, name], at) });
  };
  return sweepTasks(await dueTasks(queue, indexOne, work), work.log);
}
