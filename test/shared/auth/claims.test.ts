import { createServer } from "node:net";

import { describe, expect, test } from "vitest";

import { createIssuer } from "../../../infra/local/start/issuer.ts";
import { authenticate } from "../../../shared/auth/authenticate.ts";
import { capabilitiesOf } from "../../../shared/auth/permissions.ts";
import { userVerifier } from "../../../shared/auth/user-token.ts";
import { listen } from "../../support/listen.ts";
import { testTable } from "../../support/world.ts";

const issuer = createIssuer();
const config = { ...issuer.issuerConfig(), issuer: "https://one.example", audience: ["api"], emailsAreVerified: false };
const verify = userVerifier([config]);
const id = "00000000-0000-4000-8000-00000000beef";

/** The principal of a token with these claims. */
const principalOf = (claims: object, as = verify) => {
  const expires = Math.floor(Date.now() / 1_000) + 60;
  const payload = { iss: "https://one.example", aud: "api", sub: id, exp: expires, ...claims };
  return as(issuer.sign({ alg: "ES256", typ: "at+jwt", kid: issuer.kid }, payload));
};

describe("the claims about a person", () => {
  test("are accepted if they are texts of 1 to 320 characters", async () => {
    const long = "a".repeat(320);
    const all = { email: long, given_name: long, family_name: "b", locale: "c" };
    expect(await principalOf(all)).toEqual({
      type: "user",
      id,
      email: long,
      groups: [],
      first_name: long,
      last_name: "b",
      locale: "c",
    });
  });

  test.each([
    ["an empty text", ""],
    ["a longer text", "a".repeat(321)],
    ["a number", 7],
    ["a list", ["a"]],
    ["null", null],
  ])("are ignored if they are %s", async (_, value) => {
    const claims = { email: value, given_name: value, family_name: value, locale: value };
    expect(await principalOf(claims)).toEqual({ type: "user", id, email: `${id}@users.invalid`, groups: [] });
  });

  test("include the texts in the list `groups`, and no other form of `groups`", async () => {
    expect(await principalOf({ groups: ["a", 7, null, "b"] })).toMatchObject({ groups: ["a", "b"] });
    for (const groups of ["a", { a: "b" }, 7]) expect(await principalOf({ groups })).toMatchObject({ groups: [] });
  });
});

test("an address is verified if `email_verified` says so. Without this claim the issuer's setting decides", async () => {
  const vouching = userVerifier([{ ...config, emailsAreVerified: true }]);
  const verified = async (claim: object, as = verify) => (await principalOf(claim, as)).email_verified;
  for (const yes of [true, "true"]) expect(await verified({ email_verified: yes })).toBe(true);
  for (const no of [false, "false"]) expect(await verified({ email_verified: no }, vouching)).toBe(false);
  for (const other of [null, 0, 1, "yes"]) expect(await verified({ email_verified: other }, vouching)).toBeUndefined();
  expect(await verified({})).toBeUndefined();
  expect(await verified({}, vouching)).toBe(true);
});

describe("the id of a person", () => {
  test("is the subject in lower case, if the subject is a UUID and the issuer is primary", async () => {
    expect(await principalOf({ sub: id.toUpperCase() })).toMatchObject({ id });
  });

  test("is not the subject, if the issuer is not primary or the subject is not a UUID", async () => {
    const second = userVerifier([{ ...config, primary: false }]);
    const ids = [
      await principalOf({}, second),
      await principalOf({ sub: "ada" }),
      await principalOf({ sub: `${id}0` }),
    ];
    expect(new Set([id, ...ids.map((one) => one.id)]).size).toBe(4);
  });
});

test("if the keys of an issuer cannot be fetched, the error is `upstream_unavailable`, not an invalid token", async () => {
  let asked = 0;
  const server = createServer((socket) => {
    asked += 1;
    socket.destroy();
  });
  const port = await listen(server);
  const { jwks: _, ...remote } = config;
  const silent = userVerifier([{ ...remote, jwksUri: `https://127.0.0.1:${port}/keys` }]);
  await expect(principalOf({}, silent)).rejects.toMatchObject({
    code: "upstream_unavailable",
    extras: { retry_after: 5 },
  });
  expect(asked).toBeGreaterThan(0);
});

test("a token is accepted if its algorithm is one of several that the issuer allows", async () => {
  const several = userVerifier([{ ...config, algorithms: ["RS256", "ES256", "EdDSA"] }]);
  expect(await principalOf({}, several)).toMatchObject({ id });
});

test.each([
  ["OIDC's hash of the access token", { at_hash: "h" }],
  ["OIDC's hash of the code", { c_hash: "h" }],
  ["Keycloak's typ", { typ: "ID" }],
])("an ID token is refused because of %s", async (_, mark) => {
  await expect(principalOf(mark)).rejects.toMatchObject({ code: "unauthenticated" });
});

test("`token_use` and `typ` are accepted if they mark an access token", async () => {
  for (const claim of [{ token_use: "access" }, { typ: "Bearer" }])
    expect(await principalOf(claim)).toMatchObject({ id });
});

test("the error for a header without a bearer token says how to send a token, and an invalid token has another error", async () => {
  const tried = (header?: string) => authenticate(header, verify, testTable(), new Date());
  for (const header of [undefined, "", "Basic dTpw", "Bearer a b", "xBearer a"]) {
    await expect(tried(header)).rejects.toMatchObject({ message: expect.stringContaining("Authorization: Bearer") });
  }
  for (const header of ["Bearer a", "bearer   a ", "BEARER a"]) {
    await expect(tried(header)).rejects.toMatchObject({ message: "This access token is not valid here." });
  }
});

test("a grant of neither a capability nor a role gives nothing", () => {
  expect(capabilitiesOf({})).toEqual([]);
  expect(capabilitiesOf({ capability: "ip.view" })).toEqual(["ip.view"]);
});
