import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { createIssuer, issuerUrl } from "../../../infra/local/start/issuer.ts";
import { emailAtIssuer, signInAt } from "../../../shared/auth/issuer-metadata.ts";
import type { Issuer } from "../../../shared/core/environment.ts";
import { startLoopback, type Answer, type Fault } from "../providers/loopback.ts";

const issuer = createIssuer();
const sub = randomUUID();
const token = issuer.mint({ sub });

/** An issuer whose userinfo endpoint gives this answer, and the requests that the endpoint received. */
async function issuerWith(answer: object | Answer, fault?: Fault) {
  const full: Answer = "status" in answer ? answer : { status: 200, body: JSON.stringify(answer) };
  const { url, recorded } = await startLoopback(
    () => full,
    () => fault,
  );
  const issuers: Issuer[] = [{ ...issuer.issuerConfig(), userinfoEndpoint: `${url}/userinfo` }];
  return { issuers, recorded };
}

describe("the address of a user whose token has none", () => {
  test("comes from the issuer's userinfo endpoint, which is asked with the token", async () => {
    const { issuers, recorded } = await issuerWith({ sub, email: "ada@example.com", email_verified: true });
    expect(await emailAtIssuer(token, issuers)).toBe("ada@example.com");
    expect(recorded).toMatchObject([
      { method: "GET", path: "/userinfo", headers: { authorization: `Bearer ${token}` } },
    ]);
  });

  test.each([
    ["the address is not verified", { sub, email: "ada@example.com", email_verified: false }],
    ["the address is not verified, as a text (Cognito)", { sub, email: "ada@example.com", email_verified: "false" }],
    ["the answer is about another subject", { sub: randomUUID(), email: "ada@example.com" }],
    ["the answer has no address", { sub }],
    ["the endpoint refuses the token", { status: 401, body: "{}" }],
    ["the answer is not an object", { status: 200, body: "[]" }],
  ])("is unknown if %s", async (_, answer) => {
    const { issuers } = await issuerWith(answer);
    expect(await emailAtIssuer(token, issuers)).toBeUndefined();
  });

  test("is accepted without the claim `email_verified` only if the issuer is known to verify addresses", async () => {
    const { issuers } = await issuerWith({ sub, email: "ada@example.com" });
    expect(await emailAtIssuer(token, issuers)).toBe("ada@example.com");
    const others = issuers.map((one) => ({ ...one, emailsAreVerified: false }));
    expect(await emailAtIssuer(token, others)).toBeUndefined();
  });

  test.each<[string, object, Fault | undefined]>([
    ["hangs up", {}, "hang-up"],
    ["fails", { status: 500, body: "" }, undefined],
    ["does not answer with JSON", { status: 200, body: "<html>" }, undefined],
    ["redirects", { status: 302, headers: { location: "http://127.0.0.1:9/" }, body: "" }, undefined],
  ])("cannot be read, which causes a 503, if the issuer %s", async (_, answer, fault) => {
    const { issuers } = await issuerWith(answer, fault);
    await expect(emailAtIssuer(token, issuers)).rejects.toMatchObject({ code: "upstream_unavailable" });
  });

  test("is unknown if the token's own issuer has no endpoint, and no other issuer is asked", async () => {
    expect(await emailAtIssuer(token, [issuer.issuerConfig()])).toBeUndefined();
    const { issuers, recorded } = await issuerWith({ sub, email: "ada@example.com" });
    const others = issuers.map((one) => ({ ...one, issuer: "https://other.example" }));
    expect(await emailAtIssuer(token, others)).toBeUndefined();
    expect(recorded).toEqual([]);
  });
});

describe("signing in", () => {
  test("uses the first issuer that has a client for it, and is impossible without such an issuer", async () => {
    const base = "http://127.0.0.1:8080";
    expect(await signInAt([issuer.issuerConfig()])).toBeNull();
    expect(
      await signInAt([{ ...issuer.issuerConfig(), issuer: "https://x.example" }, issuer.issuerConfig(base)]),
    ).toEqual({
      authorization_endpoint: `${base}/_local/authorize`,
      token_endpoint: `${base}/_local/token`,
      client_id: "hosted-mail-local",
      scope: "openid email profile",
      parameters: {},
    });
    expect(issuerUrl).toMatch(/_local\/issuer$/);
  });
});

test("if the metadata of an issuer cannot be read, the next requests do not ask the issuer again", async () => {
  const { url, recorded } = await startLoopback(
    () => ({ status: 500, body: "" }),
    () => undefined,
  );
  const signIn = { clientId: "page", scope: "openid", parameters: {} };
  const down: Issuer[] = [{ ...issuer.issuerConfig(), issuer: url, signIn }];
  for (let time = 0; time < 3; time++)
    await expect(signInAt(down)).rejects.toMatchObject({ code: "upstream_unavailable" });
  expect(recorded).toHaveLength(1);
});
