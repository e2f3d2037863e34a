import { changeJournalOf } from "../changes/record.ts";
import { later, minuteMs } from "../core/time.ts";
import { dueKey, dueTasks, dueWrite, type Queue, type SweepResult, sweepTasks } from "../table/due.ts";
import { settledMs } from "../table/journal-index.ts";
import type { Journal } from "../table/journal-keys.ts";
import { indexEntries } from "../table/journal.ts";
import type { DeliveryContext } from "./deliver.ts";
import { deliveriesOf } from "./delivery.ts";
import type { PublishedEvent } from "./signing.ts";

/**
 * The queue of journals to index. A task has two names: the account's id, and either `changes` or the id of a webhook.
 */
const queue: Queue = { name: "JOURNAL_DUE", shards: 16 };

/**
 * On average, one in 32 events schedules the indexing, because an index is extended by dozens of entries at a time.
 */
const sampleInterval = 32;

const isSampled = (id: string): boolean => Number.parseInt(id.slice(-2), 16) % sampleInterval === 0;

type IndexContext = Pick<DeliveryContext, "table" | "log" | "now">;

/**
 * Schedules the indexing of the account's journal of changes, and of the journals of deliveries to these webhooks. Does
 * nothing for most events: the event's id selects about one event in 32.
 */
export async function scheduleIndexing(
  { id, account_id }: PublishedEvent,
  webhookIds: readonly string[],
  { table, now }: Pick<IndexContext, "table" | "now">,
): Promise<void> {
  if (!isSampled(id)) return;
  // Rounded up to the minute, so that all events of a minute write the same items.
  const at = later(new Date(Math.ceil(now().getTime() / minuteMs) * minuteMs), settledMs);
  for (const name of ["changes", ...webhookIds]) await table.attempt(dueWrite(queue, [account_id, name], at));
}

const journalOf = (accountId: string, name: string): Journal =>
  name === "changes" ? changeJournalOf(accountId) : deliveriesOf(accountId, name);

const indexedDays = 2;

/** Extends the indexes of the journals that are due, for today and for yesterday. */
export async function sweepJournals(context: IndexContext): Promise<SweepResult> {
  const indexOne = async (accountId: string, name: string, at: string, { table, now }: IndexContext): Promise<void> => {
    const since = new Date(later(now(), -(indexedDays - 1) * 24 * 60 * minuteMs));
    await indexEntries(table, journalOf(accountId, name), { since }, now());
    await table.attempt({ delete: dueKey(queue, [accountId, name], at) });
  };
  return sweepTasks(await dueTasks(queue, indexOne, context), context.log);
}
