import { DynamoDBClient } from "@aws-sdk/client-dynamodb";

/** A client with the options of the product's client. */
export const client = new DynamoDBClient({
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true },
});
export const TableName = process.env.TABLE_NAME;

export const members = ["id", "account_id", "name", "status", "created_at", "updated_at"];

/** The ordinal in the first 40 bits of an id. */
export const ordinalOf = (id) => Number.parseInt(id.slice(0, 8) + id.slice(9, 11), 16);
export const keyOf = (accountId, SK) => ({ PK: `ACCOUNT#${accountId}`, SK });
export const rowKey = (accountId, ordinal) =>
  keyOf(accountId, `LIST#workspaces#ROW#${String(ordinal).padStart(10, "0")}`);
