import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { request, type Sent } from "../../../../support/request.ts";
import { issuer, newAccount, newUser } from "../../../../support/world.ts";

const path = "/v1/public/mcp";
const user = newUser();
const send = (body: unknown, headers: Record<string, string> = {}) =>
  request("POST", path, { token: user.token, body, headers });
const call = (method: string, params?: unknown, id: unknown = 1) => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(params === undefined ? {} : { params }),
});
const execute = (code: unknown) => call("tools/call", { name: "service_execute", arguments: { code } });

test("tools/call returns the A2A response as text, and `isError` even if it is false", async () => {
  const { id, owner } = await newAccount();
  const code = `workspaces.add(account_id="${id}", name="Sales")`;
  const message = {
    jsonrpc: "2.0",
    id: "call-7",
    method: "tools/call",
    params: { name: "service_execute", arguments: { code } },
  };
  const { status, body } = await request("POST", path, { token: owner.token, body: message });
  expect(status).toBe(200);
  expect(Object.keys(body)).toEqual(["jsonrpc", "id", "result"]);
  expect(body).toEqual({
    jsonrpc: "2.0",
    id: "call-7",
    result: { content: [{ type: "text", text: expect.any(String) }], isError: false },
  });
  const envelope = JSON.parse(body.result.content[0].text);
  expect(Object.keys(envelope)).toEqual(["request_id", "status", "result", "responses", "complexity_score"]);
  expect(envelope).toMatchObject({
    request_id: "call-7",
    status: "completed",
    result: { last_value: { name: "Sales" } },
    responses: [{ index: 0, function: "workspaces.add", status: "completed", result: { name: "Sales" } }],
    complexity_score: 1,
  });
});

describe("a client of a revision with initialize connects:", () => {
  test.each(["2025-11-25", "2025-06-18", "2025-03-26"])("revision %s is accepted", async (protocolVersion) => {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const { body } = await send(call("initialize", params));
    expect(body.result).toEqual({
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "hosted-mail-api", title: "Hosted Mail API", version: "1.0.0" },
      instructions: expect.stringContaining("service_query"),
    });
  });

  test.each(["2024-11-05", "2026-07-28", "2099-01-01"])(
    "for revision %s, the server offers its newest revision with initialize",
    async (protocolVersion) => {
      const { body } = await send(call("initialize", { protocolVersion, capabilities: {} }));
      expect(body.result.protocolVersion).toBe("2025-11-25");
    },
  );

  test("it can ping and list the tools, and a notification gets an empty answer", async () => {
    expect((await send(call("ping"))).body).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
    const { body } = await send(call("tools/list", {}, 0));
    expect(body).toMatchObject({ id: 0, result: { tools: [{ name: "service_execute" }, { name: "service_query" }] } });
    expect(Object.keys(body.result)).toEqual(["tools"]);
    for (const method of ["notifications/initialized", "notifications/cancelled", "anything"]) {
      const answer = await send({ jsonrpc: "2.0", method });
      expect(answer).toMatchObject({ status: 202, text: "" });
      expect(answer.headers["content-type"]).toBeUndefined();
    }
  });

  test("a later request can name any revision with initialize", async () => {
    for (const revision of ["2025-11-25", "2025-06-18", " 2025-03-26 "]) {
      expect(await send(call("ping"), { "mcp-protocol-version": revision })).toMatchObject({ status: 200 });
    }
  });

  test.each(["2024-11-05", "2099-01-01", "newest"])(
    "a later request or notification of revision %s is refused with the supported revisions",
    async (requested) => {
      const headers = { "mcp-protocol-version": requested };
      const supported = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"];
      for (const [body, id] of [
        [call("ping"), 1],
        [{ jsonrpc: "2.0", method: "notifications/initialized" }, null],
      ] as const) {
        const answer = await send(body, headers);
        expect(answer).toMatchObject({ status: 400, body: { id, error: { code: -32022 } } });
        expect(answer.body.error.data).toEqual({ supported, requested });
      }
    },
  );

  test("header fields of the newest revision are ignored", async () => {
    const headers = { "mcp-protocol-version": "2025-11-25", "mcp-method": "tools/call", "mcp-name": "other" };
    expect(await send(call("ping"), headers)).toMatchObject({ status: 200, body: { result: {} } });
  });

  test("a revision with initialize can be named in _meta too", async () => {
    const _meta = { "io.modelcontextprotocol/protocolVersion": "2025-11-25" };
    expect(await send(call("ping", { _meta }))).toMatchObject({ status: 200, body: { result: {} } });
  });

  test("the answer is one JSON object for any Accept header of the client", async () => {
    for (const accept of ["application/json", "application/json, text/event-stream", "text/html"]) {
      const answer = await send(call("ping"), { accept });
      expect(answer).toMatchObject({ status: 200, headers: { "content-type": "application/json" } });
    }
  });
});

