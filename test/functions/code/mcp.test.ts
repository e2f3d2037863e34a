import { describe, expect, test } from "vitest";

import { request, type Sent } from "../../support/request.ts";
import { newAccount, newUser } from "../../support/world.ts";

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

test("the specified tools/call answers with the A2A response as text, and isError false written out", async () => {
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

test.each([
  ["a mistake in the program", execute("me.get(x=1)"), "unknown_argument"],
  ["a program that is too long", execute(`me.get()#${"x".repeat(65_536)}`), "source_too_large"],
  ["a call that fails", execute('accounts.get(account_id="99999999-9999-4999-8999-999999999999")'), "not_found"],
  ["no code", call("tools/call", { name: "service_execute", arguments: {} }), "invalid_argument"],
  ["no arguments", call("tools/call", { name: "service_execute" }), "invalid_argument"],
  ["code that is no text", execute(1), "invalid_argument"],
  [
    "another argument",
    call("tools/call", { name: "service_execute", arguments: { code: "me.get()", x: 1 } }),
    "invalid_argument",
  ],
])("%s is an error of the tool, which the model can read", async (_, message, code) => {
  const { status, body } = await send(message);
  expect(status).toBe(200);
  expect(body.result.isError).toBe(true);
  expect(JSON.parse(body.result.content[0].text)).toMatchObject({ request_id: "1", status: "failed", error: { code } });
});

describe("a client connects:", () => {
  test.each(["2025-11-25", "2025-06-18", "2025-03-26"])("revision %s is agreed to", async (protocolVersion) => {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const { body } = await send(call("initialize", params));
    expect(body.result).toEqual({
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "code-api-public", title: "Code API (Public)", version: "1.0.0" },
    });
  });

  test.each(["2024-11-05", "2026-07-28", "2099-01-01"])(
    "revision %s is answered with the newest known",
    async (protocolVersion) => {
      const { body } = await send(call("initialize", { protocolVersion, capabilities: {} }));
      expect(body.result.protocolVersion).toBe("2025-11-25");
    },
  );

  test("ping, the list of tools, and notifications without an answer", async () => {
    expect((await send(call("ping"))).body).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
    const { body } = await send(call("tools/list", {}, 0));
    expect(body).toMatchObject({ id: 0, result: { tools: [{ name: "service_execute" }] } });
    for (const method of ["notifications/initialized", "notifications/cancelled", "anything"]) {
      const answer = await send({ jsonrpc: "2.0", method });
      expect(answer).toMatchObject({ status: 202, text: "" });
      expect(answer.headers["content-type"]).toBeUndefined();
    }
  });

  test("the revision of a later request may be any known one, or unsaid", async () => {
    for (const revision of ["2025-11-25", "2025-06-18", "2025-03-26"]) {
      expect(await send(call("ping"), { "mcp-protocol-version": revision })).toMatchObject({ status: 200 });
    }
    const answer = await send(call("ping"), { "mcp-protocol-version": "2024-11-05" });
    expect(answer).toMatchObject({ status: 400, body: { id: 1, error: { code: -32600 } } });
  });

  test("a client that probes for a newer revision is told that there is no such method", async () => {
    const answer = await send(call("server/discover"), { "mcp-protocol-version": "2026-07-28" });
    expect(answer).toMatchObject({ status: 200, body: { id: 1, error: { code: -32601 } } });
  });

  test("one JSON object is the answer, whatever the client accepts", async () => {
    for (const accept of ["application/json", "application/json, text/event-stream", "text/html"]) {
      const answer = await send(call("ping"), { accept });
      expect(answer).toMatchObject({ status: 200, headers: { "content-type": "application/json" } });
    }
  });
});

describe("is answered with a protocol error:", () => {
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
    ["a method that is no text", { jsonrpc: "2.0", id: 1, method: 1 }, 400, -32600, 1],
    ["an id of null", call("ping", {}, null), 400, -32600, null],
    ["a broken id", call("ping", {}, 1.5), 400, -32600, null],
    ["an id that is an object", call("ping", {}, {}), 400, -32600, null],
    ["parameters in a list", call("ping", []), 400, -32600, 1],
    ["a text", '"ping"', 400, -32600, null],
    ["no body", undefined, 400, -32600, null],
  ])("%s", async (_, body, status, code, id) => {
    const answer = await send(body);
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ jsonrpc: "2.0", id, error: { code, message: expect.any(String) } });
  });

  test("a text that is no JSON, with the problem that every route answers", async () => {
    expect(await send("{")).toMatchObject({ status: 400, body: { code: "malformed_json" } });
  });
});

test("nobody gets further than 401 without a token, not even to connect", async () => {
  const bodies = [
    call("initialize", { protocolVersion: "2025-11-25" }),
    call("tools/list"),
    execute("me.get()"),
    [],
    undefined,
  ];
  for (const body of bodies) {
    for (const sent of [
      { body },
      { body, token: "garbage" },
      { body, headers: { origin: "https://evil.example" } },
    ] as Sent[]) {
      const answer = await request("POST", path, sent);
      expect(answer).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
    }
  }
});

test("a page of another origin is refused, one of this machine is let in", async () => {
  const answer = await send(call("ping"), { origin: "https://evil.example" });
  expect(answer).toMatchObject({
    status: 403,
    headers: { "content-type": "application/problem+json" },
    body: { code: "origin_not_allowed" },
  });
  expect(await send(call("ping"), { origin: "http://localhost:5173" })).toMatchObject({ status: 200 });
});

test.each([{ toString: null }, ["service_execute"], 7, undefined])(
  "answers the tool name %j with invalid params",
  async (name) => {
    const { owner } = await newAccount();
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: { code: "me.get()" } } };
    const answer = await request("POST", "/v1/public/mcp", { token: owner.token, body });
    expect(answer.body).toMatchObject({ error: { code: -32602, message: expect.stringContaining("service_execute") } });
  },
);
