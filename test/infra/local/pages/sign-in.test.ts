import { createHash, randomBytes } from "node:crypto";

import { describe, expect, test } from "vitest";

import { signInPaths } from "../../../../infra/local/pages/sign-in.ts";
import type { LocalRequest } from "../../../../infra/local/server/respond.ts";
import { createIssuer, issuerUrl } from "../../../../infra/local/start/issuer.ts";
import { userVerifier } from "../../../../shared/auth/user-token.ts";

const issuer = createIssuer();
const demo = {
  super_admin: { token: issuer.mint({ sub: "s", email: "sol@example.com", given_name: "Sol" }) },
  accounts: [
    {
      owner: { token: issuer.mint({ sub: "o", email: "olive@example.com", given_name: "Olive" }) },
      viewer: { token: issuer.mint({ sub: "v", email: "vera@example.com", given_name: "<Vera>" }) },
    },
  ],
};
const verifier = randomBytes(32).toString("base64url");
const asked = {
  response_type: "code",
  client_id: "hosted-mail-local",
  redirect_uri: "http://127.0.0.1:8080/invitation",
  code_challenge: createHash("sha256").update(verifier).digest("base64url"),
  code_challenge_method: "S256",
  state: "abc",
};

/** Calls one of the paths as a browser does. */
async function call(
  paths: ReturnType<typeof signInPaths>,
  method: string,
  path: string,
  fields: Record<string, string> = {},
  site = "same-origin",
) {
  const found = paths.find((one) => one.method === method && one.path === path);
  const text = new URLSearchParams(fields);
  const request: LocalRequest = {
    headers: new Map([
      ["host", "127.0.0.1:8080"],
      ["sec-fetch-site", site],
    ]),
    params: {},
    query: method === "GET" ? text : new URLSearchParams(),
    body: Buffer.from(method === "GET" ? "" : text.toString()),
    port: 8080,
  };
  const answer = await found?.handle(request);
  if (!answer) throw new Error(`nothing takes ${method} ${path}`);
  return { ...answer, text: Buffer.from(answer.body).toString() };
}

const opened = () => signInPaths(issuer, () => demo);

async function codeFor(paths: ReturnType<typeof signInPaths>, person: Record<string, string>) {
  const { status, headers } = await call(paths, "POST", "/_local/authorize", { ...asked, ...person });
  expect(status).toBe(303);
  const location = new URL(String(headers["location"]));
  expect(location.searchParams.get("state")).toBe("abc");
  return location.searchParams.get("code") ?? "";
}

const exchange = (paths: ReturnType<typeof signInPaths>, code: string, changed: Record<string, string> = {}) =>
  call(paths, "POST", "/_local/token", {
    grant_type: "authorization_code",
    client_id: asked.client_id,
    redirect_uri: asked.redirect_uri,
    code,
    code_verifier: verifier,
    ...changed,
  });

test("the page offers the people of the demo, with their names as text", async () => {
  const { text, headers } = await call(opened(), "GET", "/_local/authorize", asked);
  expect(text).toContain("olive@example.com");
  expect(text).toContain("&lt;Vera&gt;");
  expect(headers["content-security-policy"]).toContain("default-src 'none'");
});

test("a code gives the token of the chosen person, and only once", async () => {
  const paths = opened();
  const code = await codeFor(paths, { sub: "o" });
  const { status, text } = await exchange(paths, code);
  expect(status).toBe(200);
  const { access_token, token_type } = JSON.parse(text);
  expect(token_type).toBe("Bearer");
  expect(await userVerifier([issuer.issuerConfig()])(access_token)).toMatchObject({ email: "olive@example.com" });
  expect((await exchange(paths, code)).status).toBe(400);
});

test("an e-mail address gives the same person each time, in upper and in lower case", async () => {
  const ids = [];
  for (const email of ["ada@example.com", "Ada@Example.com"]) {
    const paths = opened();
    const { text } = await exchange(paths, await codeFor(paths, { email, given_name: "Ada" }));
    ids.push((await userVerifier([issuer.issuerConfig()])(JSON.parse(text).access_token)).id);
  }
  expect(new Set(ids).size).toBe(1);
});

describe("refused requests", () => {
  test.each([
    ["another verifier", { code_verifier: randomBytes(32).toString("base64url") }],
    ["another redirect URI", { redirect_uri: "http://127.0.0.1:8080/elsewhere" }],
    ["another client", { client_id: "other" }],
    ["another grant type", { grant_type: "password" }],
  ])("a code with %s", async (_, changed) => {
    const paths = opened();
    expect((await exchange(paths, await codeFor(paths, { sub: "o" }), changed)).status).toBe(400);
  });

  test.each([
    ["without PKCE", { code_challenge: "" }],
    ["that leads to another machine", { redirect_uri: "https://evil.example/" }],
    ["with the plain method", { code_challenge_method: "plain" }],
  ])("a sign-in %s", async (_, changed) => {
    expect((await call(opened(), "GET", "/_local/authorize", { ...asked, ...changed })).status).toBe(400);
    expect((await call(opened(), "POST", "/_local/authorize", { ...asked, ...changed, sub: "o" })).status).toBe(400);
  });

  test.each([
    ["without a person", {}],
    ["of a person who is not in the demo", { sub: "nobody" }],
    ["with something that is no address", { email: "ada" }],
  ])("a form %s", async (_, person) => {
    expect((await call(opened(), "POST", "/_local/authorize", { ...asked, ...person })).status).toBe(400);
  });

  test("a form from another site", async () => {
    const { status } = await call(opened(), "POST", "/_local/authorize", { ...asked, sub: "o" }, "cross-site");
    expect(status).toBe(403);
  });
});

test("the metadata names the endpoints of this server", async () => {
  const path = "/_local/issuer/.well-known/openid-configuration";
  expect(JSON.parse((await call(opened(), "GET", path)).text)).toMatchObject({
    issuer: issuerUrl,
    authorization_endpoint: "http://127.0.0.1:8080/_local/authorize",
    code_challenge_methods_supported: ["S256"],
  });
});
