import type { ConditionalCheckFailedException } from "@aws-sdk/client-dynamodb";

import { roundTrip, type Connection } from "./client.ts";
import { scalars } from "./failures.ts";
import { toTransactItem, type Write } from "./writes.ts";

/**
 * The result of one conditional write: the attributes that an update changed, or the item that failed the condition.
 */
export type Attempt = { done: true; updated: Record<string, unknown> } | { done: false; found: Record<string, string> };

const callOptions = { ReturnConsumedCapacity: "TOTAL", ReturnValuesOnConditionCheckFailure: "ALL_OLD" } as const;

/** Makes one write outside of any transaction. */
export async function attempt(connection: Connection, write: Write): Promise<Attempt> {
  const { client, name } = connection;
  const { Put, Update, Delete } = toTransactItem(name, write);
  try {
    const { Attributes = {} } = await roundTrip(connection, "writeUnits", async () => {
      if (Put) return client.send("PutItem", { ...Put, ...callOptions });
      if (Update) return client.send("UpdateItem", { ...Update, ...callOptions, ReturnValues: "UPDATED_NEW" });
      if (Delete) return client.send("DeleteItem", { ...Delete, ...callOptions });
      throw new Error("A check alone is not a write.");
    });
    return { done: true, updated: Attributes };
  } catch (error) {
    if (!isConditionFailure(error)) throw error;
    return { done: false, found: scalars(error.Item) };
  }
}

/** The SDK's class of this error is loaded only with the SDK, so its name tells it. */
const isConditionFailure = (error: unknown): error is ConditionalCheckFailedException =>
  error instanceof Error && error.name === "ConditionalCheckFailedException";
