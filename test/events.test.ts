import { readFile } from "node:fs/promises";
import { resolve } from "node:path";

import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { beforeAll, expect, test } from "vitest";

import { lambdas } from "../infra/entry-points.ts";
import { createAccount, createClient } from "../shared/access/operate-accounts.ts";
import { answerOf, handlerOf, type Answer } from "./support/request.ts";
import { newUser, testTable } from "./support/world.ts";

const accountId = "11111111-1111-4111-8111-111111111111";
const owner = newUser();

beforeAll(async () => {
  const client = await createClient(testTable(), "Samples");
  await createAccount(testTable(), { id: accountId, client, name: "Samples", ownerId: owner.id }, new Date());
});

/** Sends a sample to the handler that the sample's route key names, with a valid token. */
async function feed(name: string): Promise<Answer> {
  const text = await readFile(resolve(import.meta.dirname, `../events/${name}.json`), "utf8");
  const event = JSON.parse(text.replace("<ACCESS_TOKEN>", owner.token)) as APIGatewayProxyEventV2;
  const lambda = lambdas.find(({ triggers }) => triggers.some((trigger) => trigger === event.routeKey));
  if (!lambda) throw new Error(`no Lambda has the trigger ${event.routeKey}`);
  return answerOf(await (await handlerOf(lambda))(event));
}

test("the sample POSTs, plain and base64, create their workspaces, and the sample GET lists them", async () => {
  expect(await feed("rest-post")).toMatchObject({ status: 201, body: { name: "Sales" } });
  expect(await feed("rest-post-base64")).toMatchObject({ status: 201, body: { name: "Support" } });
  expect(await feed("rest-get")).toMatchObject({
    status: 200,
    body: { total: 2 },
    headers: { "x-request-id": "sample" },
  });
});

test("the sample A2A envelope runs both of its calls", async () => {
  const { body } = await feed("a2a");
  expect(body).toMatchObject({ request_id: "req-1", status: "completed", complexity_score: 2 });
  expect(body.responses.map((entry: { function: string }) => entry.function)).toEqual([
    "workspaces.add",
    "workspaces.list",
  ]);
});

test("the sample MCP call answers the same envelope as text", async () => {
  const { body } = await feed("mcp");
  expect(body).toMatchObject({ jsonrpc: "2.0", id: 1, result: { isError: false } });
  expect(JSON.parse(body.result.content[0].text)).toMatchObject({ status: "completed" });
});
