import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";

import { TableClient } from "../../../shared/table/client.ts";
import type { Input } from "../../../shared/table/operations.ts";
import { listen } from "../../support/listen.ts";

afterEach(() => vi.unstubAllEnvs());

type Sent = { by: "lane" | "sdk"; target: string; body: string; fields: IncomingMessage["headers"] };
type Answer = (sent: Sent, response: ServerResponse, count: number) => void;

const json = { "content-type": "application/x-amz-json-1.0" };
const answering =
  (body: object | string, status = 200): Answer =>
  (_, response) =>
    void response.writeHead(status, json).end(typeof body === "string" ? body : JSON.stringify(body));

/** A client of a table that answers with `answer`, and the requests to the table. The user agent shows the sender. */
async function scene(answer: Answer, env: Record<string, string> = {}) {
  const sent: Sent[] = [];
  const server = createServer((request, response) => {
    const { headers: fields } = request;
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const by = fields["user-agent"]?.startsWith("aws-sdk-js/") ? "sdk" : "lane";
      const one: Sent = { by, target: String(fields["x-amz-target"]), body: Buffer.concat(parts).toString(), fields };
      answer(one, response, sent.push(one));
    });
  });
  const endpoint = `http://127.0.0.1:${await listen(server)}`;
  vi.stubEnv("AWS_REGION", "eu-west-1");
  // An exhaustive run turns the lane off.
  vi.stubEnv("TABLE_LANE", "");
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  return { client: new TableClient({ endpoint }), sent, ways: () => sent.map(({ by }) => by) };
}

const get: Input<"GetItem"> = { TableName: "t", Key: { PK: "p", SK: "s" } };
const transaction = (): Input<"TransactWriteItems"> => ({
  ClientRequestToken: randomUUID(),
  TransactItems: [{ Put: { TableName: "t", Item: { PK: "p", SK: "s", n: 1 } } }],
});

test("a call is sent by the lane, which is our own way without the SDK, and is signed", async () => {
  const { client, sent, ways } = await scene(answering({ Item: { n: { N: "1" } } }));
  expect(await client.send("GetItem", get)).toEqual({ Item: { n: 1 } });
  expect(await client.send("GetItem", get)).toEqual({ Item: { n: 1 } });
  expect(ways()).toEqual(["lane", "lane"]);
  expect(sent[0]?.fields.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=local\/\d{8}\/eu-west-1\/dynamodb\/aws4_request, SignedHeaders=content-length;content-type;host;x-amz-date;x-amz-target, Signature=[0-9a-f]{64}$/,
  );
  expect(sent[0]?.target).toBe("DynamoDB_20120810.GetItem");
});

describe("the SDK sends a call again, with the same token", () => {
  const hangUp: Answer = (_, response) => void response.destroy();
  const halfAnAnswer: Answer = (_, response) =>
    void response.writeHead(200, { "content-length": 99 }).write("{", () => response.destroy());
  const refusal = { __type: "com.amazonaws.dynamodb.v20120810#ValidationException", message: "No." };

  test.each<[string, Answer]>([
    ["a refusal", answering(refusal, 400)],
    ["a fault of the service", answering({}, 500)],
    ["another success", answering({}, 204)],
    ["an answer that is not JSON", answering("<html>")],
    ["JSON that is not an output", answering("[]")],
    ["a value of an unknown type", answering({ Item: { n: { X: 1 } } })],
    ["half an answer", halfAnAnswer],
    ["a broken connection", hangUp],
    ["no answer", () => undefined],
  ])("after %s", async (_, first) => {
    const { client, sent, ways } = await scene((one, response, count) =>
      (count === 1 ? first : answering({}))(one, response, count),
    );
    const input = transaction();
    expect(await client.send("TransactWriteItems", input)).toMatchObject({});
    expect(ways()).toEqual(["lane", "sdk"]);
    expect(sent.map(({ body }) => (JSON.parse(body) as typeof input).ClientRequestToken)).toEqual(
      Array.from({ length: 2 }, () => input.ClientRequestToken),
    );
  });

  test("and throws its own errors for a refusal", async () => {
    const { client, ways } = await scene(answering(refusal, 400));
    await expect(client.send("GetItem", get)).rejects.toMatchObject({ name: "ValidationException", message: "No." });
    expect(ways()).toEqual(["lane", "sdk"]);
  });
});