describe("a protocol error is returned for", () => {
  test.each([
    ["an unknown method", call("tools/run"), 200, -32601, 1],
    ["a method that every object has", call("constructor"), 200, -32601, 1],
    ["an unknown tool", call("tools/call", { name: "other", arguments: {} }), 200, -32602, 1],
    ["no tool", call("tools/call", {}), 200, -32602, 1],
    ["initialize without a revision", call("initialize", {}), 200, -32602, 1],
    ["a batch", [call("ping")], 400, -32600, null],
    ["an empty batch", [], 400, -32600, null],
    ["another version of JSON-RPC", { ...call("ping"), jsonrpc: "1.0" }, 400, -32600, 1],
    ["no version of JSON-RPC", { id: "a", method: "ping" }, 400, -32600, "a"],
    ["no method", { jsonrpc: "2.0", id: 1 }, 400, -32600, 1],
    ["a response", { jsonrpc: "2.0", id: 1, result: {} }, 400, -32600, 1],
    ["a method that is no text", { jsonrpc: "2.0", id: 1, method: 1 }, 400, -32600, 1],
    ["an id of null", call("ping", {}, null), 400, -32600, null],
    ["an id that is a fraction", call("ping", {}, 1.5), 400, -32600, null],
    ["an id that is an object", call("ping", {}, {}), 400, -32600, null],
    ["parameters in a list", call("ping", []), 400, -32600, 1],
    ["a text", '"ping"', 400, -32600, null],
    ["a number", "1", 400, -32600, null],
    ["null", "null", 400, -32600, null],
    ["no body", undefined, 400, -32600, null],
    ["a text that is no JSON", "{", 400, -32700, null],
  ])("%s", async (_, body, status, code, id) => {
    const answer = await send(body);
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ jsonrpc: "2.0", id, error: { code, message: expect.any(String) } });
  });

  test.each([{ toString: null }, ["service_execute"], 7, undefined])("the tool name %j", async (name) => {
    const answer = await send(call("tools/call", { name, arguments: { code: "me.get()" } }));
    expect(answer.body).toMatchObject({ error: { code: -32602, message: expect.stringContaining("service_execute") } });
  });
});

test("a body of another media type, a body that is too large and a forbidden key are refused as on every route", async () => {
  expect(await send(call("ping"), { "content-type": "text/plain" })).toMatchObject({ status: 415 });
  expect(await send(" ".repeat(1_048_577))).toMatchObject({ status: 413, body: { code: "body_too_large" } });
  expect(await send('{"jsonrpc":"2.0","id":1,"method":"ping","__proto__":{}}')).toMatchObject({ status: 422 });
});

test.each(["GET", "DELETE", "PUT"])("%s is not allowed: there are no streams and no sessions", async (method) => {
  const answer = await request(method, path, { token: user.token });
  expect(answer).toMatchObject({ status: 405, headers: { allow: "POST, OPTIONS" } });
});

test("a request without a valid token gets 401, with the address of the metadata about tokens", async () => {
  const bodies = [
    call("initialize", { protocolVersion: "2025-11-25" }),
    call("tools/list"),
    call("server/discover"),
    execute("me.get()"),
    [],
    undefined,
  ];
  for (const body of bodies) {
    for (const sent of [{ body }, { body, token: "garbage" }] as Sent[]) {
      const answer = await request("POST", path, sent);
      expect(answer).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
      expect(answer.headers["www-authenticate"]).toContain(
        'resource_metadata="https://127.0.0.1/.well-known/oauth-protected-resource/v1/public/mcp"',
      );
    }
  }
});

