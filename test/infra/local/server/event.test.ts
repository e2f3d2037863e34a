import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { expect, test } from "vitest";

import { buildEvent, collectHeaders, createMatcher, parseTarget } from "../../../../infra/local/server/event.ts";

const now = new Date("2026-07-10T19:19:05.766Z");
const match = createMatcher(
  ["GET /v1/mailboxes/{mailbox}", "$default"].map((trigger) => ({ trigger, target: trigger })),
);

function eventOf(path: string, rawHeaders: string[] = [], body = Buffer.alloc(0)): APIGatewayProxyEventV2 {
  const target = parseTarget(path);
  const matched = match("GET", target.path);
  if (!matched) throw new Error("no match");
  const wire = { method: "GET", httpVersion: "1.1", sourceIp: "127.0.0.1", port: 8080 };
  const headers = collectHeaders(["Host", "localhost:8080", ...rawHeaders]);
  return buildEvent({ ...wire, headers, body }, target, matched, now);
}

test("the event has the members of payload format 2.0, and no empty ones", () => {
  const { requestContext, ...rest } = eventOf("/some/where", ["User-Agent", "curl/8"]);
  expect(rest).toEqual({
    version: "2.0",
    routeKey: "$default",
    rawPath: "/some/where",
    rawQueryString: "",
    headers: {
      host: "localhost:8080",
      "user-agent": "curl/8",
      "content-length": "0",
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-port": "8080",
      "x-forwarded-proto": "http",
    },
    isBase64Encoded: false,
  });
  expect(requestContext).toEqual({
    accountId: "000000000000",
    apiId: "local",
    domainName: "localhost",
    domainPrefix: "localhost",
    http: { method: "GET", path: "/some/where", protocol: "HTTP/1.1", sourceIp: "127.0.0.1", userAgent: "curl/8" },
    requestId: expect.stringMatching(/^[A-Za-z0-9+/]{15}=$/),
    routeKey: "$default",
    stage: "$default",
    time: "10/Jul/2026:19:19:05 +0000",
    timeEpoch: 1_783_711_145_766,
  });
});

test("path parameters are decoded and the route key names the trigger", () => {
  const event = eventOf("/v1/mailboxes/o%27neil%40example.com");
  expect(event.pathParameters).toEqual({ mailbox: "o'neil@example.com" });
  expect(event.rawPath).toBe("/v1/mailboxes/o'neil@example.com");
  expect(event.requestContext.http.path).toBe(event.rawPath);
  expect([event.routeKey, event.requestContext.routeKey]).toEqual(Array(2).fill("GET /v1/mailboxes/{mailbox}"));
});

test("repeated query keys are joined, and the raw query string is verbatim", () => {
  const event = eventOf("/x?tag=a&tag=b%2Cc&q=%20+");
  expect(event.rawQueryString).toBe("tag=a&tag=b%2Cc&q=%20+");
  expect(event.queryStringParameters).toEqual({ tag: "a,b,c", q: "  " });
});

test("header names are lower-cased and repeated headers joined by commas", () => {
  const event = eventOf("/x", ["X-Probe", "first", "x-PROBE", "second", "Accept", "a, b"]);
  expect(event.headers).toMatchObject({ "x-probe": "first,second", accept: "a, b" });
});

test("cookies are in a list of their own, and not in the headers", () => {
  const event = eventOf("/x", ["Cookie", "session=abc; theme=dark", "cookie", "c=1"]);
  expect(event.cookies).toEqual(["session=abc", "theme=dark", "c=1"]);
  expect(event.headers).not.toHaveProperty("cookie");
});

test("headers about the connection are not in the event", () => {
  const event = eventOf("/x", ["Connection", "keep-alive", "Transfer-Encoding", "chunked", "TE", "trailers"]);
  for (const name of ["connection", "transfer-encoding", "te"]) expect(event.headers).not.toHaveProperty(name);
});

test("the address of the sender is added at the end of an existing X-Forwarded-For", () => {
  expect(eventOf("/x", ["X-Forwarded-For", "10.0.0.1"]).headers["x-forwarded-for"]).toBe("10.0.0.1, 127.0.0.1");
});

test("an absolute-form target takes the place of the Host header", () => {
  const event = eventOf("http://api.test:99/x");
  expect(event.headers["host"]).toBe("api.test:99");
  expect(event.requestContext).toMatchObject({ domainName: "api.test", domainPrefix: "api" });
});

test.each([
  "application/json",
  "application/json; charset=utf-8",
  "Application/JSON",
  "application/xml",
  "application/javascript",
  "text/csv",
  "text/plain;charset=x",
])("a body of %s arrives as text", (contentType) => {
  const event = eventOf("/x", ["Content-Type", contentType], Buffer.from('{"a":"λ"}'));
  expect(event).toMatchObject({ body: '{"a":"λ"}', isBase64Encoded: false });
  expect(event.headers["content-length"]).toBe("10");
});

test.each([
  "application/octet-stream",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/jsonlines",
  "application/problem+json",
])("a body of %s arrives as base64", (contentType) => {
  const event = eventOf("/x", ["Content-Type", contentType], Buffer.from([0, 255, 10]));
  expect(event).toMatchObject({ body: "AP8K", isBase64Encoded: true });
});

test("a body without a content type arrives as base64", () => {
  expect(eventOf("/x", [], Buffer.from("hi"))).toMatchObject({ body: "aGk=", isBase64Encoded: true });
});

test("an event with an empty body has no member `body`", () => {
  const event = eventOf("/x", ["Content-Type", "image/png"]);
  expect(event).not.toHaveProperty("body");
  expect(event.isBase64Encoded).toBe(false);
});

test("a text body that is not UTF-8 arrives as its bytes in base64", () => {
  const event = eventOf("/x", ["Content-Type", "application/json"], Buffer.from([0x22, 0xff, 0x22]));
  expect(event).toMatchObject({ body: "Iv8i", isBase64Encoded: true });
});
