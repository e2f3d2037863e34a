import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";

const client = new DynamoDBClient({
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true },
});
const members = ["id", "account_id", "name", "status", "created_at", "updated_at"];
const headers = { "content-type": "application/json" };

/** The floor of cold starts: a client, one GetItem, and JSON. */
export async function handler({ pathParameters: { account_id, workspace_id: id } }) {
  const ordinal = Number.parseInt(id.slice(0, 8) + id.slice(9, 11), 16);
  const SK = `LIST#workspaces#ROW#${String(ordinal).padStart(10, "0")}`;
  const Key = { PK: { S: `ACCOUNT#${account_id}` }, SK: { S: SK } };
  const get = new GetItemCommand({ TableName: process.env.TABLE_NAME, Key, ConsistentRead: true });
  const { Item } = await client.send(get);
  const body = Object.fromEntries(members.map((name) => [name, Item[name].S]));
  return { statusCode: 200, headers, body: JSON.stringify(body) };
}
