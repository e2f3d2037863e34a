import { randomUUID } from "node:crypto";

import type { DynamoDBRecord, DynamoDBStreamEvent } from "aws-lambda";

import { ensureTable } from "../../infra/local/table/engine.ts";
import { accountsMatching } from "../../shared/accounts/account.ts";
import type { Change } from "../../shared/changes/kind.ts";
import { type Event, recordWrites, type Author } from "../../shared/changes/record.ts";
import { TableClient } from "../../shared/table/client.ts";
import { appendRows, readList } from "../../shared/table/ranked-list.ts";
import { openTable, type Table } from "../../shared/table/table.ts";
import { afterCommits } from "./table-calls.ts";

const author: Author = { action: "things.update", actor: { type: "user", id: "u-1" }, requestId: "r-1" };

/** A table of its own on the tests' engine. No other test changes it. */
export async function newTable(): Promise<Table> {
  const name = `changes-${randomUUID()}`;
  await ensureTable(process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "", name);
  return openTable(new TableClient(), name);
}

/** Makes an account that is only in the list of all accounts. */
export async function listedAccount(table: Table): Promise<string> {
  const id = randomUUID();
  await table.commit(async () => {
    const { state } = await readList(table, accountsMatching({}));
    return { value: undefined, writes: appendRows(state, [{ account_id: id }]) };
  });
  return id;
}

/** A change of a thing to the new state `{ n }`. */
export const changeOf = (resourceId: string, n: number): Change => ({
  type: "thing.updated",
  resource: { type: "thing", id: resourceId },
  before: { n: n - 1 },
  after: { n },
});

/** Records changes of an account as the transaction of a change does, by default later than the last change. */
export async function record(table: Table, accountId: string, changes: Change[], now?: Date): Promise<void> {
  await afterCommits();
  const writes = recordWrites(accountId, changes, author, now ?? new Date());
  await table.commit(async () => ({ value: undefined, writes }));
}

/** Writes a row that looks like a change, but cannot be read as one. Returns its id. */
export async function recordPoison(table: Table, accountId: string, now = new Date()): Promise<string> {
  const [first] = recordWrites(accountId, [changeOf("poison", 0)], author, now);
  if (!first || !("put" in first)) throw new Error("recordWrites puts no row first");
  const { PK, SK, id } = first.put;
  await table.commit(async () => ({ value: undefined, writes: [{ put: { PK, SK, id, after: "{" } }] }));
  return String(id);
}

const attributesOf = (item: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(item)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, typeof value === "number" ? { N: String(value) } : { S: String(value) }]),
  );

let sequence = 100_000_000_000_000_000_000n;

/** The INSERT record of an item, as DynamoDB puts it into a stream. */
function recordOfItem({ PK, SK, ...rest }: Record<string, unknown>): DynamoDBRecord {
  sequence += 1n;
  return {
    eventName: "INSERT",
    eventSource: "aws:dynamodb",
    dynamodb: {
      Keys: attributesOf({ PK, SK }),
      NewImage: attributesOf({ PK, SK, ...rest }),
      SequenceNumber: String(sequence),
    },
  };
}

/** The stream's records of everything that one transaction with these changes writes, including counters. */
export const recordsOf = (accountId: string, changes: Change[]): DynamoDBRecord[] =>
  recordWrites(accountId, changes, author, new Date()).map((write) =>
    "put" in write
      ? recordOfItem(write.put)
      : { ...recordOfItem("update" in write ? write.update : {}), eventName: "MODIFY" },
  );

/** The record of a change that cannot be read. */
export const poisonRecord = (accountId: string): DynamoDBRecord =>
  recordOfItem({ PK: `ACCOUNT#${accountId}`, SK: `JOURNAL#changes#ENTRY#${randomUUID()}`, after: "{" });

export const streamEvent = (...records: DynamoDBRecord[]): DynamoDBStreamEvent => ({ Records: records });

/** The thing of an event and its state, such as `a1`. */
export const labelOf = ({ resource, data }: Event): string => `${resource.id}${String(data["n"])}`;