test("a failed condition causes the same error as by the SDK, with the stored item, and is not sent again", async () => {
  const Item = { PK: { S: "p" }, n: { N: "1" } };
  const type = (name: string) => ({ __type: `com.amazonaws.dynamodb.v20120810#${name}` });
  const reasons = [{ Code: "ConditionalCheckFailed", Message: "No.", Item }, { Code: "None" }];
  const failures: Record<string, object> = {
    PutItem: { ...type("ConditionalCheckFailedException"), message: "The condition failed", Item },
    TransactWriteItems: {
      ...type("TransactionCanceledException"),
      Message: "Transaction cancelled",
      CancellationReasons: reasons,
    },
  };
  const { client, ways } = await scene(({ target }, response) => {
    response.writeHead(400, json).end(JSON.stringify(failures[target.split(".").at(-1) ?? ""]));
  });
  const put = { TableName: "t", Item: { PK: "p", SK: "s" } };
  const thrown = async (send: Promise<unknown>) => {
    const { name, message, Item, CancellationReasons } = (await send.catch((error: unknown) => error)) as Record<
      string,
      unknown
    >;
    return { name, message, Item, CancellationReasons };
  };
  const byLane = [thrown(client.send("PutItem", put)), thrown(client.send("TransactWriteItems", transaction()))];
  const seen = await Promise.all(byLane);
  expect(ways()).toEqual(["lane", "lane"]);
  const bySdk = [
    thrown(client.sendBySdk("PutItem", put)),
    thrown(client.sendBySdk("TransactWriteItems", transaction())),
  ];
  expect(await Promise.all(bySdk)).toEqual(seen);
  expect(seen).toMatchObject([{ Item }, { CancellationReasons: reasons }]);
});

describe("the SDK sends a call at once", () => {
  test.each([
    { TABLE_LANE: "sdk" },
    { AWS_USE_FIPS_ENDPOINT: "false" },
    { AWS_CREDENTIAL_EXPIRATION: "2030-01-01T00:00:00Z" },
  ])("if the environment has %j", async (env) => {
    const { client, ways } = await scene(answering({}), env);
    await client.send("GetItem", get);
    expect(ways()).toEqual(["sdk"]);
  });

  test("if a profile gives the credentials", async () => {
    const { client, ways } = await scene(answering({}), { AWS_PROFILE: "nobody's" });
    await expect(client.send("GetItem", get)).rejects.toMatchObject({ name: "CredentialsProviderError" });
    expect(ways()).toEqual([]);
  });

  test("if the lane cannot write a value, or send a header", async () => {
    const { client, ways } = await scene(answering({}));
    const Item = { PK: "p", SK: new Date(0) };
    await expect(client.send("PutItem", { TableName: "t", Item })).rejects.toThrow(/Unsupported type/);
    expect(ways()).toEqual([]);
    vi.stubEnv("AWS_SESSION_TOKEN", "a\nb");
    await client.send("GetItem", get).catch(() => undefined);
    expect(ways()).not.toContain("lane");
  });
});

test("if the service has closed a kept connection, the lane uses another connection, and not the SDK", async () => {
  const { client, ways } = await scene((_, response) => {
    response.writeHead(200, json).end("{}", () => setImmediate(() => response.socket?.destroy()));
  });
  for (let call = 0; call < 20; call++) await client.send("GetItem", get);
  expect(new Set(ways())).toEqual(new Set(["lane"]));
});

