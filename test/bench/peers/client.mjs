import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";

/** The options of the product's own client. */
export const options = {
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true },
};

export const client = DynamoDBDocumentClient.from(new DynamoDBClient(options), {
  marshallOptions: { removeUndefinedValues: true },
});

export const TableName = process.env.TABLE_NAME;

export const partitionOf = (accountId) => `ACCOUNT#${accountId}`;
export const headKey = (accountId) => ({ PK: partitionOf(accountId), SK: "LIST#workspaces#HEAD" });
export const rowName = (ordinal) => `LIST#workspaces#ROW#${String(ordinal).padStart(10, "0")}`;

/** The ordinal that an id of a workspace carries in its first 40 bits. */
export const ordinalOf = (id) => Number.parseInt(id.slice(0, 8) + id.slice(9, 11), 16);

/** What a caller sees of a stored workspace. */
export const viewOf = ({ id, account_id, name, status, created_at, updated_at }) => ({
  id,
  account_id,
  name,
  status,
  created_at,
  updated_at,
});
