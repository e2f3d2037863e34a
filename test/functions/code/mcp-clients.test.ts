import { Client as NextClient, StreamableHTTPClientTransport as NextTransport } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, onTestFinished, test, vi } from "vitest";

import { afterReading } from "../../support/between.ts";
import { startMcp } from "../../support/mcp-server.ts";
import { request } from "../../support/request.ts";
import { newAccount, type Account } from "../../support/world.ts";

const who = { name: "test", version: "1.0.0" };
const optionsOf = ({ owner }: Account) => ({ requestInit: { headers: { authorization: `Bearer ${owner.token}` } } });

/** The methods of a client that `checkTools` calls. */
type Connected = {
  listTools: () => Promise<{ tools: { name: string }[] }>;
  callTool: (call: { name: string; arguments: Record<string, unknown> }) => Promise<unknown>;
};

/** Checks that a client finds both tools, gets their answers, and gets a refusal as an error of the tool. */
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
  ["by default", undefined, "2025-11-25"],
  ["when it negotiates the newest revision", "auto" as const, "2026-07-28"],
])("the official client of the next generation connects %s, lists and calls", async (_, mode, revision) => {
  const account = await newAccount();
  const client = new NextClient(who, mode ? { versionNegotiation: { mode } } : {});
  onTestFinished(() => client.close());
  await client.connect(new NextTransport(new URL(await startMcp()), optionsOf(account)));
  expect(client.getNegotiatedProtocolVersion()).toBe(revision);
  await checkTools(client, account);
  // Revision 2026-07-28 has no ping.
  if (mode) await expect(client.ping()).rejects.toThrow();
  else await client.ping();
});

/**
 * Answers a client's requests in this process. While a program reads tags, the clock moves on by 3.5 seconds, so that
 * the server reports the progress.
 */
async function slowFetch(url: string | URL | Request, { method = "GET", headers, body }: RequestInit = {}) {
  const target = new URL(url instanceof Request ? url.url : url).pathname;
  const sent = { headers: Object.fromEntries(new Headers(headers)), body: typeof body === "string" ? body : undefined };
  const run = () => request(method, target, sent);
  const isProgram = sent.body?.includes("tags.list") ?? false;
  const pass = async () => void vi.setSystemTime(Date.now() + 3_500);
  const answer = isProgram ? await afterReading(({ SK }) => SK === "LIST#tags#HEAD", pass, run) : await run();
  return new Response(answer.text === "" ? null : answer.text, { status: answer.status, headers: answer.headers });
}

type Call = { name: string; arguments: Record<string, unknown> };
type Options = { onprogress: (progress: unknown) => void };
type Transported = { requestInit: object; fetch: typeof slowFetch };
const endpoint = new URL("http://127.0.0.1:8080/v1/public/mcp");

async function callByClient(transported: Transported, call: Call, options: Options): Promise<unknown> {
  const client = new Client(who);
  onTestFinished(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(endpoint, transported));
  return client.callTool(call, undefined, options);
}

async function callByNextClient(transported: Transported, call: Call, options: Options): Promise<unknown> {
  const client = new NextClient(who, { versionNegotiation: { mode: "auto" } });
  onTestFinished(() => client.close());
  await client.connect(new NextTransport(endpoint, transported));
  return client.callTool(call, options);
}

test.each([
  ["", callByClient],
  [" of the next generation", callByNextClient],
])("the official client%s receives the progress of a program, and its answer", async (_, callBy) => {
  const account = await newAccount();
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const told: unknown[] = [];
  const call = { name: "service_execute", arguments: { code: `tags.list(account_id="${account.id}")` } };
  const onprogress = (progress: unknown) => void told.push(progress);
  const result = await callBy({ ...optionsOf(account), fetch: slowFetch }, call, { onprogress });
  expect(result).toMatchObject({ isError: false });
  expect(told).toEqual([{ progress: 1, message: "1 call completed" }]);
});