const text = fc.string({ unit: "grapheme", maxLength: 12 });
const scalar = fc.oneof(
  text,
  fc.boolean(),
  fc.constant(null),
  fc.integer(),
  fc
    .double({ noNaN: true, noDefaultInfinity: true, min: -1e100, max: 1e100 })
    .filter((one) => Math.abs(one) <= Number.MAX_SAFE_INTEGER),
  fc.uint8Array({ minLength: 1, maxLength: 9 }),
  fc.uint8Array({ minLength: 1, maxLength: 9 }).map((bytes) => Buffer.from(bytes)),
  fc.uint8Array({ minLength: 1, maxLength: 9 }).map((bytes) => new Set([bytes])),
  text.map((one) => new Set([one, `${one}.`])),
);
const name = fc.oneof(
  fc.constantFrom("B", "Item", "Key", "Keys", "Items", "S", "__proto__x"),
  text.filter((one) => one !== "" && one !== "__proto__"),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(name, tie("value"), { maxKeys: 3 }),
  ),
}));
const item = fc.dictionary(name, fc.oneof(value, fc.constant(undefined)), { maxKeys: 5 });
const names = fc.dictionary(text, text, { maxKeys: 3 });

/** Random inputs of four operations, with the members that the table uses. */
const call = fc.oneof(
  fc.record({ operation: fc.constant("GetItem" as const), input: fc.record({ TableName: text, Key: item }) }),
  fc.record({
    operation: fc.constant("Query" as const),
    input: fc.record({ TableName: text, ExpressionAttributeValues: item, ExclusiveStartKey: item, Limit: fc.nat() }),
  }),
  fc.record({
    operation: fc.constant("BatchGetItem" as const),
    input: fc.record({
      RequestItems: fc.record({ t: fc.record({ Keys: fc.array(item, { minLength: 1, maxLength: 3 }) }) }),
    }),
  }),
  fc.record({
    operation: fc.constant("TransactWriteItems" as const),
    input: fc.record({
      ClientRequestToken: fc.uuid(),
      TransactItems: fc.array(
        fc.oneof(
          fc.record({ Put: fc.record({ TableName: text, Item: item, ExpressionAttributeNames: names }) }),
          fc.record({
            Update: fc.record({ Key: item, TableName: text, UpdateExpression: text, ExpressionAttributeValues: item }),
          }),
          fc.record({ Delete: fc.record({ Key: item, TableName: text, ConditionExpression: text }) }),
          fc.record({ ConditionCheck: fc.record({ Key: item, TableName: text, ConditionExpression: text }) }),
        ),
        { minLength: 1, maxLength: 3 },
      ),
    }),
  }),
);

/** A body with its members sorted by name, because the SDK writes them in the order of its schema. */
const inOrder = (one: Sent | undefined): string =>
  JSON.stringify(JSON.parse(one?.body ?? ""), (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );

test(
  "the lane writes random inputs as the SDK does, and reads random items as the SDK does",
  { timeout: 120_000 },
  async () => {
    let echoed: object = {};
    const { client, sent } = await scene((one, response, count) => answering(echoed)(one, response, count));
    await fc.assert(
      fc.asyncProperty(call, fc.array(item, { maxLength: 3 }), async ({ operation, input }, items) => {
        sent.length = 0;
        // The table answers with the random items as the SDK writes them.
        echoed = {};
        const puts = items.map((Item) => ({ Put: { TableName: "t", Item } }));
        await client.sendBySdk("TransactWriteItems", { ClientRequestToken: "x", TransactItems: puts });
        const written = JSON.parse(sent.pop()?.body ?? "") as { TransactItems: { Put: { Item: object } }[] };
        const Items = written.TransactItems.map(({ Put }) => Put.Item);
        echoed = { Items, Count: Items.length, Responses: { t: Items }, ConsumedCapacity: { CapacityUnits: 0.5 } };
        const lane = await client.send(operation, input);
        const { $metadata: _, ...sdk } = (await client.sendBySdk(operation, input)) as { $metadata?: object };
        expect(sent.map(({ by }) => by)).toEqual(["lane", "sdk"]);
        expect(inOrder(sent[0])).toBe(inOrder(sent[1]));
        expect(Object.keys(sdk).every((member) => member in lane)).toBe(true);
        for (const [member, expected] of Object.entries(sdk)) expect(Reflect.get(lane, member)).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  },
);
