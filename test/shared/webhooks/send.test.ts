import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { getCACertificates, setDefaultCACertificates } from "node:tls";

import { Webhook } from "standardwebhooks";
import { afterAll, expect, test } from "vitest";

import type { Lookup } from "../../../shared/webhooks/address.ts";
import { send } from "../../../shared/webhooks/send.ts";
import { newSecret, sign } from "../../../shared/webhooks/signing.ts";
import { certificateFor } from "./certificate.ts";
import { httpReceiver, httpsReceiver, rawReceiver, type Answering } from "./receiver.ts";

const name = "receiver.example";
const trusted = certificateFor(name);
const before = getCACertificates("default");
setDefaultCACertificates([trusted.cert]);
afterAll(() => setDefaultCACertificates(before));

const local = { allowLoopback: true };
const hurried = { ...local, timeoutMs: 100 };
const message = (url: string) => ({ url, headers: { "webhook-id": "msg_1" }, body: '{"city":"Köln"}' });
const answering =
  (status: number, headers: Record<string, string> = {}): Answering =>
  (_request, response) =>
    void response.writeHead(status, headers).end("thank you");
const loopback: Lookup = async () => [{ address: "127.0.0.1", family: 4 }];

test("`send` posts the body as JSON with the given headers, and returns the duration", async () => {
  const seen: { request: IncomingMessage; body: string }[] = [];
  const { url, port } = await httpReceiver(async (request, response) => {
    seen.push({ request, body: await text(request) });
    response.writeHead(204).end();
  });
  const sent = await send(message(`${url}?a=b`), local);
  expect(sent).toEqual({ statusCode: 204, durationMs: expect.any(Number) });
  expect(sent.durationMs).toBeGreaterThanOrEqual(0);
  expect(seen.map(({ body }) => body)).toEqual(['{"city":"Köln"}']);
  expect(seen[0]?.request).toMatchObject({
    method: "POST",
    url: "/hook?a=b",
    headers: {
      host: `127.0.0.1:${port}`,
      "content-type": "application/json",
      "content-length": "16",
      "user-agent": expect.stringMatching(/^[\w-]+\/\d+$/),
      "webhook-id": "msg_1",
      connection: "close",
    },
  });
});

test("a signed delivery verifies at its receiver", async () => {
  const secret = newSecret();
  const verified: unknown[] = [];
  const { url } = await httpReceiver(async (request, response) => {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([key, value]) => [key, String(value)]));
    verified.push(new Webhook(secret).verify(await text(request), headers));
    response.end();
  });
  const { body } = message(url);
  await send({ url, headers: sign([secret], "msg_1", new Date(), body), body }, local);
  expect(verified).toEqual([{ city: "Köln" }]);
});

test.each([
  [200, {}, { statusCode: 200 }],
  [202, { "retry-after": "60" }, { statusCode: 202 }],
  [410, {}, { statusCode: 410, error: "unsuccessful_status" }],
  [404, { "retry-after": "soon" }, { statusCode: 404, error: "unsuccessful_status" }],
  [503, { "retry-after": "120" }, { statusCode: 503, error: "unsuccessful_status", retryAfterSeconds: 120 }],
  [429, { "retry-after": "999999" }, { statusCode: 429, error: "unsuccessful_status", retryAfterSeconds: 86_400 }],
  [304, {}, { statusCode: 304, error: "redirected" }],
])("an answer of %i with the headers %j counts by its status", async (status, headers, expected) => {
  const { url } = await httpReceiver(answering(status, headers));
  expect(await send(message(url), local)).toEqual({ ...expected, durationMs: expect.any(Number) });
});

test.each([301, 302, 303, 307, 308])(
  "a redirect by %i is a failure, and its target gets no request",
  async (status) => {
    const reached: string[] = [];
    const target = await httpReceiver((request, response) => {
      reached.push(String(request.url));
      response.end();
    });
    const { url } = await httpReceiver(answering(status, { location: target.url }));
    expect(await send(message(url), local)).toMatchObject({ statusCode: status, error: "redirected" });
    expect(reached).toEqual([]);
  },
);

test.each<[string, (socket: Socket) => void]>([
  ["never answers", () => {}],
  ["sends endless headers slowly", (socket) => drip(socket, "HTTP/1.1 200 OK\r\n", "x-a: b\r\n")],
  ["sends endless informational answers slowly", (socket) => drip(socket, "", "HTTP/1.1 100 Continue\r\n\r\n")],
])("the connection to a receiver that %s is closed when the time is over", async (_what, onSocket) => {
  const { url } = await rawReceiver(onSocket);
  expect(await send(message(url), hurried)).toEqual({ error: "timed_out", durationMs: expect.any(Number) });
});

test("the connection to a receiver with an endless slow body is closed when the time is over, and its status counts", async () => {
  const left = Promise.withResolvers<void>();
  const { url } = await rawReceiver((socket) => {
    socket.on("close", () => left.resolve());
    drip(socket, "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n", ".");
  });
  const sent = await send(message(url), { ...local, timeoutMs: 2_000, bodyTimeoutMs: 600_000 });
  expect(sent).toEqual({ statusCode: 200, durationMs: expect.any(Number) });
  await left.promise;
});

test("once the status is known, a slow body has only a short time of its own", async () => {
  const { url } = await rawReceiver((socket) =>
    drip(socket, "HTTP/1.1 500 Oh\r\ncontent-length: 1000000\r\n\r\n", "."),
  );
  const sent = await send(message(url), { ...local, timeoutMs: 600_000, bodyTimeoutMs: 20 });
  expect(sent).toEqual({ statusCode: 500, error: "unsuccessful_status", durationMs: expect.any(Number) });
});

