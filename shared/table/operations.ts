import type {
  BatchGetCommandInput,
  BatchGetCommandOutput,
  DeleteCommandInput,
  DeleteCommandOutput,
  GetCommandInput,
  GetCommandOutput,
  PutCommandInput,
  PutCommandOutput,
  QueryCommandInput,
  QueryCommandOutput,
  TransactWriteCommandInput,
  TransactWriteCommandOutput,
  UpdateCommandInput,
  UpdateCommandOutput,
} from "@aws-sdk/lib-dynamodb";

/** The operations of DynamoDB that the table uses, with plain JavaScript values in place of attribute values. */
type Operations = {
  GetItem: { input: GetCommandInput; output: GetCommandOutput };
  BatchGetItem: { input: BatchGetCommandInput; output: BatchGetCommandOutput };
  Query: { input: QueryCommandInput; output: QueryCommandOutput };
  PutItem: { input: PutCommandInput; output: PutCommandOutput };
  UpdateItem: { input: UpdateCommandInput; output: UpdateCommandOutput };
  DeleteItem: { input: DeleteCommandInput; output: DeleteCommandOutput };
  TransactWriteItems: { input: TransactWriteCommandInput; output: TransactWriteCommandOutput };
};

export type TableOperation = keyof Operations;
export type Input<O extends TableOperation> = Operations[O]["input"];
export type Output<O extends TableOperation> = Omit<Operations[O]["output"], "$metadata">;

/** Sends one operation, and throws the errors of the AWS SDK. */
export type Send = <O extends TableOperation>(operation: O, input: Input<O>) => Promise<Output<O>>;
