import { createHash, randomBytes, randomUUID } from "node:crypto";

import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  BatchGetCommand,
  DynamoDBDocumentClient,
  GetCommand,
  QueryCommand,
  TransactWriteCommand,
} from "@aws-sdk/lib-dynamodb";

/*
 * The routes that all frameworks serve: what they do, without a framework. `bare` makes only the calls of the table that
 * answer. `same` makes the product's calls, one for one and in the same order, and does not look at what they return
 * beyond the answer: nobody is authorized. `read` is the one route of a cold start.
 */

/** A client with the options of the product's own. */
const client = DynamoDBDocumentClient.from(
  new DynamoDBClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true },
  }),
  { marshallOptions: { removeUndefinedValues: true } },
);
const TableName = process.env.TABLE_NAME;
const userId = process.env.BENCH_USER;
const counted = { ReturnConsumedCapacity: "TOTAL" };

const partitionOf = (accountId) => `ACCOUNT#${accountId}`;
const keyOf = (accountId, SK) => ({ PK: partitionOf(accountId), SK });
const headKey = (accountId) => keyOf(accountId, "LIST#workspaces#HEAD");
const rowName = (ordinal) => `LIST#workspaces#ROW#${String(ordinal).padStart(10, "0")}`;
const viewOf = ({ id, account_id, name, status, created_at, updated_at }) => ({
  id,
  account_id,
  name,
  status,
  created_at,
  updated_at,
});

async function getOne(Key, more = {}) {
  return (await client.send(new GetCommand({ TableName, Key, ConsistentRead: true, ...more }))).Item;
}

async function getMany(Keys) {
  const RequestItems = { [TableName]: { Keys, ConsistentRead: true } };
  return (await client.send(new BatchGetCommand({ RequestItems, ...counted }))).Responses[TableName];
}

/** Reads a workspace by the ordinal that its id carries in its first 40 bits. */
async function readRow(accountId, id, more) {
  const ordinal = Number.parseInt(id.slice(0, 8) + id.slice(9, 11), 16);
  const item = await getOne(keyOf(accountId, rowName(ordinal)), more);
  return item?.id === id
    ? { status: 200, body: viewOf(item) }
    : { status: 404, body: { code: "not_found", status: 404, title: "Not found" } };
}

async function queryRows(accountId, page, pageSize, more) {
  const from = (page - 1) * pageSize;
  const query = {
    TableName,
    KeyConditionExpression: "PK = :partition AND SK BETWEEN :from AND :to",
    ExpressionAttributeValues: {
      ":partition": partitionOf(accountId),
      ":from": rowName(from),
      ":to": rowName(from + pageSize - 1),
    },
    ConsistentRead: true,
    ...more,
  };
  return (await client.send(new QueryCommand(query))).Items;
}

const pageOf = (items, head, page, pageSize) => ({
  status: 200,
  body: { items: items.map(viewOf), total: head?.live ?? 0, page, page_size: pageSize },
});

/** A new workspace, and the writes that put it into its list and claim its name. */
function planAdd(accountId, name, head) {
  const at = new Date().toISOString();
  const folded = createHash("sha256").update(name.normalize("NFKC").toLowerCase()).digest("hex");
  // A UUIDv8 that carries the ordinal, as the product's ids do.
  const text = head.next.toString(16).padStart(10, "0") + randomBytes(11).toString("hex");
  const id = text.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-8$3-8$4-$5");
  const own = { id, account_id: accountId, name, status: "active", created_at: at, updated_at: at };
  const next = { ...head, next: head.next + 1, live: head.live + 1, version: head.version + 1 };
  const ConditionExpression = "version = :version";
  const writes = [
    { Put: { TableName, Item: next, ConditionExpression, ExpressionAttributeValues: { ":version": head.version } } },
    putNew({ ...keyOf(accountId, rowName(head.next)), ...own, domain_count: 0, version: 1 }),
    putNew({ ...keyOf(accountId, `WORKSPACE_NAME#${folded}`), id }),
  ];
  return { answer: { status: 201, body: viewOf(own) }, writes };
}

const putNew = (Item) => ({ Put: { TableName, Item, ConditionExpression: "attribute_not_exists(PK)" } });

/** The writes of the audit log: an entry as long as the product's, and the day's count. */
function planRecord(accountId, after) {
  const id = randomUUID();
  const ttl = Math.floor(Date.now() / 1000) + 34_560_000;
  const entry = {
    ...keyOf(accountId, `JOURNAL#bench#ENTRY#${id}`),
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
    ttl,
  };
  const count = {
    TableName,
    Key: keyOf(accountId, "JOURNAL#bench#COUNT#0"),
    UpdateExpression: "SET #ttl = :ttl ADD #day :one",
    ExpressionAttributeNames: { "#ttl": "ttl", "#day": "d1" },
    ExpressionAttributeValues: { ":ttl": ttl, ":one": 1 },
  };
  return [putNew(entry), { Update: count }];
}

async function listBare(accountId, page, pageSize) {
  const [head, items] = await Promise.all([getOne(headKey(accountId)), queryRows(accountId, page, pageSize)]);
  return pageOf(items, head, page, pageSize);
}

async function addBare(accountId, name) {
  const { answer, writes } = planAdd(accountId, name, await getOne(headKey(accountId)));
  await client.send(new TransactWriteCommand({ TransactItems: writes }));
  return answer;
}

const accessKey = (accountId) => keyOf(accountId, `ACCESS#user#${userId}`);

async function readSame(accountId, id) {
  await getMany([accessKey(accountId)]);
  return readRow(accountId, id, counted);
}

async function listSame(accountId, page, pageSize) {
  await getMany([accessKey(accountId)]);
  const [head] = await getMany([headKey(accountId)]);
  return pageOf(await queryRows(accountId, page, pageSize, counted), head, page, pageSize);
}

async function addSame(accountId, name) {
  await getMany([accessKey(accountId), keyOf(accountId, "ACCOUNT")]);
  const [head] = await getMany([headKey(accountId)]);
  const { answer, writes } = planAdd(accountId, name, head);
  const TransactItems = [...writes, ...planRecord(accountId, answer.body)];
  await client.send(new TransactWriteCommand({ ClientRequestToken: randomUUID(), TransactItems, ...counted }));
  return answer;
}

/** The paths are written as the peers' routers write parameters. */
const path = "/v1/public/accounts/:account_id/workspaces";
const reading = (run) => ({
  method: "get",
  path: `${path}/:workspace_id`,
  answer: ({ params }) => run(params.account_id, params.workspace_id),
});
const listing = (run) => ({
  method: "get",
  path,
  answer: ({ params, query }) => run(params.account_id, Number(query.page), Number(query.page_size)),
});
const adding = (run) => ({ method: "post", path, answer: ({ params, body }) => run(params.account_id, body.name) });

// Functions, so that a bundle has no more than the routes that it serves.
export const read = () => [reading(readRow)];
export const bare = () => [reading(readRow), listing(listBare), adding(addBare)];
export const same = () => [reading(readSame), listing(listSame), adding(addSame)];
