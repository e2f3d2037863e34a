import { createHash } from "node:crypto";

import { GetCommand, QueryCommand, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";

import { client, headKey, partitionOf, rowName, TableName, viewOf } from "./client.mjs";
import { newId } from "./new-id.mjs";

export { read } from "./read.mjs";

/** A page of an account's workspaces with their exact number: two reads at the same time, and no row was ever deleted. */
export async function list(accountId, page, pageSize) {
  const from = (page - 1) * pageSize;
  const [{ Item: head }, { Items }] = await Promise.all([
    client.send(new GetCommand({ TableName, Key: headKey(accountId), ConsistentRead: true })),
    client.send(
      new QueryCommand({
        TableName,
        KeyConditionExpression: "PK = :partition AND SK BETWEEN :from AND :to",
        ExpressionAttributeValues: {
          ":partition": partitionOf(accountId),
          ":from": rowName(from),
          ":to": rowName(from + pageSize - 1),
        },
        ConsistentRead: true,
      }),
    ),
  ]);
  return { items: Items.map(viewOf), total: head?.live ?? 0, page, page_size: pageSize };
}

/** Adds a workspace under a name of its own: a read, and a transaction of three writes. */
export async function add(accountId, name) {
  const { Item: head } = await client.send(
    new GetCommand({ TableName, Key: headKey(accountId), ConsistentRead: true }),
  );
  const { workspace, writes } = writesOf(accountId, name, head);
  await client.send(new TransactWriteCommand({ TransactItems: writes }));
  return viewOf(workspace);
}

/** A new workspace, and the writes that put it into its list and claim its name. */
export function writesOf(accountId, name, head) {
  const at = new Date().toISOString();
  const folded = createHash("sha256").update(name.normalize("NFKC").toLowerCase()).digest("hex");
  const id = newId(head.next);
  const own = { id, account_id: accountId, name, status: "active", created_at: at, updated_at: at };
  const workspace = { ...own, domain_count: 0, version: 1 };
  const PK = partitionOf(accountId);
  const absent = { TableName, ConditionExpression: "attribute_not_exists(PK)" };
  const writes = [
    {
      Put: {
        TableName,
        Item: { ...head, next: head.next + 1, live: head.live + 1, version: head.version + 1 },
        ConditionExpression: "version = :version",
        ExpressionAttributeValues: { ":version": head.version },
      },
    },
    { Put: { ...absent, Item: { PK, SK: rowName(head.next), ...workspace } } },
    { Put: { ...absent, Item: { PK, SK: `WORKSPACE_NAME#${folded}`, id } } },
  ];
  return { workspace, writes };
}
