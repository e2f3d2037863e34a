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
 * Sends operations through the AWS SDK, which decides about credentials, retries and errors. In the bundle of a Lambda,
 * this file is separate from the main code, so that the SDK is loaded only when it is needed.
 */
export function sdkSender(options: { endpoint?: string }): Send {
  const client = new DynamoDBClient({
    ...options,
    maxAttempts: 3,
    // The attempt of our own client (lane.ts) and the SDK's attempts end before a route's Lambda times out, so that the
    // caller gets our 503.
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true },
  });
  const documents = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
  // TypeScript cannot choose the types of the command by the name of the operation.
  return (operation, input) => documents.send(new commands[operation](input as never) as never) as never;
}
