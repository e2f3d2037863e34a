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
 * answer: a GetItem; a Query beside the GetItem of the list's total; a GetItem of the list's head, whose next ordinal the
 * new id carries, and a TransactWriteItems. `same` makes the product's calls, one for one and in the same order, and
 * does not look at what they return beyond the answer: nobody is authorized. `read` is the one route of a cold start.
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
const members = ["id", "account_id", "name", "status", "created_at", "updated_at"];

const keyOf = (accountId, SK) => ({ PK: `ACCOUNT#${accountId}`, SK });
const headKey = (accountId) => keyOf(accountId, "LIST#workspaces#HEAD");
const accessKey = (accountId) => keyOf(accountId, `ACCESS#user#${userId}`);
const rowKey = (accountId, ordinal) => keyOf(accountId, `LIST#workspaces#ROW#${String(ordinal).padStart(10, "0")}`);
const viewOf = (item) => Object.fromEntries(members.map((name) => [name, item[name]]));

async function getOne(Key, more = {}) {
  return (await client.send(new GetCommand({ TableName, Key, ConsistentRead: true, ...more }))).Item;
}

async function getMany(Keys) {
  const RequestItems = { [TableName]: { Keys, ConsistentRead: true } };
  return (await client.send(new BatchGetCommand({ RequestItems, ...counted }))).Responses[TableName];
}

/** Reads a workspace by the ordinal that its id carries in its first 40 bits. */
async function readRow({ params: { account_id, workspace_id: id } }, more) {
  const ordinal = Number.parseInt(id.slice(0, 8) + id.slice(9, 11), 16);
  const item = await getOne(rowKey(account_id, ordinal), more);
  return { status: 200, body: viewOf(item) };
}

async function queryRows(accountId, { page, page_size }, more) {
  const from = (page - 1) * page_size;
  const { PK, SK: first } = rowKey(accountId, from);
  const query = {
    TableName,
    KeyConditionExpression: "PK = :partition AND SK BETWEEN :from AND :to",
    ExpressionAttributeValues: { ":partition": PK, ":from": first, ":to": rowKey(accountId, from + page_size - 1).SK },
    ConsistentRead: true,
    ...more,
  };
  return (await client.send(new QueryCommand(query))).Items;
}

const pagingOf = ({ page, page_size }) => ({ page: Number(page), page_size: Number(page_size) });
const pageOf = (items, { live }, paging) => ({
  status: 200,
  body: { items: items.map(viewOf), total: live, ...paging },
});

const putNew = (Item) => ({ Put: { TableName, Item, ConditionExpression: "attribute_not_exists(PK)" } });

/** A new workspace, and the writes that put it into its list and claim its name. */
function planAdd(account_id, { name }, { next, live, version, ...head }) {
  const at = new Date().toISOString();
  const folded = createHash("sha256").update(name.normalize("NFKC").toLowerCase()).digest("hex");
  // A UUIDv8 that carries the ordinal, as the product's ids do.
  const text = next.toString(16).padStart(10, "0") + randomBytes(11).toString("hex");
  const id = text.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-8$3-8$4-$5");
  const body = { id, account_id, name, status: "active", created_at: at, updated_at: at };
  const Put = {
    TableName,
    Item: { ...head, next: next + 1, live: live + 1, version: version + 1 },
    ConditionExpression: "version = :version",
    ExpressionAttributeValues: { ":version": version },
  };
  const row = { ...rowKey(account_id, next), ...body, domain_count: 0, version: 1 };
  const writes = [{ Put }, putNew(row), putNew({ ...keyOf(account_id, `WORKSPACE_NAME#${folded}`), id })];
  return { answer: { status: 201, body }, writes };
}

/** The writes of the audit log: an entry as long as the product's, and the day's count. */
function planRecord(account_id, after) {
  const id = randomUUID();
  const ttl = Math.floor(Date.now() / 1000) + 34_560_000;
  const entry = {
    ...keyOf(account_id, `JOURNAL#bench#ENTRY#${id}`),
    id,
    at: after.created_at,
    after: JSON.stringify(after),
    // The members that the product's entry has besides.
    rest: "-".repeat(400),
    ttl,
  };
  const Update = {
    TableName,
    Key: keyOf(account_id, "JOURNAL#bench#COUNT#0"),
    UpdateExpression: "SET #ttl = :ttl ADD #day :one",
    ExpressionAttributeNames: { "#ttl": "ttl", "#day": "d1" },
    ExpressionAttributeValues: { ":ttl": ttl, ":one": 1 },
  };
  return [putNew(entry), { Update }];
}

const write = (TransactItems, more) => client.send(new TransactWriteCommand({ TransactItems, ...more }));

async function listBare({ params: { account_id }, query }) {
  const paging = pagingOf(query);
  const [head, items] = await Promise.all([getOne(headKey(account_id)), queryRows(account_id, paging)]);
  return pageOf(items, head, paging);
}

async function addBare({ params: { account_id }, body }) {
  const { answer, writes } = planAdd(account_id, body, await getOne(headKey(account_id)));
  await write(writes);
  return answer;
}

async function readSame(request) {
  await getMany([accessKey(request.params.account_id)]);
  return readRow(request, counted);
}

async function listSame({ params: { account_id }, query }) {
  const paging = pagingOf(query);
  await getMany([accessKey(account_id)]);
  const [head] = await getMany([headKey(account_id)]);
  return pageOf(await queryRows(account_id, paging, counted), head, paging);
}

async function addSame({ params: { account_id }, body }) {
  await getMany([accessKey(account_id), keyOf(account_id, "ACCOUNT")]);
  const [head] = await getMany([headKey(account_id)]);
  const { answer, writes } = planAdd(account_id, body, head);
  await write([...writes, ...planRecord(account_id, answer.body)], { ClientRequestToken: randomUUID(), ...counted });
  return answer;
}

/** The paths are written as the peers' routers write parameters. */
const path = "/v1/public/accounts/:account_id/workspaces";
const get = (answer) => ({ method: "get", path: `${path}/:workspace_id`, answer });
const list = (answer) => ({ method: "get", path, answer });
const post = (answer) => ({ method: "post", path, answer });

// Functions, so that a bundle has no more than the routes that it serves.
export const read = () => [get(readRow)];
export const bare = () => [get(readRow), list(listBare), post(addBare)];
export const same = () => [get(readSame), list(listSame), post(addSame)];
