import { decomposeUnverifiedJwt } from "aws-jwt-verify/jwt";
import { expect, test } from "vitest";

import { createIssuer, tokenPaths } from "../../../../infra/local/start/issuer.ts";
import { gatewayFor, sendRequest } from "../wire.ts";

const path = "/_local/tokens";
const json = { "content-type": "application/json" };
const start = (demo?: unknown): Promise<number> => gatewayFor({ localPaths: tokenPaths(createIssuer(), () => demo) });

test("GET answers the demo's tokens, which no cache keeps", async () => {
  const reply = await sendRequest(await start({ accounts: [] }), { path });
  expect(reply).toMatchObject({ status: 200, body: '{"accounts":[]}', headers: { "cache-control": "no-store" } });
});

test("GET answers 503 until the demo exists", async () => {
  expect((await sendRequest(await start(), { path })).status).toBe(503);
});

test("POST mints a token for the given user, with the claims of an OpenID provider", async () => {
  const port = await start();
  const asked = {
    sub: "u-1",
    email: "u@example.com",
    first_name: "U",
    last_name: "V",
    groups: ["g"],
    expires_in_seconds: 5,
  };
  const reply = await sendRequest(port, { path, method: "POST", headers: json, body: JSON.stringify(asked) });
  const { token, ...rest } = JSON.parse(reply.body);
  expect([reply.status, rest]).toEqual([201, { token_type: "Bearer", expires_in_seconds: 5 }]);
  const { payload } = decomposeUnverifiedJwt(token);
  expect(payload).toMatchObject({
    sub: "u-1",
    email: "u@example.com",
    given_name: "U",
    family_name: "V",
    groups: ["g"],
  });
  expect(Number(payload.exp) - Number(payload.iat)).toBe(5);
});

test("POST accepts only JSON, so that no page of another site can mint a token", async () => {
  const port = await start();
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx"]) {
    const reply = await sendRequest(port, {
      path,
      method: "POST",
      headers: { "content-type": type },
      body: '{"sub":"a"}',
    });
    expect(reply.status).toBe(415);
  }
  expect((await sendRequest(port, { path, method: "POST", body: '{"sub":"a"}' })).status).toBe(415);
});

test.each(["", "{", "[]", "{}", '{"sub":""}', '{"sub":"a","admin":true}', '{"sub":"a","expires_in_seconds":0}'])(
  "POST of %s is refused with a reason",
  async (body) => {
    const reply = await sendRequest(await start(), { path, method: "POST", headers: json, body });
    expect(reply.status).toBe(422);
    expect(JSON.parse(reply.body).message).not.toBe("");
  },
);
