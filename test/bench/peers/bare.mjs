import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";

const client = new DynamoDBClient({
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true },
});
const members = ["id", "account_id", "name", "status", "created_at", "updated_at"];

/** The floor of cold starts: a client, one GetItem, and JSON. */
export async function handler({ pathParameters: { account_id: accountId, workspace_id: id } }) {
  const ordinal = Number.parseInt(id.slice(0, 8) + id.slice(9, 11), 16);
  const key = { PK: `ACCOUNT#${accountId}`, SK: `LIST#workspaces#ROW#${String(ordinal).padStart(10, "0")}` };
  const { Item } = await client.send(
    new GetItemCommand({
      TableName: process.env.TABLE_NAME,
      Key: { PK: { S: key.PK }, SK: { S: key.SK } },
      ConsistentRead: true,
    }),
  );
  return {
    statusCode: 200,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(Object.fromEntries(members.map((name) => [name, Item[name].S]))),
  };
}