test("a token for another audience is refused, and a token in the query string is ignored", async () => {
  const [header, payload] = user.token.split(".").map((part) => Buffer.from(part, "base64url").toString());
  const claims = { ...JSON.parse(payload ?? ""), aud: "https://api.example.com/other" };
  const elsewhere = issuer.sign(JSON.parse(header ?? ""), claims);
  const body = call("ping");
  expect(await request("POST", path, { token: elsewhere, body })).toMatchObject({ status: 401 });
  expect(await request("POST", `${path}?access_token=${user.token}`, { body })).toMatchObject({ status: 401 });
});

test.each([
  ["with initialize", {}],
  ["without initialize", { "mcp-protocol-version": "2026-07-28", "mcp-method": "server/discover" }],
])("revisions %s: a page of another origin is refused, and a page of this machine is accepted", async (_, headers) => {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const body = "mcp-method" in headers ? call("server/discover", { _meta }) : call("ping");
  expect(await send(body, { ...headers, origin: "https://evil.example" })).toMatchObject({
    status: 403,
    headers: { "content-type": "application/problem+json" },
    body: { code: "origin_not_allowed" },
  });
  expect(await send(body, { ...headers, origin: "http://localhost:5173" })).toMatchObject({ status: 200 });
  const withoutToken = { body, headers: { ...headers, origin: "https://evil.example" } };
  expect(await request("POST", path, withoutToken)).toMatchObject({ status: 403 });
});

test("a request without a program, valid or not, and a notification are charged to the rate limit", async () => {
  const { token } = newUser();
  const left = async (body: unknown): Promise<number | undefined> => {
    const { headers } = await request("POST", path, { token, body });
    return headers["ratelimit"] === undefined ? undefined : Number(/r=(\d+)/.exec(headers["ratelimit"])?.[1]);
  };
  const wrong = call("tools/call", { name: "service_execute", arguments: {} });
  const bodies = [call("ping"), call("nothing"), [], "{", call("tools/call", { name: "other" }), wrong];
  const notification = { jsonrpc: "2.0", method: "notifications/initialized", params: { _meta: {} } };
  for (const body of [...bodies, notification]) expect(await left(body)).toBeLessThan(100);
});

test("for any body and header fields, the answer is one JSON object or a 202, and never a 5xx", async () => {
  const methods = fc.constantFrom(
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "notifications/x",
  );
  const meta = fc.dictionary(
    fc.constantFrom("io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities", "x"),
    fc.oneof(fc.constantFrom("2026-07-28", "2025-11-25"), fc.jsonValue()),
  );
  const message = fc.record(
    {
      jsonrpc: fc.oneof(fc.constant("2.0"), fc.jsonValue()),
      id: fc.oneof(fc.integer(), fc.string(), fc.jsonValue()),
      method: fc.oneof(methods, fc.jsonValue()),
      params: fc.oneof(fc.record({ _meta: meta, name: fc.jsonValue() }, { requiredKeys: [] }), fc.jsonValue()),
    },
    { requiredKeys: [] },
  );
  const headers = fc.dictionary(
    fc.constantFrom("mcp-protocol-version", "mcp-method", "mcp-name", "accept", "mcp-session-id"),
    fc.oneof(fc.constantFrom("2026-07-28", "2025-11-25", "tools/list"), fc.string()),
  );
  await fc.assert(
    fc.asyncProperty(fc.oneof(message, fc.jsonValue()), headers, async (body, sent) => {
      const { token } = newUser();
      const answer = await request("POST", path, { token, body: JSON.stringify(body), headers: sent });
      expect([200, 202, 400, 404, 422]).toContain(answer.status);
      if (answer.status !== 202) expect(answer.body).toBeTypeOf("object");
    }),
    { numRuns: 300 },
  );
});
