import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";

import {
  BatchWriteItemCommand,
  DeleteTableCommand,
  DynamoDBClient,
  ListTablesCommand,
  ScanCommand,
  type AttributeValue,
} from "@aws-sdk/client-dynamodb";

import { ensureTable } from "../../../infra/local/table/engine.ts";
import { TableClient } from "../../../shared/table/client.ts";
import { openTable, type Table } from "../../../shared/table/table.ts";
import { listen } from "../../support/listen.ts";

/** A row of the table, as DynamoDB writes it. */
export type Row = Record<string, AttributeValue>;

type Options = {
  /** Returns the row that is restored in place of a row. If undefined, the restore loses the row. */
  restored?: (row: Row) => Row | undefined;
  recovery?: "ENABLED" | "DISABLED";
  /** How many times `DescribeTable` says that the restored table is still being created. */
  creating?: number;
};

const engine = process.env["AWS_ENDPOINT_URL_DYNAMODB"] ?? "";
const direct = new DynamoDBClient({ endpoint: engine });

async function copy(source: string, target: string, restored: (row: Row) => Row | undefined): Promise<void> {
  await ensureTable(engine, target);
  const { Items = [] } = await direct.send(new ScanCommand({ TableName: source }));
  const rows = Items.map(restored).filter((row) => row !== undefined);
  for (let from = 0; from < rows.length; from += 25) {
    const puts = rows.slice(from, from + 25).map((Item) => ({ PutRequest: { Item } }));
    await direct.send(new BatchWriteItemCommand({ RequestItems: { [target]: puts } }));
  }
}

/**
 * Makes a new table in the embedded engine. Starts a proxy in front of the engine until the end of the test. The proxy
 * also answers the calls that the engine does not know: to which times a table can be restored, and the restore.
 */
export async function scene({ restored = (row) => row, recovery = "ENABLED", creating = 2 }: Options = {}) {
  const source = `source-${randomUUID()}`;
  await ensureTable(engine, source);
  const times = { earliest: Date.now() / 1_000 - 86_400, latest: Date.now() / 1_000 };
  const asked: Record<string, unknown>[] = [];
  let left = creating;
  const control: Record<string, (input: Record<string, string>) => Promise<[number, unknown] | undefined>> = {
    DescribeContinuousBackups: async () => [
      200,
      {
        ContinuousBackupsDescription: {
          ContinuousBackupsStatus: "ENABLED",
          PointInTimeRecoveryDescription: {
            PointInTimeRecoveryStatus: recovery,
            EarliestRestorableDateTime: times.earliest,
            LatestRestorableDateTime: times.latest,
          },
        },
      },
    ],
    RestoreTableToPointInTime: async (input) => {
      asked.push(input);
      await copy(source, input["TargetTableName"] ?? "", restored);
      return [200, { TableDescription: { TableStatus: "CREATING" } }];
    },
    DescribeTable: async ({ TableName }) =>
      TableName !== source && left-- > 0 ? [200, { Table: { TableName, TableStatus: "CREATING" } }] : undefined,
    DeleteTable: async () =>
      left > 0
        ? [400, { __type: "com.amazonaws.dynamodb.v20120810#ResourceInUseException", message: "being created" }]
        : undefined,
  };
  const server = createServer((request, response) => {
    const serve = async (): Promise<void> => {
      const body = await buffer(request);
      const operation = String(request.headers["x-amz-target"]).split(".")[1] ?? "";
      const own = await control[operation]?.(JSON.parse(body.toString()) as Record<string, string>);
      const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => name !== "host"));
      const passed = own ?? (await pass(headers as Record<string, string>, body));
      response.writeHead(passed[0], { "content-type": "application/x-amz-json-1.0" }).end(JSON.stringify(passed[1]));
    };
    serve().catch(() => response.destroy());
  });
  const url = `http://127.0.0.1:${await listen(server)}`;
  const table: Table = openTable(new TableClient(), source);
  const tables = async (): Promise<string[]> => {
    const { TableNames = [] } = await direct.send(new ListTablesCommand({}));
    return TableNames.filter((name) => name.startsWith(source));
  };
  const tidy = async (): Promise<void> => {
    for (const TableName of await tables()) await direct.send(new DeleteTableCommand({ TableName }));
  };
  return { source, table, url, asked, tables, tidy };
}

async function pass(headers: Record<string, string>, body: Buffer): Promise<[number, unknown]> {
  const { connection: _, "content-length": __, ...rest } = headers;
  const answer = await fetch(engine, { method: "POST", headers: rest, body: new Uint8Array(body) });
  return [answer.status, await answer.json()];
}
