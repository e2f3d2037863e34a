import { expect, test } from "vitest";

import { corsRules } from "../../../../infra/config/cors.ts";
import { echo, gatewayWith, sendRequest } from "../wire.ts";

const origin = "https://app.example";
const preflight = { origin, "access-control-request-method": "PATCH", "access-control-request-headers": "if-match" };

test("a preflight of an allowed origin is answered by the gateway with its rules", async () => {
  const port = await gatewayWith(async () => expect.unreachable(), { corsOrigins: [origin] });
  const reply = await sendRequest(port, { method: "OPTIONS", headers: preflight });
  expect(reply).toMatchObject({
    status: 204,
    headers: {
      "access-control-allow-origin": origin,
      "access-control-allow-methods": "GET,POST,PATCH,DELETE",
      "access-control-allow-headers": corsRules.allowHeaders.join(","),
      "access-control-max-age": "3600",
      vary: "origin",
    },
  });
});

test("browsers may send and read every header that the API uses", () => {
  const sent = ["authorization", "content-type", "idempotency-key", "if-match", "if-none-match", "x-request-id"];
  const read = [
    "etag",
    "location",
    "retry-after",
    "ratelimit",
    "ratelimit-policy",
    "x-request-id",
    "idempotency-replayed",
  ];
  expect(corsRules.allowHeaders).toEqual(expect.arrayContaining(sent));
  expect(corsRules.exposeHeaders).toEqual(expect.arrayContaining(read));
});

test("a preflight of any other origin is a 204 without CORS headers", async () => {
  const port = await gatewayWith(echo, { corsOrigins: [origin] });
  const reply = await sendRequest(port, {
    method: "OPTIONS",
    headers: { ...preflight, origin: "https://evil.example" },
  });
  expect(reply.status).toBe(204);
  expect(Object.keys(reply.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
});

test("OPTIONS that is no preflight goes to a function", async () => {
  const port = await gatewayWith(echo, { corsOrigins: [origin] });
  expect((await sendRequest(port, { method: "OPTIONS", headers: { origin } })).status).toBe(200);
});

test("the answer to an allowed origin carries the gateway's CORS headers and not the handler's", async () => {
  const headers = { "Access-Control-Allow-Origin": "*", "access-control-allow-credentials": "true", vary: "accept" };
  const port = await gatewayWith(async () => ({ statusCode: 200, headers }), { corsOrigins: [origin] });
  const reply = await sendRequest(port, { headers: { origin } });
  expect(reply.headers).toMatchObject({
    "access-control-allow-origin": origin,
    "access-control-expose-headers": corsRules.exposeHeaders.join(","),
    vary: "accept, origin",
  });
  expect(reply.headers).not.toHaveProperty("access-control-allow-credentials");
  const foreign = await sendRequest(port, { headers: { origin: "https://evil.example" } });
  expect(foreign.headers).not.toHaveProperty("access-control-allow-origin");
});

test("an error of the gateway itself also has the CORS header for an allowed origin", async () => {
  const port = await gatewayWith(() => Promise.reject(new Error("no")), { corsOrigins: [origin] });
  const reply = await sendRequest(port, { headers: { origin } });
  expect(reply).toMatchObject({ status: 500, headers: { "access-control-allow-origin": origin } });
});

test("the setting * allows every origin", async () => {
  const port = await gatewayWith(echo, { corsOrigins: ["*"] });
  const reply = await sendRequest(port, { headers: { origin: "https://any.example" } });
  expect(reply.headers["access-control-allow-origin"]).toBe("*");
});

test("with no origin configured there is no CORS: a preflight is a request like any other", async () => {
  const port = await gatewayWith(async () => ({ statusCode: 405 }));
  const reply = await sendRequest(port, { method: "OPTIONS", headers: preflight });
  expect(reply.status).toBe(405);
  expect(reply.headers).not.toHaveProperty("access-control-allow-origin");
});
