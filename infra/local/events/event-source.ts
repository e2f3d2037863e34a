import { setTimeout as delay } from "node:timers/promises";

import type { AttributeValue, DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from "aws-lambda";

import type { Item } from "../../../shared/table/writes.ts";
import type { DeadLetter } from "./event-log.ts";

export type EventSourceOptions = {
  handler: (event: DynamoDBStreamEvent) => Promise<DynamoDBBatchResponse>;
  /** Takes what was given up. A rejection of it leaves the record undelivered. */
  onDeadLetter: (letter: DeadLetter) => Promise<void>;
  retries?: number;
  /** Before the first retry; it doubles from one to the next. */
  retryDelayMs?: number;
};

/** Brings rows to the handler, in their order; resolves when each was taken or is a dead letter. */
export type Deliver = (rows: readonly Item[]) => Promise<void>;

/**
 * A stream's event source mapping with bisection, partial batch responses, bounded retries and a destination for
 * what failed, done in this process: rows become the INSERT records of a DynamoDB stream.
 */
export function eventSource(options: EventSourceOptions): Deliver {
  return (rows) => deliver(rows.map(recordOf), options);
}

async function deliver(records: readonly DynamoDBRecord[], options: EventSourceOptions): Promise<void> {
  const { handler, onDeadLetter, retries = 6, retryDelayMs = 50 } = options;
  let left = records;
  /** How often the record that failed last was tried. */
  let tries = 0;
  while (left.length > 0) {
    const { failedAt, threw, reason } = await invoke(handler, left);
    if (failedAt === undefined) return;
    if (threw && left.length > 1) {
      const middle = Math.ceil(left.length / 2);
      await deliver(left.slice(0, middle), options);
      await deliver(left.slice(middle), options);
      return;
    }
    tries = failedAt === 0 ? tries + 1 : 1;
    left = left.slice(failedAt);
    if (tries <= retries) await delay(retryDelayMs * 2 ** (tries - 1));
    else {
      await onDeadLetter(letterOf(left[0], reason));
      left = left.slice(1);
      tries = 0;
    }
  }
}

type Outcome = { failedAt: number | undefined; threw: boolean; reason: string };

/** Where a batch failed: nowhere, at the lowest record the handler names, or at its first when it threw. */
async function invoke(handler: EventSourceOptions["handler"], records: readonly DynamoDBRecord[]): Promise<Outcome> {
  try {
    const { batchItemFailures } = await handler({ Records: [...records] });
    const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
    const at = records.findIndex(({ dynamodb }) => failed.has(dynamodb?.SequenceNumber ?? ""));
    // Lambda takes a batch for failed as a whole when it does not know what the handler names.
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

/** A stream's record of a new row. The row's own place in the order serves as sequence number. */
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

/** A change's row holds strings and numbers; whatever else there is arrives as text that says what it was. */
const attributeOf = (value: unknown): AttributeValue =>
  typeof value === "number" ? { N: String(value) } : { S: typeof value === "string" ? value : JSON.stringify(value) };
