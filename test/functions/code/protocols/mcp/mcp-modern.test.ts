import { describe, expect, test } from "vitest";

import { request } from "../../../../support/request.ts";
import { newAccount, newUser } from "../../../../support/world.ts";

const path = "/v1/public/mcp";
const user = newUser();
const version = "io.modelcontextprotocol/protocolVersion";
const capabilities = "io.modelcontextprotocol/clientCapabilities";
const revision = "2026-07-28";
const serverInfo = { name: "hosted-mail-api", title: "Hosted Mail API", version: "1.0.0" };

type Changes = { headers?: Record<string, string | undefined>; meta?: unknown; params?: Record<string, unknown> };

/**
 * Sends a valid request of revision 2026-07-28 with some changes. A header that is undefined is left out. If `meta` is
 * null, `_meta` is left out.
 */
async function send(method: string, { headers = {}, meta, params = {} }: Changes = {}, token = user.token) {
  const named = typeof params["name"] === "string" ? { "mcp-name": params["name"] } : {};
  const right = { "mcp-protocol-version": revision, "mcp-method": method, ...named, ...headers };
  const sent = Object.entries(right).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const _meta = meta === undefined ? { [version]: revision, [capabilities]: {} } : meta;
  const body = { jsonrpc: "2.0", id: 1, method, params: { ...params, ...(_meta === null ? {} : { _meta }) } };
  return request("POST", path, { token, body, headers: Object.fromEntries(sent) });
}

const discover = (changes?: Changes) => send("server/discover", changes);
const execute = { name: "service_execute", arguments: { code: "me.get()" } };

test("a client learns the revisions, the offered features, and how long the answer is valid", async () => {
  const { status, body } = await discover();
  expect(status).toBe(200);
  expect(body).toEqual({
    jsonrpc: "2.0",
    id: 1,
    result: {
      resultType: "complete",
      supportedVersions: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"],
      capabilities: { tools: {} },
      instructions: expect.any(String),
      ttlMs: 300_000,
      cacheScope: "public",
      _meta: { "io.modelcontextprotocol/serverInfo": serverInfo },
    },
  });
});

test("the tools are listed in the same order for everybody, and may be cached", async () => {
  const [one, other] = await Promise.all([send("tools/list"), send("tools/list", {}, newUser().token)]);
  expect(one.body).toEqual(other.body);
  expect(one.body.result).toMatchObject({
    resultType: "complete",
    tools: [{ name: "service_execute" }, { name: "service_query" }],
    ttlMs: 300_000,
    cacheScope: "public",
    _meta: { "io.modelcontextprotocol/serverInfo": serverInfo },
  });
});

test("the result of a program has the type `complete`, and has `isError` even if it is false", async () => {
  const { owner } = await newAccount();
  const { status, body } = await send("tools/call", { params: execute }, owner.token);
  expect(status).toBe(200);
  expect(body.result).toEqual({
    resultType: "complete",
    content: [{ type: "text", text: expect.any(String) }],
    isError: false,
    _meta: { "io.modelcontextprotocol/serverInfo": serverInfo },
  });
});

test("a request does not have to name the client", async () => {
  expect(await discover({ meta: { [version]: revision, [capabilities]: { roots: {} } } })).toMatchObject({
    status: 200,
  });
});

describe("a request without a required member is a 400 with -32602 that names the member:", () => {
  test.each([
    ["no _meta", null, [version, capabilities]],
    ["an empty _meta", {}, [version, capabilities]],
    ["a _meta that is a list", [], [version, capabilities]],
    ["no revision", { [capabilities]: {} }, [version]],
    ["a revision that is no text", { [version]: 20260728, [capabilities]: {} }, [version]],
    ["no capabilities", { [version]: revision }, [capabilities]],
    ["capabilities that are a list", { [version]: revision, [capabilities]: [] }, [capabilities]],
  ])("%s", async (_, meta, named) => {
    for (const method of ["server/discover", "tools/list", "nothing"]) {
      const { status, body } = await send(method, { meta });
      expect([status, body.error.code]).toEqual([400, -32602]);
      for (const name of named) expect(body.error.message).toContain(name);
    }
  });

  test("server/discover without `_meta` and without the header of the revision", async () => {
    const { status, body } = await discover({ meta: null, headers: { "mcp-protocol-version": undefined } });
    expect([status, body.error.code]).toEqual([400, -32602]);
  });
});

