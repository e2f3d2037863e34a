import { GetItemCommand } from "@aws-sdk/client-dynamodb";

import { client, members, ordinalOf, rowKey, TableName } from "./table.mjs";

/** The smallest handler for cold starts: a client, one GetItem, and JSON. */
export async function handler({ pathParameters: { account_id, workspace_id } }) {
  const { PK, SK } = rowKey(account_id, ordinalOf(workspace_id));
  const Key = { PK: { S: PK }, SK: { S: SK } };
  const { Item } = await client.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }));
  const body = JSON.stringify(Object.fromEntries(members.map((name) => [name, Item[name].S])));
  return { statusCode: 200, headers: { "content-type": "application/json" }, body };
}
