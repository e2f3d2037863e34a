import { setTimeout as delay } from "node:timers/promises";

import type { AttributeValue, DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from "aws-lambda";

import type { Item } from "../../../shared/table/writes.ts";
import type { DeadLetter } from "./event-log.ts";

export type EventSourceOptions = {
  handler: (event: DynamoDBStreamEvent) => Promise<DynamoDBBatchResponse>;
  /** Stores a record that could not be delivered. If `onDeadLetter` rejects, the delivery rejects too. */
  onDeadLetter: (letter: DeadLetter) => Promise<void>;
  retries?: number;
  /** The delay before the first retry, in milliseconds. Each retry doubles the delay. */
  retryDelayMs?: number;
};

/** Delivers rows to the handler in order. Resolves when every row has been handled or is a dead letter. */
export type Deliver = (rows: readonly Item[]) => Promise<void>;

/**
 * Runs a stream's event source mapping in this process, with bisection, partial batch responses, bounded retries and
 * dead letters. Rows become the INSERT records of a DynamoDB stream.
 */
export function eventSource(options: EventSourceOptions): Deliver {
  return (rows) => deliverRecords(rows.map(recordOf), options);
}

async function deliverRecords(records: readonly DynamoDBRecord[], options: EventSourceOptions): Promise<void> {
  const { handler, onDeadLetter, retries = 6, retryDelayMs = 50 } = options;
  let remaining = records;
  /** The number of failed attempts at the first remaining record. */
  let tries = 0;
  while (remaining.length > 0) {
    const { failedAt, threw, reason } = await invoke(handler, remaining);
    if (failedAt === undefined) return;
    if (threw && remaining.length > 1) {
      const middle = Math.ceil(remaining.length / 2);
      await deliverRecords(remaining.slice(0, middle), options);
      await deliverRecords(remaining.slice(middle), options);
      return;
    }
    tries = failedAt === 0 ? tries + 1 : 1;
    remaining = remaining.slice(failedAt);
    if (tries <= retries) await delay(retryDelayMs * 2 ** (tries - 1));
    else {
      await onDeadLetter(letterOf(remaining[0], reason));
      remaining = remaining.slice(1);
      tries = 0;
    }
  }
}

type BatchOutcome = { failedAt: number | undefined; threw: boolean; reason: string };

/**
 * Calls the handler. `failedAt` is the index of the first failed record. `failedAt` is 0 if the handler threw, and
 * undefined on success.
 */
async function invoke(
  handler: EventSourceOptions["handler"],
  records: readonly DynamoDBRecord[],
): Promise<BatchOutcome> {
  try {
    const { batchItemFailures } = await handler({ Records: [...records] });
    const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
    const at = records.findIndex(({ dynamodb }) => failed.has(dynamodb?.SequenceNumber ?? ""));
    // Lambda considers the whole batch failed if the handler names an unknown record.
    const failedAt = failed.size === 0 ? undefined : Math.max(at, 0);
    return { failedAt, threw: false, reason: "could not be read or published" };
  } catch (error) {
    return { failedAt: 0, threw: true, reason: error instanceof Error ? error.message : String(error) };
  }
}

const letterOf = (record: DynamoDBRecord | undefined, reason: string): DeadLetter => ({
  at: new Date().toISOString(),
  pk: record?.dynamodb?.Keys?.["PK"]?.S ?? "",
  sk: record?.dynamodb?.Keys?.["SK"]?.S ?? "",
  reason,
});

/** Converts a new row to a stream record. The sequence number is the row's position in the batch. */
function recordOf(row: Item, index: number): DynamoDBRecord {
  const { PK, SK } = row;
  return {
    eventID: SK.split("#").at(-1) ?? SK,
    eventName: "INSERT",
    eventVersion: "1.1",
    eventSource: "aws:dynamodb",
    awsRegion: "local",
    dynamodb: {
      Keys: { PK: { S: PK }, SK: { S: SK } },
      NewImage: Object.fromEntries(Object.entries(row).map(([name, value]) => [name, attributeOf(value)])),
      SequenceNumber: String(index + 1).padStart(21, "0"),
      StreamViewType: "NEW_AND_OLD_IMAGES",
    },
  };
}

/** Converts an attribute. The row of a change has only strings and numbers. Any other value becomes its JSON text. */
const attributeOf = (value: unknown): AttributeValue =>
  typeof value === "number" ? { N: String(value) } : { S: typeof value === "string" ? value : JSON.stringify(value) };