describe("headers that do not fit the body are a 400 with -32020:", () => {
  test.each<[string, string, Changes]>([
    ["no revision", "tools/list", { headers: { "mcp-protocol-version": undefined } }],
    ["another revision", "tools/list", { headers: { "mcp-protocol-version": "2025-11-25" } }],
    ["an unknown revision", "tools/list", { headers: { "mcp-protocol-version": "2099-01-01" } }],
    ["another revision in the body", "tools/list", { meta: { [version]: "2025-11-25", [capabilities]: {} } }],
    ["no method", "tools/list", { headers: { "mcp-method": undefined } }],
    ["another method", "tools/list", { headers: { "mcp-method": "tools/call" } }],
    ["the method in capitals", "tools/list", { headers: { "mcp-method": "TOOLS/LIST" } }],
    ["no name", "tools/call", { params: execute, headers: { "mcp-name": undefined } }],
    ["an empty name", "tools/call", { params: execute, headers: { "mcp-name": "" } }],
    ["the other tool's name", "tools/call", { params: execute, headers: { "mcp-name": "service_query" } }],
    ["another name in base64", "tools/call", { params: execute, headers: { "mcp-name": "=?base64?b3RoZXI=?=" } }],
    ["broken base64", "tools/call", { params: execute, headers: { "mcp-name": "=?base64?c2VydmljZV9leGVjdXRl!?=" } }],
    [
      "base64 of bytes that are not UTF-8",
      "tools/call",
      { params: execute, headers: { "mcp-name": "=?base64?//79?=" } },
    ],
    ["the name without its padding", "tools/call", { params: { name: "a" }, headers: { "mcp-name": "=?base64?YQ?=" } }],
  ])("%s", async (_, method, changes) => {
    const { status, body } = await send(method, changes);
    expect([status, body.id, body.error.code]).toEqual([400, 1, -32020]);
  });

  test("a program whose headers name another tool does not run", async () => {
    const { id, owner } = await newAccount();
    const params = {
      name: "service_execute",
      arguments: { code: `workspaces.add(account_id="${id}", name="Sales")` },
    };
    const refused = await send("tools/call", { params, headers: { "mcp-name": "service_query" } }, owner.token);
    expect(refused.body.error.code).toBe(-32020);
    const { body } = await request("GET", `/v1/public/accounts/${id}/workspaces`, { token: owner.token });
    expect(body.total).toBe(0);
  });
});

test.each([
  ["plain", "service_execute"],
  ["between white space", "  service_execute\t"],
  ["in base64", `=?base64?${Buffer.from("service_execute").toString("base64")}?=`],
])("a name is read %s", async (_, name) => {
  const answer = await send("tools/call", { params: execute, headers: { "mcp-name": name } });
  expect(answer).toMatchObject({ status: 200, body: { result: { isError: false } } });
});

test("a tool name in base64 that is not ASCII is decoded, and the tool is unknown", async () => {
  const name = "työkalu";
  const encoded = `=?base64?${Buffer.from(name).toString("base64")}?=`;
  const answer = await send("tools/call", { params: { name }, headers: { "mcp-name": encoded } });
  expect(answer).toMatchObject({ status: 200, body: { error: { code: -32602 } } });
});

test.each(["1900-01-01", "2099-01-01", "v999"])(
  "revision %s is a 400 with -32022 that lists the supported revisions",
  async (it) => {
    const meta = { [version]: it, [capabilities]: {} };
    const { status, body } = await discover({ meta, headers: { "mcp-protocol-version": it } });
    expect([status, body.error.code]).toEqual([400, -32022]);
    const supported = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"];
    expect(body.error.data).toEqual({ supported, requested: it });
  },
);

test.each(["initialize", "ping", "logging/setLevel", "subscriptions/listen", "prompts/list", "constructor"])(
  "there is no method %s: 404 with -32601 that names the revisions",
  async (method) => {
    const { status, body } = await send(method);
    expect([status, body.error.code]).toEqual([404, -32601]);
    expect(body.error.message).toContain("2026-07-28, 2025-11-25");
  },
);

test("a notification gets 202 without a body, unless its header and body disagree", async () => {
  const notify = (meta: object, headers: Record<string, string>) =>
    request("POST", path, {
      token: user.token,
      body: { jsonrpc: "2.0", method: "notifications/cancelled", params: { _meta: meta } },
      headers,
    });
  expect(await notify({}, { "mcp-protocol-version": revision })).toMatchObject({ status: 202, text: "" });
  expect(await notify({ [version]: revision }, { "mcp-protocol-version": "2025-11-25" })).toMatchObject({
    status: 400,
    body: { id: null, error: { code: -32020 } },
  });
});

test("no session is made, and a session that a client names is ignored", async () => {
  const answer = await discover({ headers: { "mcp-session-id": "s-1", "last-event-id": "7" } });
  expect(answer.status).toBe(200);
  expect(answer.headers["mcp-session-id"]).toBeUndefined();
});
