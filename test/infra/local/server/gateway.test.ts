import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { expect, test } from "vitest";

import { type ServedRequest, startGateway } from "../../../../infra/local/server/gateway.ts";
import { maxBodyBytes } from "../../../../infra/local/server/http-message.ts";
import { invoke } from "../../../../infra/local/server/invoke.ts";
import { echo, gatewayFor, gatewayWith, sendBytes, sendRequest } from "../wire.ts";

const eventIn = (body: string): APIGatewayProxyEventV2 => JSON.parse(body);

test("a request reaches the function whose trigger matches, as an event, with a Lambda context", async () => {
  const port = await gatewayFor({
    functions: [
      { name: "fallback", triggers: ["$default"], handler: echo },
      {
        name: "mailboxes.get",
        triggers: ["GET /v1/{mailbox}", "POST /v1"],
        handler: async (event, context) => ({
          statusCode: 200,
          body: JSON.stringify([
            event.pathParameters,
            context.functionName,
            context.getRemainingTimeInMillis() > 28_000,
          ]),
        }),
      },
    ],
  });
  const reply = await sendRequest(port, { path: "/v1/a%40b.c" });
  expect(JSON.parse(reply.body)).toEqual([{ mailbox: "a@b.c" }, "mailboxes.get", true]);
  const other = await sendRequest(port, { path: "/v2?x=1" });
  expect(eventIn(other.body)).toMatchObject({ routeKey: "$default", rawPath: "/v2", rawQueryString: "x=1" });
});

test("a body in chunks arrives whole, with its length", async () => {
  const port = await gatewayWith(echo);
  const headers = { "content-type": "application/json", "transfer-encoding": "chunked" };
  const reply = await sendRequest(port, { method: "POST", headers, body: '{"a":1}' });
  expect(eventIn(reply.body)).toMatchObject({ body: '{"a":1}', isBase64Encoded: false });
  expect(eventIn(reply.body).headers).toMatchObject({ "content-length": "7" });
});

test("the answer has the request id of the event", async () => {
  const reply = await sendRequest(await gatewayWith(echo));
  expect(reply.headers["apigw-requestid"]).toBe(eventIn(reply.body).requestContext.requestId);
});

test("without a $default trigger, a path without a route is 404 with API Gateway's body", async () => {
  const port = await gatewayFor({ functions: [{ name: "a", triggers: ["GET /a"], handler: echo }] });
  expect(await sendRequest(port, { path: "/b" })).toMatchObject({ status: 404, body: '{"message":"Not Found"}' });
});

test("if a handler throws, the answer is a 500 without the cause, and onError gets the cause", async () => {
  const heard: unknown[] = [];
  const failing = async (): Promise<never> => {
    throw new Error("the cause");
  };
  const port = await gatewayWith(failing, { onError: (...args) => heard.push(args) });
  const reply = await sendRequest(port);
  expect(reply).toMatchObject({ status: 500, body: '{"message":"Internal Server Error"}' });
  expect(heard).toEqual([["all", new Error("the cause")]]);
});

test("the answer is 500 for a result that is no answer, and for a header that cannot be sent", async () => {
  const noAnswer = await gatewayWith(async () => ({ statusCode: "two hundred" }));
  expect((await sendRequest(noAnswer)).status).toBe(500);
  const noHeader = await gatewayWith(async () => ({ statusCode: 200, headers: { "x-a": "b\r\nset-cookie: c" } }));
  expect(await sendRequest(noHeader)).toMatchObject({ status: 500, body: '{"message":"Internal Server Error"}' });
});

test("the answer is 503 if a handler does not end in time", async () => {
  const port = await gatewayWith(() => new Promise(() => {}), { integrationTimeoutMs: 1 });
  expect(await sendRequest(port)).toMatchObject({ status: 503, body: '{"message":"Service Unavailable"}' });
});

test("a handler gets a signal when its own caller closes the connection, and no signal for other callers", async () => {
  const closed: string[] = [];
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const port = await gatewayWith(async ({ rawPath }, { signal }) => {
    signal.addEventListener("abort", () => {
      closed.push(rawPath);
      end();
    });
    if (rawPath === "/left") begin();
    if (rawPath === "/left") await ended;
    return { statusCode: 200 };
  });
  expect((await sendRequest(port, { path: "/stays" })).status).toBe(200);
  const leaving = new AbortController();
  const left = fetch(`http://127.0.0.1:${port}/left`, { signal: leaving.signal });
  await begun;
  leaving.abort();
  await expect(left).rejects.toThrow(/abort/);
  await ended;
  expect(closed).toEqual(["/left"]);
});

