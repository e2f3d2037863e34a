import { randomUUID } from "node:crypto";

import { Role, TaskState, type Part, type SendMessageRequest, type Task } from "@a2a-js/sdk";
import {
  ClientFactory,
  ClientFactoryOptions,
  createAuthenticatingFetchWithRetry,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from "@a2a-js/sdk/client";
import { TaskNotFoundError, UnsupportedOperationError } from "@a2a-js/sdk/errors";
import { beforeAll, describe, expect, test } from "vitest";

import { lambdas } from "../../../infra/entry-points.ts";
import { startGateway, type Gateway } from "../../../infra/local/server/gateway.ts";
import { handlerOf } from "../../support/request.ts";
import { newAccount, newUser } from "../../support/world.ts";

let gateway: Gateway;
const base = () => `http://127.0.0.1:${gateway.port}`;

/** Sends requests for the host in the agent card, which cannot be reached here, to the gateway of this test. */
const here: typeof fetch = (asked, init) => {
  const { url } = new Request(asked);
  return fetch(url.replace(/^https:\/\/127\.0\.0\.1(?=\/)/, base()), init);
};

/** The official client, as its users set it up with a token. */
function clientOf(token: string) {
  const fetchImpl = createAuthenticatingFetchWithRetry(here, {
    headers: async () => ({ authorization: `Bearer ${token}` }),
    shouldRetryWithHeaders: async () => undefined,
  });
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  });
  return new ClientFactory(options).createFromUrl(base());
}

const part = (content: Part["content"]): Part => ({ content, metadata: undefined, filename: "", mediaType: "" });
const sending = (content: Part["content"], contextId = ""): SendMessageRequest => ({
  tenant: "",
  configuration: undefined,
  metadata: undefined,
  message: {
    messageId: randomUUID(),
    contextId,
    taskId: "",
    role: Role.ROLE_USER,
    parts: [part(content)],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  },
});
const envelopeIn = ({ artifacts }: Task) => {
  const content = artifacts[0]?.parts[0]?.content;
  return content?.$case === "data" ? content.value : undefined;
};

describe("the official client of A2A", () => {
  beforeAll(async () => {
    const wanted = lambdas.filter(({ name }) => name === "code" || name === "docs");
    const functions = await Promise.all(wanted.map(async (spec) => ({ ...spec, handler: await handlerOf(spec) })));
    gateway = await startGateway({ functions, localPaths: [], port: 0 });
    return () => gateway.stop();
  });

  test("reads the agent card", async () => {
    const card = await (await clientOf(newUser().token)).getAgentCard();
    expect(card.supportedInterfaces).toMatchObject([{ protocolBinding: "JSONRPC", protocolVersion: "1.0" }]);
    expect(card.skills.map(({ id }) => id)).toContain("workspaces");
    expect(card.securityRequirements).toEqual([{ schemes: { bearer: { list: [] } } }]);
  });

  test("sends a program as data, continues in its context with a program as text, and reads both tasks", async () => {
    const { id, owner } = await newAccount();
    const client = await clientOf(owner.token);
    const code = `w = workspaces.add(account_id="${id}", name="Sales")`;
    const first = (await client.sendMessage(sending({ $case: "data", value: { code } }))) as Task;
    expect(first.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(envelopeIn(first)).toMatchObject({ status: "completed", result: { last_value: { name: "Sales" } } });
    const text = `workspaces.get(account_id="${id}", workspace_id=w.id).name`;
    const next = (await client.sendMessage(sending({ $case: "text", value: text }, first.contextId))) as Task;
    expect(next.contextId).toBe(first.contextId);
    expect(envelopeIn(next)).toMatchObject({ status: "completed", result: { last_value: "Sales" } });
  });

  test("reads a failed task with the message that says how to correct the program", async () => {
    const client = await clientOf(newUser().token);
    const task = (await client.sendMessage(sending({ $case: "text", value: "me.gt()" }))) as Task;
    expect(task.status?.state).toBe(TaskState.TASK_STATE_FAILED);
    const content = task.status?.message?.parts[0]?.content;
    expect(content).toMatchObject({ $case: "text", value: expect.stringContaining("Did you mean me.get?") });
  });

  test("recognises the errors of an unknown task, an unsupported operation and an unsupported content type", async () => {
    const client = await clientOf(newUser().token);
    await expect(client.getTask({ tenant: "", id: "task-1" })).rejects.toThrow(TaskNotFoundError);
    await expect(client.cancelTask({ tenant: "", id: "task-1", metadata: undefined })).rejects.toThrow(
      TaskNotFoundError,
    );
    const subscribed = client.resubscribeTask({ tenant: "", id: "task-1" });
    await expect(subscribed.next()).rejects.toThrow(UnsupportedOperationError);
    const link = sending({ $case: "url", value: "https://example.com/program" });
    await expect(client.sendMessage(link)).rejects.toMatchObject({ reason: "CONTENT_TYPE_NOT_SUPPORTED" });
  });

  test("is refused with an invalid token", async () => {
    const client = await clientOf("garbage");
    await expect(client.sendMessage(sending({ $case: "text", value: "me.get()" }))).rejects.toThrow(
      /401|invalid_token|credential/i,
    );
  });
});
