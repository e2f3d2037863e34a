import { beforeEach, expect, onTestFinished, test, vi } from "vitest";

import { afterReading } from "../../../support/between.ts";
import { answerOf, eventOf, handlerOf, request } from "../../../support/request.ts";
import { newAccount, newUser, type Account, type User } from "../../../support/world.ts";

const path = "/v1/public/mcp";
const modern = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
});

/** Moves the clock ahead by `ms` milliseconds, as if the program had taken this time. */
const pass = (ms: number): void => void vi.setSystemTime(Date.now() + ms);

const cancel = ({ token }: Pick<User, "token">, requestId: unknown) => {
  const body = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason: "enough" } };
  return request("POST", path, { token, body });
};

/** A program that adds a workspace, reads tags, and adds another workspace. */
const programOf = ({ id }: Account) => {
  const add = (name: string) => `workspaces.add(account_id="${id}", name="${name}").name`;
  return `${add("A")}\ntags.list(account_id="${id}").total\n${add("B")}`;
};

const call = (account: Account, more: object = {}, id: string | number = 7) => ({
  token: account.owner.token,
  body: {
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name: "service_execute", arguments: { code: programOf(account), ...more } },
  },
});

const envelopeOf = ({ body }: { body: { result: { content: { text: string }[] } } }) =>
  JSON.parse(body.result.content[0]?.text ?? "");

/** Runs `run`, whose program reads tags, and runs `step` at the time of this read. */
const whileReading = <T>(step: () => Promise<unknown>, run: () => Promise<T>): Promise<T> =>
  afterReading(({ SK }) => SK === "LIST#tags#HEAD", step, run);

const workspacesOf = async (account: Account): Promise<string[]> => {
  const answer = await request("GET", `/v1/public/accounts/${account.id}/workspaces`, { token: account.owner.token });
  return answer.body.items.map(({ name }: { name: string }) => name);
};

test("a cancelled program makes no more calls and returns what it has done, and a repeat returns the same", async () => {
  const account = await newAccount();
  const run = () => request("POST", path, call(account, { request_id: "task-1" }));
  const cancelled = await whileReading(async () => {
    pass(1_500);
    expect(await cancel(account.owner, 7)).toMatchObject({ status: 202, text: "" });
  }, run);
  expect(cancelled.body.result.isError).toBe(true);
  const envelope = envelopeOf(cancelled);
  expect(envelope).toMatchObject({
    status: "failed",
    responses: [
      { function: "workspaces.add", status: "completed" },
      { function: "tags.list", status: "completed" },
      { function: "workspaces.add", status: "skipped" },
    ],
    error: { code: "cancelled", line: 3, message: expect.stringContaining("1 earlier call took effect") },
  });
  expect(await workspacesOf(account)).toEqual(["A"]);
  pass(5_000);
  expect(envelopeOf(await run())).toEqual(envelope);
  expect(await workspacesOf(account)).toEqual(["A"]);
});

test.each<[string, (account: Account) => Promise<unknown>, number]>([
  ["of another request", ({ owner }) => cancel(owner, 8), 1_500],
  ["whose id is a text and not a number", ({ owner }) => cancel(owner, "7"), 1_500],
  ["of somebody else", () => cancel(newUser(), 7), 1_500],
  ["without an id", ({ owner }) => cancel(owner, undefined), 1_500],
  ["in the first second of the program", ({ owner }) => cancel(owner, 7), 500],
])("a program is not ended by a cancellation %s", async (_, step, ms) => {
  const account = await newAccount();
  const answer = await whileReading(
    async () => {
      pass(ms);
      expect(await step(account)).toMatchObject({ status: 202 });
    },
    () => request("POST", path, call(account)),
  );
  expect(envelopeOf(answer).status).toBe("completed");
});

test("a cancellation does not end a later request with the same id", async () => {
  const account = await newAccount();
  await cancel(account.owner, 7);
  pass(10);
  const answer = await whileReading(
    async () => pass(1_500),
    () => request("POST", path, call(account)),
  );
  expect(envelopeOf(answer).status).toBe("completed");
});