/** Writes `first`, and then `next` again and again until the connection is closed. */
function drip(socket: Socket, first: string, next: string): void {
  socket.write(first);
  const timer = setInterval(() => socket.write(next), 5);
  socket.on("close", () => clearInterval(timer));
}

test("the connection is closed during an endless answer, and its status counts", async () => {
  const left = Promise.withResolvers<number>();
  const { url } = await rawReceiver((socket) => {
    const chunk = Buffer.alloc(16_384);
    const write = () => void (socket.writable && socket.write(chunk, write));
    socket.on("close", () => left.resolve(socket.bytesWritten));
    socket.write("HTTP/1.1 500 Oh\r\ncontent-length: 1000000000000\r\n\r\n", write);
  });
  expect(await send(message(url), local)).toMatchObject({ statusCode: 500, error: "unsuccessful_status" });
  expect(await left.promise).toBeLessThan(64 * 1_048_576);
});

test.each([
  ["closes the connection without an answer", ""],
  ["does not speak HTTP", "220 mail.example ESMTP\r\n"],
  ["closes the connection during its headers", "HTTP/1.1 200 OK\r\nx-a"],
  ["changes the protocol", "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"],
  ["has endless headers", `HTTP/1.1 200 OK\r\nx-a: ${"a".repeat(20_000)}\r\n\r\n`],
])("a receiver that %s has given no valid answer", async (_what, answer) => {
  const { url } = await rawReceiver((socket) => socket.once("data", () => socket.end(answer)));
  expect(await send(message(url), local)).toEqual({ error: "invalid_answer", durationMs: expect.any(Number) });
});

test("a port without a server is `connect_failed`", async () => {
  expect(await send(message("http://127.0.0.1:1/"), local)).toMatchObject({ error: "connect_failed" });
});

test("`send` verifies the certificate for the URL's host, and names this host in the TLS handshake", async () => {
  const seen: string[] = [];
  const { port } = await httpsReceiver(trusted, (request, response) => {
    seen.push(`${String("servername" in request.socket && request.socket.servername)} ${request.headers.host}`);
    response.end();
  });
  const options = { ...local, lookup: loopback };
  expect(await send(message(`https://${name}:${port}/`), options)).toMatchObject({ statusCode: 200 });
  expect(await send(message(`https://other.example:${port}/`), options)).toMatchObject({ error: "tls_failed" });
  expect(await send(message(`https://127.0.0.1:${port}/`), options)).toMatchObject({ error: "tls_failed" });
  expect(seen).toEqual([`${name} ${name}:${port}`]);
});

test("`send` sends nothing to a receiver with an untrusted or expired certificate", async () => {
  const lastWeek = certificateFor(name, new Date(Date.now() - 7 * 86_400_000));
  setDefaultCACertificates([trusted.cert, lastWeek.cert]);
  for (const pair of [certificateFor(name), lastWeek]) {
    const reached: unknown[] = [];
    const { port } = await httpsReceiver(pair, (request) => void reached.push(request.url));
    const sent = await send(message(`https://${name}:${port}/`), { ...local, lookup: loopback });
    expect([sent.error, reached]).toEqual(["tls_failed", []]);
  }
});

test("plain HTTP behind an https URL is a failed TLS handshake", async () => {
  const { port } = await httpReceiver(answering(200));
  const sent = await send(message(`https://${name}:${port}/`), { ...local, lookup: loopback });
  expect(sent).toMatchObject({ error: "tls_failed" });
});

test("a name is resolved only once, so a second DNS answer cannot lead to another address", async () => {
  const reached: string[] = [];
  const { port } = await httpsReceiver(trusted, (request, response) => {
    reached.push(String(request.url));
    response.end();
  });
  const answers = ["127.0.0.1", "10.0.0.1"];
  const asked: string[] = [];
  const lookup: Lookup = async (host) => {
    asked.push(host);
    return [{ address: answers[asked.length - 1] ?? "0.0.0.0", family: 4 }];
  };
  expect(await send(message(`https://${name}:${port}/once`), { ...local, lookup })).toMatchObject({ statusCode: 200 });
  expect([asked, reached]).toEqual([[name], ["/once"]]);
});

test("`send` does not connect to a name with an address of this machine", async () => {
  const connections: Socket[] = [];
  const { port } = await rawReceiver((socket) => void connections.push(socket));
  const strict = { allowLoopback: false, lookup: loopback };
  expect(await send(message(`https://${name}:${port}/`), strict)).toMatchObject({ error: "blocked_address" });
  expect(await send(message(`https://127.0.0.1:${port}/`), strict)).toMatchObject({ error: "blocked_address" });
  expect(await send(message(`http://localhost:${port}/`), strict)).toMatchObject({ error: "blocked_address" });
  expect(connections).toEqual([]);
});

test("`send` does not connect to a URL that a webhook cannot have", async () => {
  const connections: Socket[] = [];
  const { port } = await rawReceiver((socket) => void connections.push(socket));
  for (const url of [`http://${name}:${port}/`, `https://user:word@${name}:${port}/`, `https://10.0.0.1:${port}/`]) {
    expect(await send(message(url), { ...local, lookup: loopback })).toMatchObject({ error: "blocked_address" });
  }
  expect(connections).toEqual([]);
});

test("a name that does not resolve is `dns_failed`, and a silent resolver is `timed_out`", async () => {
  const failing = { ...local, lookup: () => Promise.reject(new Error("NXDOMAIN")) };
  expect(await send(message(`https://${name}/`), failing)).toMatchObject({ error: "dns_failed" });
  const hanging = { ...hurried, lookup: () => new Promise<never>(() => {}) };
  expect(await send(message(`https://${name}/`), hanging)).toMatchObject({ error: "timed_out" });
});