test("a handler that has ended leaves no timer running", async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const before = timers();
  await invoke("quick", async () => "done", eventIn("{}"), 60_000, new AbortController().signal);
  expect(timers()).toBe(before);
});

test("a body of 10 MB is accepted, and a body with one byte more gets a 413 that its sender can read", async () => {
  const port = await gatewayWith(async (event) => ({ statusCode: 200, body: String(event.body?.length) }));
  const headers = { "content-type": "text/plain" };
  const fits = await sendRequest(port, { method: "POST", headers, body: Buffer.alloc(maxBodyBytes, "a") });
  expect(fits.body).toBe(String(maxBodyBytes));
  const tooLong = await sendRequest(port, { method: "POST", headers, body: Buffer.alloc(maxBodyBytes + 1, "a") });
  expect(tooLong).toMatchObject({ status: 413, body: '{"message":"Request Entity Too Large"}' });
});

test("a path with a malformed escape gets a 400", async () => {
  const port = await gatewayWith(echo);
  // API Gateway decodes a path twice: `/50%25` becomes `/50%`, which is malformed.
  for (const path of ["/%zz", "/a?b=%", "/50%25"]) {
    expect(await sendRequest(port, { path })).toMatchObject({ status: 400, body: '{"message":"Bad Request"}' });
  }
});

test("a request target that is no path gets a 400, and the server continues", async () => {
  const port = await gatewayWith(echo);
  expect(await sendBytes(port, "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")).toMatch(/ 400 /);
  await sendBytes(port, "CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  expect(await sendBytes(port, "nonsense\r\n\r\n")).toMatch(/ 400 /);
  expect((await sendRequest(port)).status).toBe(200);
});

test("every request is reported once, without its query", async () => {
  const served: ServedRequest[] = [];
  const port = await gatewayWith(async () => ({ statusCode: 201 }), { onServed: (line) => served.push(line) });
  await sendRequest(port, { method: "POST", path: "/a%20b?token=secret" });
  expect(served).toEqual([
    { method: "POST", path: "/a%20b", status: 201, durationMs: expect.any(Number), by: expect.any(String) },
  ]);
});

test.each(["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "127.0.0.2", "[::2]", "a,localhost"])(
  "a request to the host %s is refused before any function or local path sees it",
  async (host) => {
    const localPath = { method: "GET", path: "/_local/x", handle: () => expect.unreachable() } as const;
    const port = await gatewayWith(async () => expect.unreachable(), { localPaths: [localPath] });
    for (const path of ["/", "/_local/x"]) {
      const reply = await sendRequest(port, { path, headers: { host } });
      expect(reply.status).toBe(421);
      expect(JSON.parse(reply.body).message).toContain(host);
    }
  },
);

test("every loopback name, with any port, and a configured name are answered", async () => {
  const port = await gatewayWith(echo, { allowedHosts: ["box.test"] });
  for (const host of ["localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]:8080", "[::1]", "box.test:3"]) {
    expect((await sendRequest(port, { headers: { host } })).status).toBe(200);
  }
});

test("for an absolute-form target, the host in the target counts", async () => {
  const port = await gatewayWith(echo);
  expect((await sendRequest(port, { path: "http://evil.example/" })).status).toBe(421);
  expect((await sendRequest(port, { path: "http://localhost/", headers: { host: "evil.example" } })).status).toBe(200);
});

test("a local path answers only its own method, has no CORS headers, and calls no function", async () => {
  const handle = ({ body }: { body: Buffer }) => ({ status: 200, headers: {}, body });
  const port = await gatewayWith(async () => expect.unreachable(), {
    corsOrigins: ["*"],
    localPaths: [{ method: "POST", path: "/_local/echo", handle }],
  });
  const sent = { path: "/_local/echo", headers: { origin: "http://other.test" } };
  const reply = await sendRequest(port, { ...sent, method: "POST", body: "hi" });
  expect(reply).toMatchObject({ status: 200, body: "hi", headers: { "cache-control": "no-store" } });
  expect(reply.headers).not.toHaveProperty("access-control-allow-origin");
  expect((await sendRequest(port, sent)).status).toBe(404);
  const preflight = { ...sent.headers, "access-control-request-method": "POST" };
  const refused = await sendRequest(port, { ...sent, method: "OPTIONS", headers: preflight });
  expect(refused.status).toBe(404);
  expect(refused.headers).not.toHaveProperty("access-control-allow-origin");
});

test("a taken port is an error with the code EADDRINUSE", async () => {
  const port = await gatewayWith(echo);
  await expect(startGateway({ functions: [], port })).rejects.toMatchObject({ code: "EADDRINUSE" });
});
