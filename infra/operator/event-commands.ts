import * as z from "zod";

import { accountIds } from "../../shared/accounts/account.ts";
import { getAccount } from "../../shared/accounts/visible.ts";
import { readChangePages } from "../../shared/changes/history.ts";
import { eventOf, type Event, StoredChange } from "../../shared/changes/record.ts";
import { Id } from "../../shared/core/ids.ts";
import { eventBridgePublisher, type EventPublisher } from "../../shared/providers/events/events.ts";
import type { Table } from "../../shared/table/table.ts";
import type { Item } from "../../shared/table/writes.ts";
import { publishInOrder } from "../../shared/webhooks/publish.ts";
import { DeadLetter, deadLettersIn, embeddedPublisher, eventsIn, newestOf } from "../local/events/event-log.ts";
import { eventQueueIn } from "../local/events/event-queue.ts";
import { type Command, Misuse, type TableLocation } from "./commands.ts";

const Time = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/, {
    error: "Not a time such as 2026-07-01T12:00:00Z or 2026-07-01",
    abort: true,
  })
  .refine((text) => !Number.isNaN(Date.parse(text)), { error: "This time does not exist" });

const complain = (source: string, detail: unknown): void => void process.stderr.write(`${source}: ${String(detail)}\n`);

/**
 * Returns a publisher for the event bus `bus`. Without `bus`, it publishes to the local product: to the event log and
 * the event queue in the data folder.
 */
function publisherFor({ dataDir }: TableLocation, bus: string | undefined): EventPublisher {
  if (bus !== undefined) {
    return eventBridgePublisher(bus, { error: (message, fields) => complain(message, JSON.stringify(fields)) });
  }
  if (dataDir === undefined) throw new Error("Name the event bus with --bus NAME or EVENT_BUS.");
  return embeddedPublisher(eventsIn(dataDir), { onEvent: eventQueueIn(dataDir).put, onError: complain });
}

function readEvent(row: Item): Event[] {
  try {
    return [eventOf(StoredChange.parse(row))];
  } catch {
    return [];
  }
}

type Counts = { accounts: number; published: number; unreadable: number };

/**
 * Publishes an account's changes again, oldest first. Skips and counts the changes that cannot be read. Throws if a
 * change cannot be published.
 */
async function replayAccount(
  table: Table,
  accountId: string,
  span: { sinceMs: number; untilMs: number },
  { publish, counts }: { publish: EventPublisher; counts: Counts },
): Promise<void> {
  counts.accounts += 1;
  for await (const rows of readChangePages(table, accountId, span)) {
    const events = rows.flatMap(readEvent);
    counts.unreadable += rows.length - events.length;
    const failed = await publishInOrder(publish, events);
    counts.published += events.length - failed.length;
    const [first] = failed.map((index) => events[index]);
    if (first) {
      throw new Error(
        `${counts.published} events were published. ${failed.length} events of account ${accountId} were not. The first of ` +
          `these is from ${first.timestamp}. Run the command again. It publishes all events again, also those that were published already, so consumers must accept repeated events.`,
      );
    }
  }
}

async function replay(
  table: Table,
  options: Record<string, string>,
  location: TableLocation,
): Promise<Record<string, unknown>> {
  const { since = "", until, account, bus } = options;
  const span = { sinceMs: Date.parse(since), untilMs: until === undefined ? Infinity : Date.parse(until) };
  if (span.untilMs <= span.sinceMs) throw new Misuse("--until: Write a time after --since");
  const publish = publisherFor(
    location,
    bus ?? (location.dataDir === undefined ? process.env["EVENT_BUS"] : undefined),
  );
  const counts: Counts = { accounts: 0, published: 0, unreadable: 0 };
  const ids = account === undefined ? accountIds(table) : [(await getAccount(table, account)).id];
  for await (const id of ids) await replayAccount(table, id, span, { publish, counts });
  return counts;
}

async function listDeadLetters({ dataDir }: TableLocation): Promise<Record<string, unknown>> {
  if (dataDir === undefined) {
    throw new Error(
      "A deployment keeps its dead letters in an SQS queue. docs/operators-events.md describes how to read the queue.",
    );
  }
  const letters = await newestOf(deadLettersIn(dataDir), DeadLetter);
  return { count: letters.length, dead_letters: letters };
}

/** The operator's commands for the events of changes. */
export const eventCommands: Record<string, Command> = {
  "events replay": {
    summary: "Publish the changes of a time range again, account by account, oldest first in each account.",
    options: {
      since: { description: "The start of the range, such as 2026-07-01T12:00:00Z.", schema: Time },
      until: {
        description: "The end of the range, not included. By default the range has no end.",
        schema: Time.optional(),
      },
      account: { description: "The id of one account. By default all accounts.", schema: Id.optional() },
      bus: {
        description: "For a deployed table, the name of the event bus. By default EVENT_BUS.",
        schema: z.string().min(1).optional(),
      },
    },
    run: replay,
  },
  "events dead-letters": {
    summary: "List the changes that the local product could not publish or deliver.",
    options: {},
    run: (_table, _options, location) => listDeadLetters(location),
  },
};
