import { createHash, randomBytes, randomUUID } from "node:crypto";

import {
  BatchGetCommand,
  DynamoDBDocumentClient,
  GetCommand,
  QueryCommand,
  TransactWriteCommand,
} from "@aws-sdk/lib-dynamodb";

import { keyOf, members, ordinalOf, client as plain, rowKey, TableName } from "./table.mjs";

/*
 * The work of the routes that all frameworks serve, without a framework. `bare` makes only the table's calls for the
 * answer: a GetItem; a Query beside the GetItem of the list's total; a GetItem of the list's head, whose next ordinal
 * the new id carries, and a TransactWriteItems. `same` makes as many calls and writes as the product. But it ignores
 * the items that the product authorizes by, so it authorizes no caller. `cold` is the one route of a cold start.
 */

const client = DynamoDBDocumentClient.from(plain, { marshallOptions: { removeUndefinedValues: true } });
const userId = process.env.BENCH_USER;
const headKey = (accountId) => keyOf(accountId, "LIST#workspaces#HEAD");
const viewOf = (item) => Object.fromEntries(members.map((name) => [name, item[name]]));

async function getOne(Key) {
  return (await client.send(new GetCommand({ TableName, Key, ConsistentRead: true }))).Item;
}

async function read({ params: { account_id, workspace_id } }) {
  return { status: 200, body: viewOf(await getOne(rowKey(account_id, ordinalOf(workspace_id)))) };
}

async function list({ params: { account_id }, query }) {
  const [page, page_size] = [Number(query.page), Number(query.page_size)];
  const { PK, SK } = rowKey(account_id, (page - 1) * page_size);
  const rows = new QueryCommand({
    TableName,
    KeyConditionExpression: "PK = :partition AND SK >= :first",
    ExpressionAttributeValues: { ":partition": PK, ":first": SK },
    Limit: page_size,
    ConsistentRead: true,
  });
  const [{ live }, { Items }] = await Promise.all([getOne(headKey(account_id)), client.send(rows)]);
  return { status: 200, body: { items: Items.map(viewOf), total: live, page, page_size } };
}

const putNew = (Item) => ({ Put: { TableName, Item, ConditionExpression: "attribute_not_exists(PK)" } });

/** The writes of the audit log: an entry with the size of the product's entry, and the day's count. */
function record(account_id, after) {
  const id = randomUUID();
  const entry = {
    ...keyOf(account_id, `JOURNAL#bench#ENTRY#${id}`),
    id,
    after: JSON.stringify(after),
    // Stands for the other members of the product's entry.
    rest: "-".repeat(500),
  };
  const Update = {
    TableName,
    Key: keyOf(account_id, "JOURNAL#bench#COUNT#0"),
    UpdateExpression: "ADD d1 :one",
    ExpressionAttributeValues: { ":one": 1 },
  };
  return [putNew(entry), { Update }];
}

/** Adds a workspace to its list, and claims its name. `more` are other writes of the transaction. */
async function add({ params: { account_id }, body: { name } }, more = []) {
  const { next, live, version, ...head } = await getOne(headKey(account_id));
  const at = new Date().toISOString();
  const folded = createHash("sha256").update(name.normalize("NFKC").toLowerCase()).digest("hex");
  // Makes a UUIDv8 with the ordinal, like the product's ids.
  const text = next.toString(16).padStart(10, "0") + randomBytes(11).toString("hex");
  const id = text.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-8$3-8$4-$5");
  const body = { id, account_id, name, status: "active", created_at: at, updated_at: at };
  const Put = {
    TableName,
    Item: { ...head, next: next + 1, live: live + 1, version: version + 1 },
    ConditionExpression: "version = :version",
    ExpressionAttributeValues: { ":version": version },
  };
  const row = putNew({ ...rowKey(account_id, next), ...body, domain_count: 0, version: 1 });
  const claim = putNew({ ...keyOf(account_id, `WORKSPACE_NAME#${folded}`), id });
  await client.send(new TransactWriteCommand({ TransactItems: [{ Put }, row, claim, ...more] }));
  return { status: 201, body };
}

/** Reads the items that the product authorizes by, and then answers. */
const reading = (names, answer) => async (request) => {
  const Keys = names.map((name) => keyOf(request.params.account_id, name));
  await client.send(new BatchGetCommand({ RequestItems: { [TableName]: { Keys, ConsistentRead: true } } }));
  return answer(request);
};

/** The paths have their parameters in the form of the peers' routers. */
const path = "/v1/public/accounts/:account_id/workspaces";
const routes = (get, list, add) => [
  { method: "get", path: `${path}/:workspace_id`, answer: get },
  { method: "get", path, answer: list },
  { method: "post", path, answer: add },
];

// These are functions, so that a bundle has only the routes that it serves.
export const cold = () => routes(read).slice(0, 1);
export const bare = () => routes(read, list, (request) => add(request));
export const same = () => {
  const access = `ACCESS#user#${userId}`;
  const recorded = (request) => add(request, record(request.params.account_id, request.body));
  return routes(reading([access], read), reading([access], list), reading([access, "ACCOUNT"], recorded));
};
