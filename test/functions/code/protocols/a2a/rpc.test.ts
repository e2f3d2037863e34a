import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { request, type Sent } from "../../../../support/request.ts";
import { newAccount, newUser, type Account } from "../../../../support/world.ts";

const path = "/v1/public/a2a";
const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

type Message = Record<string, unknown>;
const messageOf = (part: object, more: Message = {}): Message => ({
  messageId: "message-1",
  role: "ROLE_USER",
  parts: [part],
  ...more,
});

/** Sends a request of the protocol, of version 1.0 unless headers say otherwise. */
const rpc = (token: string | undefined, method: string, params: unknown, sent: Sent = {}) =>
  request("POST", path, {
    token,
    body: { jsonrpc: "2.0", id: 7, method, params },
    ...sent,
    headers: { "a2a-version": "1.0", ...sent.headers },
  });
const sendMessage = (token: string, message: Message, more: Message = {}) =>
  rpc(token, "SendMessage", { message, ...more });
const sendCode = (token: string, code: string, more: Message = {}) =>
  sendMessage(token, messageOf({ data: { code } }, more));
const adding = ({ id }: Account, name: string) => `workspaces.add(account_id="${id}", name="${name}")`;

const errorOf = ({ status, body }: { status: number; body: { id: unknown; error: Record<string, unknown> } }) => {
  const [info] = body.error["data"] as [Record<string, unknown>];
  return [status, body.id, body.error["code"], info["reason"]];
};

