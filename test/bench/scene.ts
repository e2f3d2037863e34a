import { randomUUID } from "node:crypto";

import { createIssuer } from "../../infra/local/start/issuer.ts";
import { createAccount, createClient } from "../../shared/access/operate-accounts.ts";
import type { Principal } from "../../shared/auth/principal.ts";
import { recorder } from "../../shared/changes/recorder.ts";
import { setOwnLimit } from "../../shared/rate-limits/own-limits.ts";
import { documentClient, openTable, type Table } from "../../shared/table/table.ts";
import { addWorkspace } from "../../shared/workspaces/workspace.ts";
import { eventOf } from "../support/request.ts";
import { plainContext } from "./context.ts";

/** An account with workspaces, whose owner has a token and no limit worth speaking of. */
export type Place = { accountId: string; workspaceIds: string[] };

/** Somebody who owns accounts on the table `bench`, and what a process needs to serve them. */
export type Scene = {
  user: { id: string; token: string };
  env: Record<string, string>;
  newPlace: (workspaces: number) => Promise<Place>;
};

/** Opens a scene on the engine of `onOwnEngine`. */
export function openScene(): Scene {
  const issuer = createIssuer();
  const id = randomUUID();
  const user = { id, token: issuer.mint({ sub: id, email: `${id}@example.com` }) };
  const table = openTable(documentClient(), "bench");
  return {
    user,
    env: { TABLE_NAME: "bench", ISSUERS: JSON.stringify([issuer.issuerConfig()]), BENCH_USER: id },
    newPlace: (workspaces) => newPlace(table, { type: "user", id, email: "", groups: [] }, workspaces),
  };
}

async function newPlace(table: Table, principal: Principal, workspaces: number): Promise<Place> {
  const client = await createClient(table, "Bench");
  const { id } = await createAccount(table, { client, name: "Bench", ownerId: principal.id }, new Date());
  await setOwnLimit(table, id, "default", { perMinute: 6_000_000, burst: 100_000 });
  const plain = plainContext({ readUnits: 0, writeUnits: 0, calls: 0 });
  const actor = { type: "user" as const, id: principal.id };
  const author = { action: "bench", actor, requestId: "bench" };
  const context = { ...plain, table, commit: recorder({ table, accountId: id, author, now: plain.now }) };
  const workspaceIds: string[] = [];
  for (let index = 0; index < workspaces; index++) {
    workspaceIds.push((await addWorkspace(id, `Workspace number ${index}`, context)).id);
  }
  return { accountId: id, workspaceIds };
}

/** The events of the three requests that are compared, as API Gateway builds them. */
export function eventsOf({ accountId, workspaceIds }: Place, token: string): Record<"read" | "list" | "add", object> {
  const path = `/v1/public/accounts/${accountId}/workspaces`;
  const userAgent = { "user-agent": "bench" };
  return {
    read: eventOf("GET", `${path}/${workspaceIds[7]}`, { token, headers: userAgent }),
    list: eventOf("GET", `${path}?page=2&page_size=25`, { token, headers: userAgent }),
    add: eventOf("POST", path, { token, body: { name: "" }, headers: userAgent }),
  };
}

/** The context that Lambda hands to a handler beside the event, as far as anybody looks at it. */
export const lambdaContext = {
  callbackWaitsForEmptyEventLoop: true,
  functionName: "bench",
  functionVersion: "$LATEST",
  invokedFunctionArn: "arn:aws:lambda:us-east-1:000000000000:function:bench",
  memoryLimitInMB: "512",
  awsRequestId: "00000000-0000-4000-8000-000000000000",
  logGroupName: "bench",
  logStreamName: "bench",
};
