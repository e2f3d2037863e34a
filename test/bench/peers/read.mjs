import { GetCommand } from "@aws-sdk/lib-dynamodb";

import { client, ordinalOf, partitionOf, rowName, TableName, viewOf } from "./client.mjs";

/** A workspace by one read; undefined when there is none. */
export async function read(accountId, id) {
  const Key = { PK: partitionOf(accountId), SK: rowName(ordinalOf(id)) };
  const { Item } = await client.send(new GetCommand({ TableName, Key, ConsistentRead: true }));
  return Item?.id === id ? viewOf(Item) : undefined;
}