describe("SendMessage", () => {
  test("runs the program of a data part, and returns a completed task with the envelope as its artifact", async () => {
    const { token, id } = newUser();
    const data = { code: "me.get()", request_id: "request-1", session_id: "session-1" };
    const { status, headers, body } = await sendMessage(token, messageOf({ data, mediaType: "application/json" }));
    expect([status, headers["content-type"], headers["ratelimit"]]).toEqual([
      200,
      "application/json",
      expect.any(String),
    ]);
    expect(body).toEqual({
      jsonrpc: "2.0",
      id: 7,
      result: {
        task: {
          id: expect.stringMatching(uuid),
          contextId: "session-1",
          status: { state: "TASK_STATE_COMPLETED", timestamp: expect.stringMatching(/Z$/) },
          artifacts: [
            {
              artifactId: "envelope",
              name: "Envelope of the program",
              parts: [
                {
                  data: {
                    request_id: "request-1",
                    status: "completed",
                    result: { last_value: expect.objectContaining({ id }) },
                    responses: [expect.objectContaining({ function: "me.get", status: "completed" })],
                    complexity_score: 1,
                  },
                  mediaType: "application/json",
                },
              ],
            },
          ],
        },
      },
    });
  });

  test("uses a text part as the program, the message's id as the request_id, and the context as the session_id", async () => {
    const { token } = newUser();
    const message = messageOf({ text: "x = me.get().id\nx" }, { contextId: "session-1" });
    const { task } = (await sendMessage(token, message)).body.result;
    expect(task).toMatchObject({ contextId: "session-1", status: { state: "TASK_STATE_COMPLETED" } });
    expect(task.artifacts[0].parts[0].data).toMatchObject({ request_id: "message-1", status: "completed" });
    const next = messageOf({ text: "[x, me.get().id]" }, { contextId: "session-1", messageId: "message-2" });
    const { last_value } = (await sendMessage(token, next)).body.result.task.artifacts[0].parts[0].data.result;
    expect(last_value[0]).toBe(last_value[1]);
  });

  test("returns a failure as a failed task, with a message that says how to correct the program", async () => {
    const { task } = (await sendCode(newUser().token, "me.gt()")).body.result;
    const { data } = task.artifacts[0].parts[0];
    expect(task.status.state).toBe("TASK_STATE_FAILED");
    expect(data.error.message).toContain("Did you mean me.get?");
    expect(task.status.message).toMatchObject({
      role: "ROLE_AGENT",
      taskId: task.id,
      contextId: task.contextId,
      parts: [{ text: data.error.message, mediaType: "text/plain" }],
    });
  });

  test("makes a context if the message has none, and returns the same task for the same message", async () => {
    const account = await newAccount();
    const { token } = account.owner;
    const first = await sendCode(token, adding(account, "Sales"));
    const again = await sendCode(token, adding(account, "Sales"));
    expect(first.body.result.task).toMatchObject({ contextId: expect.stringMatching(uuid) });
    const { timestamp, ...status } = first.body.result.task.status;
    expect(timestamp).toMatch(/Z$/);
    expect(again.body.result.task).toEqual({ ...first.body.result.task, status });
    expect([first, again].map(({ headers }) => headers["idempotency-replayed"])).toEqual([undefined, "true"]);
    expect((await sendCode(newUser().token, "me.get()")).body.result.task.contextId).not.toBe(
      first.body.result.task.contextId,
    );
  });

  test("returns the stored answer of the same envelope without JSON-RPC, and shares its session", async () => {
    const account = await newAccount();
    const { token } = account.owner;
    const code = `w = ${adding(account, "Sales")}`;
    const body = { request_id: "r", session_id: "s", code };
    const { text } = await request("POST", path, { token, body });
    const message = messageOf({ data: body }, { messageId: randomUUID() });
    const { data } = (await sendMessage(token, message)).body.result.task.artifacts[0].parts[0];
    expect(`${JSON.stringify(data)}\n`).toBe(text);
    const named = await sendCode(token, `[w.name, me.get().id][0]`, { contextId: "s", messageId: randomUUID() });
    expect(named.body.result.task.artifacts[0].parts[0].data.result.last_value).toBe("Sales");
  });

  test("returns the planned calls of a program with dry_run", async () => {
    const account = await newAccount();
    const data = { code: adding(account, "Sales"), dry_run: true };
    const { task } = (await sendMessage(account.owner.token, messageOf({ data }))).body.result;
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(task.artifacts[0].parts[0].data.dry_run.calls).toMatchObject([{ function: "workspaces.add", held: true }]);
  });

  test("returns the envelope as text to a client that accepts only text", async () => {
    const configuration = { acceptedOutputModes: ["text/plain"] };
    const answer = await sendMessage(newUser().token, messageOf({ text: "me.get()" }), { configuration });
    const [part] = answer.body.result.task.artifacts[0].parts;
    expect(part.mediaType).toBe("text/plain");
    expect(JSON.parse(part.text)).toMatchObject({ request_id: "message-1", status: "completed" });
  });

  test("ignores unknown members and empty members", async () => {
    const message = messageOf(
      { text: "me.get()", filename: "", metadata: {} },
      { contextId: "", taskId: "", extensions: [], referenceTaskIds: [], kind: "message" },
    );
    const answer = await sendMessage(newUser().token, message, {
      tenant: "",
      configuration: { returnImmediately: true },
    });
    expect(answer.body.result.task.status.state).toBe("TASK_STATE_COMPLETED");
  });
});

