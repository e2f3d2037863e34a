import { expect, test } from "vitest";

import { maxBodyBytes } from "../../../infra/local/server/http-message.ts";
import { checkContract } from "../../support/contract.ts";
import { gatewayFor, sendRequest, type Sent } from "../local/wire.ts";

const key = "POST /v1/public/accounts/{account_id}/workspaces";
const path = "/v1/public/accounts/7/workspaces";

/** Starts a gateway whose only function is `handler`. Resolves to its port. */
const gateway = (handler: () => Promise<unknown>, integrationTimeoutMs = 29_000): Promise<number> =>
  gatewayFor({ functions: [{ name: "workspaces.add", triggers: [key], handler }], integrationTimeoutMs });

const never = (): Promise<never> => new Promise(() => {});
const failing = async (): Promise<never> => {
  throw new Error("the cause");
};

test.each<[what: string, port: () => Promise<number>, sent: Sent, status: number]>([
  ["a path with malformed escapes", () => gateway(never), { path: `${path}/%zz` }, 400],
  ["a query with malformed escapes", () => gateway(never), { path: `${path}?a=%zz` }, 400],
  ["a body that is too large", () => gateway(never), { path, body: Buffer.alloc(maxBodyBytes + 1) }, 413],
  ["a function that fails", () => gateway(failing), { path }, 500],
  ["a function that takes too long", () => gateway(never, 1), { path }, 503],
])("the document has the gateway's answer to %s", async (_, start, sent, status) => {
  const { headers, body, ...answer } = await sendRequest(await start(), { method: "POST", ...sent });
  expect(answer.status).toBe(status);
  const json = JSON.parse(body) as object;
  expect(Object.keys(json)).toEqual(["message"]);
  const type = { "content-type": String(headers["content-type"]) };
  expect(() => checkContract(key, { status, headers: type, body: json, text: body })).not.toThrow();
});

test("a problem without X-Request-Id breaks the contract; only the answers of the gateway have none", () => {
  const headers = { "content-type": "application/problem+json" };
  const problem = { type: "/", title: "T", status: 500, detail: "D", code: "internal", request_id: "r" };
  const answer = { status: 500, headers, body: problem, text: JSON.stringify(problem) };
  expect(() => checkContract(key, answer)).toThrow("X-Request-Id");
  const identified = { ...answer, headers: { ...headers, "x-request-id": "r" } };
  expect(() => checkContract(key, identified)).not.toThrow();
});