test.each([
  ["ends a program of revision 2026-07-28", true, "failed"],
  ["does not end a program of an earlier revision", false, "completed"],
])("a closed connection that the server can see %s", async (_, isModern, status) => {
  const account = await newAccount();
  const { token, body } = call(account);
  const params = { ...body.params, ...(isModern ? { _meta: modern } : {}) };
  const headers = {
    "mcp-protocol-version": isModern ? "2026-07-28" : "2025-11-25",
    "mcp-method": "tools/call",
    "mcp-name": "service_execute",
  };
  const connection = new AbortController();
  const handler = await handlerOf({ file: "functions/code/handler.ts" });
  const event = eventOf("POST", path, { token, body: { ...body, params }, headers });
  const answer = await whileReading(
    async () => connection.abort(),
    async () => answerOf(await handler(event, { signal: connection.signal })),
  );
  const envelope = envelopeOf(answer);
  expect(envelope.status).toBe(status);
  expect(await workspacesOf(account)).toEqual(isModern ? ["A"] : ["A", "B"]);
  if (isModern) expect(envelope.error.code).toBe("cancelled");
});

const eventsIn = (text: string) =>
  text
    .trim()
    .split("\n\n")
    .map((event) => JSON.parse(/^event: message\ndata: (.*)$/.exec(event)?.[1] ?? "null"));

test("a client that asks for progress gets a notification before the answer, if the program takes over three seconds", async () => {
  const account = await newAccount();
  const { token, body } = call(account);
  const params = { ...body.params, _meta: { progressToken: "p-1" } };
  const headers = { accept: "application/json, text/event-stream" };
  const answer = await whileReading(
    async () => pass(3_500),
    () => request("POST", path, { token, body: { ...body, params }, headers }),
  );
  expect(answer).toMatchObject({ status: 200, headers: { "content-type": "text/event-stream" } });
  const [progress, last, ...more] = eventsIn(answer.text);
  expect(progress).toEqual({
    jsonrpc: "2.0",
    method: "notifications/progress",
    params: { progressToken: "p-1", progress: 2, message: "2 calls completed" },
  });
  expect(envelopeOf({ body: last })).toMatchObject({ status: "completed", result: { last_value: "B" } });
  expect([last.id, more]).toEqual([7, []]);
});

test.each([
  ["does not ask for progress", {}, "application/json, text/event-stream", 3_500],
  ["does not accept a stream", { progressToken: 1 }, "application/json", 3_500],
  ["is answered within three seconds", { progressToken: 1 }, "application/json, text/event-stream", 2_500],
])("a client that %s gets one JSON object", async (_, _meta, accept, ms) => {
  const account = await newAccount();
  const { token, body } = call(account);
  const params = { ...body.params, _meta };
  const answer = await whileReading(
    async () => pass(ms),
    () => request("POST", path, { token, body: { ...body, params }, headers: { accept } }),
  );
  expect(answer.headers["content-type"]).toBe("application/json");
  expect(envelopeOf(answer).status).toBe("completed");
});

test("a cancellation over the rate limit ends the program", async () => {
  const account = await newAccount();
  const { owner } = account;
  const cancelled = await whileReading(
    async () => {
      pass(1_500);
      const args = { name: "service_query", arguments: { code: "me.get()\n".repeat(140) } };
      const body = { jsonrpc: "2.0", id: 8, method: "tools/call", params: args };
      await request("POST", path, { token: owner.token, body });
      expect((await request("GET", "/v1/public/me", { token: owner.token })).status).toBe(429);
      expect(await cancel(owner, 7)).toMatchObject({ status: 202, text: "" });
    },
    () => request("POST", path, call(account)),
  );
  expect(envelopeOf(cancelled).error.code).toBe("cancelled");
});

test("a cancelled program whose results must not be stored does not run again when it is repeated", async () => {
  const account = await newAccount();
  const { id, owner } = account;
  const code = [
    // An answer of webhooks.list is never stored.
    `webhooks.list(account_id="${id}").total`,
    `tags.list(account_id="${id}").total`,
    `workspaces.add(account_id="${id}", name="B")`,
  ].join("\n");
  const send = (rpcId: number) => request("POST", path, call(account, { code, request_id: "task" }, rpcId));
  const cancelled = await whileReading(
    async () => {
      pass(1_500);
      await cancel(owner, 7);
    },
    () => send(7),
  );
  expect(envelopeOf(cancelled).error.code).toBe("cancelled");
  await send(8);
  expect(await workspacesOf(account)).not.toContain("B");
});
