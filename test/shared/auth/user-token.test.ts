import { createHmac, generateKeyPairSync } from "node:crypto";

import { expect, test } from "vitest";

import { createIssuer } from "../../../infra/local/start/issuer.ts";
import { me } from "../../support/auth.ts";
import { request } from "../../support/request.ts";
import { issuer, newUser } from "../../support/world.ts";

/** The part of a challenge that says where a client without a token finds the token issuers (RFC 9728). */
const whereToAsk = 'resource_metadata="https://127.0.0.1/.well-known/oauth-protected-resource"';
const now = Math.floor(Date.now() / 1000);
const header = { alg: "ES256", typ: "at+jwt", kid: issuer.kid };
const claims = {
  iss: "http://127.0.0.1/_local/issuer",
  aud: "hosted-mail-api",
  client_id: "x",
  sub: "00000000-0000-4000-8000-00000000aaaa",
  iat: now,
  exp: now + 600,
  jti: "j",
};

const without = (name: keyof typeof claims) =>
  Object.fromEntries(Object.entries(claims).filter(([key]) => key !== name));

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const unsigned = (head: object, payload: object, signature = "") => `${encode(head)}.${encode(payload)}.${signature}`;

/** A token that is signed with HS256, with the public key as the secret. */
function confused(): string {
  const key = JSON.stringify(issuer.issuerConfig().jwks?.keys[0]);
  const body = `${encode({ ...header, alg: "HS256" })}.${encode(claims)}`;
  return `${body}.${createHmac("sha256", key).update(body).digest("base64url")}`;
}

test("a valid token is accepted, also with the long form of its `typ`, or with several audiences", async () => {
  expect((await me(issuer.sign(header, claims))).status).toBe(200);
  expect((await me(issuer.sign({ ...header, typ: "application/AT+JWT" }, claims))).status).toBe(200);
  expect((await me(issuer.sign(header, { ...claims, aud: ["other", "hosted-mail-api"] }))).status).toBe(200);
});

const stranger = createIssuer(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }));

test.each<[string, string]>([
  ["alg none and no signature", unsigned({ ...header, alg: "none" }, claims)],
  ["an empty signature", unsigned(header, claims)],
  ["HS256 keyed with the public key", confused()],
  ["an algorithm its key does not have", issuer.sign({ ...header, alg: "ES384" }, claims)],
  ["another issuer's key under our key id", stranger.sign(header, claims)],
  ["an unknown key id", stranger.sign({ ...header, kid: stranger.kid }, claims)],
  ["another iss", issuer.sign(header, { ...claims, iss: "https://evil.example" })],
  ["no iss", issuer.sign(header, without("iss"))],
  ["another aud", issuer.sign(header, { ...claims, aud: "other-api" })],
  ["no aud", issuer.sign(header, without("aud"))],
  ["typ JWT", issuer.sign({ ...header, typ: "JWT" }, claims)],
  ["crit", issuer.sign({ ...header, crit: ["exp"] }, claims)],
  ["an empty crit", issuer.sign({ ...header, crit: [] }, claims)],
  ["no typ", issuer.sign({ alg: "ES256", kid: issuer.kid }, claims)],
  ["the nonce of an ID token", issuer.sign(header, { ...claims, nonce: "n" })],
  ["the token_use of an ID token", issuer.sign(header, { ...claims, token_use: "id" })],
  ["no exp", issuer.sign(header, without("exp"))],
  ["an exp that is no number", issuer.sign(header, { ...claims, exp: "later" })],
  ["no sub", issuer.sign(header, without("sub"))],
  ["an empty sub", issuer.sign(header, { ...claims, sub: "" })],
  ["an nbf in the future", issuer.sign(header, { ...claims, nbf: now + 300 })],
  [
    "a changed payload",
    issuer.sign(header, claims).replace(/\.[^.]+\./, `.${encode({ ...claims, sub: "someone-else" })}.`),
  ],
  ["one part of garbage", "garbage"],
  ["three parts of garbage", "a.b.c"],
  ["thousands of characters", `${"a".repeat(9_000)}.${"b".repeat(9_000)}.c`],
])("a token with %s is refused", async (_, token) => {
  const answer = await me(token);
  expect(answer.body).toMatchObject({ status: 401, code: "unauthenticated" });
  expect(answer.headers["www-authenticate"]).toBe(`Bearer realm="public-api", error="invalid_token", ${whereToAsk}`);
});

test("an expired token has another error code than an invalid token", async () => {
  const answer = await me(issuer.sign(header, { ...claims, exp: now - 1 }));
  expect(answer.body).toMatchObject({ status: 401, code: "token_expired" });
  expect(answer.headers["www-authenticate"]).toContain('error="invalid_token"');
});

test("the challenge to a request without a token has no error code", async () => {
  const answer = await request("GET", "/v1/public/me");
  expect(answer.headers["www-authenticate"]).toBe(`Bearer realm="public-api", ${whereToAsk}`);
});

test("a token in the query string is not accepted", async () => {
  const { token } = newUser();
  expect((await request("GET", `/v1/public/me?access_token=${token}`)).status).toBe(401);
  expect((await request("GET", `/v1/public/me?access_token=${token}`, { token })).status).toBe(422);
});

test.each(["", "Bearer", "Bearer  ", "Basic dTpw", "bearer", "Bearer a b"])(
  "the header %j is refused",
  async (value) => {
    expect((await request("GET", "/v1/public/me", { headers: { authorization: value } })).status).toBe(401);
  },
);

test("the scheme `Bearer` is also accepted in lower case", async () => {
  const authorization = `bearer ${newUser().token}`;
  expect((await request("GET", "/v1/public/me", { headers: { authorization } })).status).toBe(200);
});
