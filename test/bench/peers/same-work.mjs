import { randomUUID } from "node:crypto";

import { BatchGetCommand, GetCommand, QueryCommand, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";

import { writesOf } from "./bare-work.mjs";
import { client, headKey, ordinalOf, partitionOf, rowName, TableName, viewOf } from "./client.mjs";

/*
 * The calls of the table that the product makes for the same three requests, one for one and in the same order. What they
 * bring is not looked at: nobody is authorized by them.
 */

const userId = process.env.BENCH_USER;

async function getMany(Keys) {
  const { Responses } = await client.send(
    new BatchGetCommand({
      RequestItems: { [TableName]: { Keys, ConsistentRead: true } },
      ReturnConsumedCapacity: "TOTAL",
    }),
  );
  return Responses[TableName];
}

const accessKey = (accountId) => ({ PK: partitionOf(accountId), SK: `ACCESS#user#${userId}` });
const accountKey = (accountId) => ({ PK: partitionOf(accountId), SK: "ACCOUNT" });

export async function read(accountId, id) {
  await getMany([accessKey(accountId)]);
  const Key = { PK: partitionOf(accountId), SK: rowName(ordinalOf(id)) };
  const { Item } = await client.send(
    new GetCommand({ TableName, Key, ConsistentRead: true, ReturnConsumedCapacity: "TOTAL" }),
  );
  return Item?.id === id ? viewOf(Item) : undefined;
}

export async function list(accountId, page, pageSize) {
  await getMany([accessKey(accountId)]);
  const [head] = await getMany([headKey(accountId)]);
  const from = (page - 1) * pageSize;
  const { Items } = await client.send(
    new QueryCommand({
      TableName,
      KeyConditionExpression: "PK = :partition AND SK BETWEEN :from AND :to",
      ExpressionAttributeValues: {
        ":partition": partitionOf(accountId),
        ":from": rowName(from),
        ":to": rowName(from + pageSize - 1),
      },
      ConsistentRead: true,
      ReturnConsumedCapacity: "TOTAL",
    }),
  );
  return { items: Items.map(viewOf), total: head.live, page, page_size: pageSize };
}

export async function add(accountId, name) {
  await getMany([accessKey(accountId), accountKey(accountId)]);
  const [head] = await getMany([headKey(accountId)]);
  const { workspace, writes } = writesOf(accountId, name, head);
  const recorded = [entryOf(accountId, viewOf(workspace)), countOf(accountId)];
  await client.send(
    new TransactWriteCommand({
      ClientRequestToken: randomUUID(),
      TransactItems: [...writes, ...recorded],
      ReturnConsumedCapacity: "TOTAL",
    }),
  );
  return viewOf(workspace);
}

/** An entry as long as the product's record of the same change. */
function entryOf(accountId, after) {
  const id = randomUUID();
  return {
    Put: {
      TableName,
      Item: {
        PK: partitionOf(accountId),
        SK: `JOURNAL#bench#ENTRY#${id}`,
        id,
        type: "workspace.created",
        account_id: accountId,
        at: after.created_at,
        action: "workspaces.add",
        actor_type: "user",
        actor_id: userId,
        actor_email: `${userId}@example.com`,
        source_ip: "127.0.0.1",
        request_id: "AAAAAAAAAAAAAAA=",
        resource_type: "workspace",
        resource_id: after.id,
        after: JSON.stringify(after),
        ttl: Math.floor(Date.now() / 1000) + 34_560_000,
      },
      ConditionExpression: "attribute_not_exists(PK)",
    },
  };
}

function countOf(accountId) {
  return {
    Update: {
      TableName,
      Key: { PK: partitionOf(accountId), SK: "JOURNAL#bench#COUNT#0" },
      UpdateExpression: "SET #ttl = :ttl ADD #day :one",
      ExpressionAttributeNames: { "#ttl": "ttl", "#day": "d1" },
      ExpressionAttributeValues: { ":ttl": Math.floor(Date.now() / 1000) + 34_560_000, ":one": 1 },
    },
  };
}
