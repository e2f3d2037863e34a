import { ConditionalCheckFailedException } from "@aws-sdk/client-dynamodb";
import { DeleteCommand, PutCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";

import { call, type Connection } from "./connection.ts";
import { scalars } from "./failures.ts";
import { toTransactItem, type Write } from "./writes.ts";

/**
 * The result of one conditional write: the attributes that an update changed, or the item that failed the condition.
 */
export type Attempt = { done: true; updated: Record<string, unknown> } | { done: false; found: Record<string, string> };

const options = { ReturnConsumedCapacity: "TOTAL", ReturnValuesOnConditionCheckFailure: "ALL_OLD" } as const;

/** Makes one write outside of any transaction. */
export async function attempt(connection: Connection, write: Write): Promise<Attempt> {
  const { client, name } = connection;
  const { Put, Update, Delete } = toTransactItem(name, write);
  try {
    const { Attributes = {} } = await call(connection, "writeUnits", async () => {
      if (Put) return client.send(new PutCommand({ ...Put, ...options }));
      if (Update) return client.send(new UpdateCommand({ ...Update, ...options, ReturnValues: "UPDATED_NEW" }));
      if (Delete) return client.send(new DeleteCommand({ ...Delete, ...options }));
      throw new Error("a check alone is no write");
    });
    return { done: true, updated: Attributes };
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
    return { done: false, found: scalars(error.Item) };
  }
}
