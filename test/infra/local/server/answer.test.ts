import { expect, test } from "vitest";

import { toAnswer } from "../../../../infra/local/server/http-message.ts";
import { gatewayWith, sendRequest } from "../wire.ts";

const bodyOf = (result: unknown): string => toAnswer(result).body.toString();

test("without a statusCode the whole result is a JSON body", () => {
  const answer = toAnswer({ message: "hi" });
  expect(answer).toMatchObject({ status: 200, headers: { "content-type": "application/json" } });
  expect(answer.body.toString()).toBe('{"message":"hi"}');
  expect(bodyOf("hi")).toBe('"hi"');
  expect(bodyOf([1])).toBe("[1]");
  expect(bodyOf(undefined)).toBe("null");
});

test("the answer has the status, the body and the headers of the handler, with header names in lower case", () => {
  const answer = toAnswer({ statusCode: 418, headers: { "Content-Type": "text/html", "X-Count": 3 }, body: "<p>" });
  expect(answer).toEqual({
    status: 418,
    headers: { "content-type": "text/html", "x-count": "3" },
    body: Buffer.from("<p>"),
  });
});

test("a body without a content type is plain text, and an answer without a body has no content type", () => {
  expect(toAnswer({ statusCode: 200, body: "x" }).headers).toEqual({ "content-type": "text/plain; charset=utf-8" });
  expect(toAnswer({ statusCode: 200 }).headers).toEqual({});
});

test("a base64 body is sent as its bytes", () => {
  expect(toAnswer({ statusCode: 200, body: "AP8K", isBase64Encoded: true }).body).toEqual(Buffer.from([0, 255, 10]));
});

test("the handler's headers about the connection and the length are dropped", () => {
  const headers = { Connection: "close", "Transfer-Encoding": "chunked", "Content-Length": "99", "x-a": "b" };
  expect(toAnswer({ statusCode: 200, headers }).headers).toEqual({ "x-a": "b" });
});

test.each([
  { statusCode: "200" },
  { statusCode: 99 },
  { statusCode: 200.5 },
  { statusCode: 200, body: { a: 1 } },
  { statusCode: 200, headers: "a" },
  { statusCode: 200, cookies: "a=b" },
])("%j is no answer", (result) => {
  expect(() => toAnswer(result)).toThrow();
});

test("each cookie is a Set-Cookie line", async () => {
  const port = await gatewayWith(async () => ({ statusCode: 200, cookies: ["a=1; HttpOnly", "b=2"] }));
  expect((await sendRequest(port)).headers["set-cookie"]).toEqual(["a=1; HttpOnly", "b=2"]);
});

test("HEAD gets the headers of the answer, with the length, and no body", async () => {
  const port = await gatewayWith(async () => ({ statusCode: 200, body: "hello" }));
  const reply = await sendRequest(port, { method: "HEAD" });
  expect(reply).toMatchObject({ status: 200, body: "", headers: { "content-length": "5" } });
});

test("204 and 304 have no body and no length", async () => {
  const port = await gatewayWith(async (event) => ({ statusCode: Number(event.rawPath.slice(1)), body: "x" }));
  for (const status of [204, 304]) {
    const reply = await sendRequest(port, { path: `/${status}` });
    expect(reply).toMatchObject({ status, body: "" });
    expect(reply.headers).not.toHaveProperty("content-length");
  }
});