describe("SendMessage refuses", () => {
  const program = { text: "me.get()" };
  test.each([
    ["no message", {}],
    ["a message without an id", { message: { role: "ROLE_USER", parts: [program] } }],
    ["an id that cannot be a request's", { message: messageOf(program, { messageId: "a b" }) }],
    ["a context that cannot be a session's", { message: messageOf(program, { contextId: "x".repeat(129) }) }],
    ["the agent's role", { message: messageOf(program, { role: "ROLE_AGENT" }) }],
    ["the role of version 0.3", { message: messageOf(program, { role: "user" }) }],
    ["no part", { message: messageOf(program, { parts: [] }) }],
    ["two parts", { message: messageOf(program, { parts: [program, program] }) }],
    ["data without a program", { message: messageOf({ data: { session_id: "s" } }) }],
    ["data that is no object", { message: messageOf({ data: "me.get()" }) }],
    ["data with an unknown member", { message: messageOf({ data: { code: "me.get()", dry: true } }) }],
    ["two sessions", { message: messageOf({ data: { code: "me.get()", session_id: "s" } }, { contextId: "t" }) }],
    ["a program that is too long", { message: messageOf({ text: "#".repeat(65_537) }) }],
  ])("%s as invalid parameters", async (_, params) => {
    expect(errorOf(await rpc(newUser().token, "SendMessage", params))).toEqual([200, 7, -32602, "INVALID_PARAMS"]);
  });

  test.each([
    ["a file", { message: messageOf({ raw: "bWUuZ2V0KCk=", mediaType: "text/plain" }) }],
    ["a link", { message: messageOf({ url: "https://example.com/program" }) }],
    ["a part with nothing in it", { message: messageOf({}) }],
    ["text of another type", { message: messageOf({ text: "me.get()", mediaType: "text/x-python" }) }],
    ["data of another type", { message: messageOf({ data: { code: "me.get()" }, mediaType: "application/xml" }) }],
    [
      "an answer of another type",
      { message: messageOf(program), configuration: { acceptedOutputModes: ["image/png"] } },
    ],
  ])("%s as a content type it does not support", async (_, params) => {
    const answer = await rpc(newUser().token, "SendMessage", params);
    expect(errorOf(answer)).toEqual([200, 7, -32005, "CONTENT_TYPE_NOT_SUPPORTED"]);
    expect(answer.body.error.data[0].metadata.supportedContentTypes).toBe("application/json, text/plain");
  });

  test("to continue a task, because the agent keeps no tasks", async () => {
    const answer = await sendMessage(newUser().token, messageOf(program, { taskId: "task-1" }));
    expect(errorOf(answer)).toEqual([200, 7, -32001, "TASK_NOT_FOUND"]);
  });

  test("to push the result", async () => {
    const configuration = { taskPushNotificationConfig: { url: "https://example.com/" } };
    const answer = await sendMessage(newUser().token, messageOf(program), { configuration });
    expect(errorOf(answer)).toEqual([200, 7, -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"]);
  });

  test("a message without running its program", async () => {
    const account = await newAccount();
    const { token } = account.owner;
    const text = adding(account, "Sales");
    const ofAgent = await sendMessage(token, messageOf({ text }, { role: "ROLE_AGENT" }));
    expect(errorOf(ofAgent)).toEqual([200, 7, -32602, "INVALID_PARAMS"]);
    const former = { headers: { "a2a-version": "0.3" } };
    const ofFormer = await rpc(token, "SendMessage", { message: messageOf({ text }) }, former);
    expect(errorOf(ofFormer)).toEqual([200, 7, -32009, "VERSION_NOT_SUPPORTED"]);
    const list = await request("GET", `/v1/public/accounts/${account.id}/workspaces`, { token });
    expect(list.body.total).toBe(0);
  });
});

describe("the protocol of an agent that keeps no tasks", () => {
  test.each([
    ["GetTask", { id: "task-1" }, -32001, "TASK_NOT_FOUND"],
    ["CancelTask", { id: "task-1" }, -32001, "TASK_NOT_FOUND"],
    ["SendStreamingMessage", {}, -32004, "UNSUPPORTED_OPERATION"],
    ["SubscribeToTask", { id: "task-1" }, -32004, "UNSUPPORTED_OPERATION"],
    ["GetExtendedAgentCard", {}, -32004, "UNSUPPORTED_OPERATION"],
    ["CreateTaskPushNotificationConfig", {}, -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"],
    ["GetTaskPushNotificationConfig", {}, -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"],
    ["ListTaskPushNotificationConfigs", {}, -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"],
    ["DeleteTaskPushNotificationConfig", {}, -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"],
    ["message/send", {}, -32601, "METHOD_NOT_FOUND"],
    ["__proto__", {}, -32601, "METHOD_NOT_FOUND"],
  ])("answers %s with its error", async (method, params, code, reason) => {
    const answer = await rpc(newUser().token, method, params);
    expect(errorOf(answer)).toEqual([200, 7, code, reason]);
    expect(answer.body.error.data).toEqual([
      expect.objectContaining({
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        domain: "a2a-protocol.org",
        reason,
      }),
    ]);
  });

  test("lists no tasks", async () => {
    const { body } = await rpc(newUser().token, "ListTasks", { pageSize: 10 });
    expect(body.result).toEqual({ tasks: [], nextPageToken: "", pageSize: 10, totalSize: 0 });
  });

  test.each([0, 101, 1.5, "x", true])("refuses the page size %j", async (pageSize) => {
    expect(errorOf(await rpc(newUser().token, "ListTasks", { pageSize }))).toEqual([200, 7, -32602, "INVALID_PARAMS"]);
  });

  test.each(["1.0", "1.0.1"])("accepts version %s, as a header or in the query", async (version) => {
    const { token } = newUser();
    const body = { jsonrpc: "2.0", id: "a", method: "ListTasks" };
    const headers = { "a2a-version": version };
    expect((await request("POST", path, { token, body, headers })).body.result.tasks).toEqual([]);
    expect((await request("POST", `${path}?A2A-Version=${version}`, { token, body })).body.result.tasks).toEqual([]);
  });

  test.each([undefined, "", "0.3", "2.0", "1.1", "1.0; q=1", "x".repeat(5_000)])(
    "refuses version %j, and names the supported version",
    async (version) => {
      const body = { jsonrpc: "2.0", id: 7, method: "ListTasks" };
      const headers: Record<string, string> = version === undefined ? {} : { "a2a-version": version };
      const answer = await request("POST", path, { token: newUser().token, body, headers });
      expect(errorOf(answer)).toEqual([200, 7, -32009, "VERSION_NOT_SUPPORTED"]);
      expect(answer.body.error.data[0].metadata).toEqual({ supportedVersions: "1.0" });
      expect(answer.text.length).toBeLessThan(1_000);
    },
  );

  test.each([
    ["another version of JSON-RPC", { jsonrpc: "1.0", id: 7, method: "SendMessage" }, 7],
    ["a notification", { jsonrpc: "2.0", method: "SendMessage", params: {} }, null],
    ["an id that is an object", { jsonrpc: "2.0", id: { a: 1 }, method: "SendMessage" }, null],
    ["no method", { jsonrpc: "2.0", id: 7 }, 7],
    ["a batch", [{ jsonrpc: "2.0", id: 7, method: "ListTasks" }], null],
    ["a message without jsonrpc", { id: 7, method: "SendMessage" }, 7],
    ["parameters by position", { jsonrpc: "2.0", id: 7, method: "SendMessage", params: [] }, 7],
  ])("refuses %s", async (_, body, id) => {
    const answer = await request("POST", path, {
      token: newUser().token,
      body,
      headers: { "a2a-version": "1.0" },
    });
    expect(errorOf(answer)).toEqual([200, id, -32600, "INVALID_REQUEST"]);
  });

  test("refuses text that is not JSON, with an error of the protocol only if A2A-Version is given", async () => {
    const { token } = newUser();
    const sent = { token, body: "{bad" };
    const answer = await request("POST", path, { ...sent, headers: { "a2a-version": "1.0" } });
    expect(errorOf(answer)).toEqual([200, null, -32700, "PARSE_ERROR"]);
    expect(await request("POST", path, sent)).toMatchObject({ status: 400, body: { code: "malformed_json" } });
  });

  test("runs an envelope without JSON-RPC also if A2A-Version is given", async () => {
    const body = { request_id: "r", session_id: "s", code: "me.get()" };
    const answer = await request("POST", path, { token: newUser().token, body, headers: { "a2a-version": "1.0" } });
    expect(answer).toMatchObject({ status: 200, body: { status: "completed" } });
  });

  test("refuses a request without a token", async () => {
    const answer = await rpc(undefined, "ListTasks", {});
    expect([answer.status, answer.body.code]).toEqual([401, "unauthenticated"]);
    expect(answer.headers["www-authenticate"]).toContain("Bearer");
  });

  test("charges refused requests to the rate limit", async () => {
    const { headers } = await rpc(newUser().token, "GetTask", { id: "task-1" });
    expect(headers["ratelimit"]).toMatch(/^"default";r=99;/);
  });
});
