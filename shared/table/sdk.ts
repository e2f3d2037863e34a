import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  BatchGetCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
} from "@aws-sdk/lib-dynamodb";

import type { TableOperation, Send } from "./operations.ts";

const commands = {
  GetItem: GetCommand,
  BatchGetItem: BatchGetCommand,
  Query: QueryCommand,
  PutItem: PutCommand,
  UpdateItem: UpdateCommand,
  DeleteItem: DeleteCommand,
  TransactWriteItems: TransactWriteCommand,
} satisfies Record<TableOperation, unknown>;

/**
 * Sends operations through the AWS SDK, which decides about credentials, retries and errors. In a bundle this file lies
 * beside the code of the Lambda, and is loaded when it is first needed.
 */
export function sdkSender(place: { endpoint?: string }): Send {
  const client = new DynamoDBClient({
    ...place,
    maxAttempts: 3,
    // With the lane's attempt, these end before the Lambda of a route times out, so that the caller gets our 503.
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true },
  });
  const documents = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
  // The commands' types are a union that TypeScript cannot follow by the operation's name.
  return (operation, input) => documents.send(new commands[operation](input as never) as never) as never;
}
