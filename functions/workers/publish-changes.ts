import type { AttributeValue, DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from "aws-lambda";
import * as z from "zod";

import { changeKeyPrefix } from "../../shared/changes/history.ts";
import { eventOf, type Event, StoredChange } from "../../shared/changes/record.ts";
import { createLog, type Log } from "../../shared/core/log.ts";
import { eventBridgePublisher, type EventPublisher } from "../../shared/providers/events/events.ts";
import { publishInOrder } from "../../shared/webhooks/publish.ts";

export type StreamHandler = (event: DynamoDBStreamEvent) => Promise<DynamoDBBatchResponse>;

type Services = { publish: EventPublisher; log: Log };

type ReadRecord = { record: DynamoDBRecord; event: Event };

/**
 * Builds the handler that publishes the changes in a stream's records, in order per resource and at least once.
 * - Reports the first record that must be retried, because it was not published or cannot be read. The records after an
 *   unreadable record wait.
 * - Rejects a batch of several records that begins with an unreadable record. Lambda then splits the batch, until only
 *   the unreadable record goes to the dead letters.
 */
export function publishChanges(open: () => Services): StreamHandler {
  let opened: Services | undefined;
  return async ({ Records }) => {
    const { publish, log } = (opened ??= open());
    const { read, unreadable } = readUntilUnreadable(Records, log);
    if (unreadable !== undefined && unreadable === Records[0] && Records.length > 1) {
      throw new Error("The first change of the batch cannot be read.");
    }
    const failedIndexes = await publishInOrder(
      publish,
      read.map(({ event }) => event),
    );
    const oldest = read[0]?.event.timestamp;
    log.info("changes", {
      count: read.length,
      failures: failedIndexes.length + (unreadable ? 1 : 0),
      ...(oldest === undefined ? {} : { lag_ms: Date.now() - Date.parse(oldest) }),
    });
    const [firstFailed] = failedIndexes;
    const retried = firstFailed === undefined ? unreadable : read[firstFailed]?.record;
    return { batchItemFailures: retried ? [{ itemIdentifier: retried.dynamodb?.SequenceNumber ?? "" }] : [] };
  };
}

/** The events before the first unreadable record, with their records, and the unreadable record if there is one. */
function readUntilUnreadable(
  records: readonly DynamoDBRecord[],
  log: Log,
): { read: ReadRecord[]; unreadable?: DynamoDBRecord } {
  const read: ReadRecord[] = [];
  for (const record of records.filter(isChange)) {
    const event = readEvent(record, log);
    if (event === undefined) return { read, unreadable: record };
    read.push({ record, event });
  }
  return { read };
}

const isChange = ({ eventName, dynamodb }: DynamoDBRecord): boolean =>
  eventName === "INSERT" && (dynamodb?.Keys?.["SK"]?.S ?? "").startsWith(changeKeyPrefix);

/**
 * Reads the event in a record; undefined if the record is unreadable. The content is not logged, because it may hold
 * names and addresses.
 */
function readEvent({ dynamodb = {} }: DynamoDBRecord, log: Log): Event | undefined {
  const { SequenceNumber: sequence_number, NewImage = {}, Keys } = dynamodb;
  try {
    return eventOf(StoredChange.parse(scalarsOf(NewImage)));
  } catch (error) {
    const reason = error instanceof z.ZodError ? error.issues.map(({ path }) => path.join(".")) : errorName(error);
    log.error("change not readable", { sequence_number, key: Keys?.["SK"]?.S, reason });
    return undefined;
  }
}

const errorName = (error: unknown): string => (error instanceof Error ? error.name : "unknown");

/** The string and number attributes of an image. The row of a change has only such attributes. */
function scalarsOf(image: Record<string, AttributeValue>): Record<string, string | number> {
  const scalars: [string, string | number][] = [];
  for (const [name, { S, N }] of Object.entries(image)) {
    if (S !== undefined) scalars.push([name, S]);
    else if (N !== undefined) scalars.push([name, Number(N)]);
  }
  return Object.fromEntries(scalars);
}

const Environment = z.object({
  EVENT_BUS: z.string().min(1),
  LOG_LEVEL: z.enum(["debug", "info", "error", "silent"]).default("info"),
});

/** Publishes the changes of the table's stream to the event bus in EVENT_BUS. */
export const handler = publishChanges(() => {
  const { EVENT_BUS, LOG_LEVEL } = Environment.parse(process.env);
  const log = createLog(LOG_LEVEL, { worker: "publish_changes" });
  return { publish: eventBridgePublisher(EVENT_BUS, log), log };
});
