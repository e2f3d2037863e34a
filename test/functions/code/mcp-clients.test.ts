import { Client as NextClient, StreamableHTTPClientTransport as NextTransport } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, onTestFinished, test } from "vitest";

import { startMcp } from "../../support/mcp-server.ts";
import { newAccount, type Account } from "../../support/world.ts";

const who = { name: "test", version: "1.0.0" };
const optionsOf = ({ owner }: Account) => ({ requestInit: { headers: { authorization: `Bearer ${owner.token}` } } });

/** What every client finds: both tools, what they answer, and that a mistake is told to the model. */
type Connected = {
  listTools: () => Promise<{ tools: { name: string }[] }>;
  callTool: (call: { name: string; arguments: Record<string, unknown> }) => Promise<unknown>;
};

async function checkTools(client: Connected, { id }: Account): Promise<void> {
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["service_execute", "service_query"]);
  const add = `workspaces.add(account_id="${id}", name="Sales")`;
  const call = async (name: string, code: string) => {
    const result = await client.callTool({ name, arguments: { code } });
    const { content, isError } = result as { content: { text: string }[]; isError: boolean };
    return { isError, envelope: JSON.parse(content[0]?.text ?? "") };
  };
  expect(await call("service_execute", add)).toMatchObject({ isError: false, envelope: { status: "completed" } });
  const listed = await call("service_query", `workspaces.list(account_id="${id}")`);
  expect(listed).toMatchObject({ isError: false, envelope: { result: { last_value: { total: 1 } } } });
  expect(await call("service_query", add)).toMatchObject({ isError: true, envelope: { status: "failed" } });
}

test("the official client connects, lists and calls", async () => {
  const account = await newAccount();
  const client = new Client(who);
  onTestFinished(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(await startMcp()), optionsOf(account)));
  expect(client.getServerVersion()).toMatchObject({ name: "hosted-mail-api" });
  await client.ping();
  await checkTools(client, account);
});

test.each([
  ["by itself", undefined, "2025-11-25"],
  ["when it looks for the newest revision", "auto" as const, "2026-07-28"],
])("the official client of the next generation connects %s, lists and calls", async (_, mode, revision) => {
  const account = await newAccount();
  const client = new NextClient(who, mode ? { versionNegotiation: { mode } } : {});
  onTestFinished(() => client.close());
  await client.connect(new NextTransport(new URL(await startMcp()), optionsOf(account)));
  expect(client.getNegotiatedProtocolVersion()).toBe(revision);
  await checkTools(client, account);
});
