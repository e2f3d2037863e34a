import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { createIssuer, issuerUrl } from "../../../infra/local/start/issuer.ts";
import { emailAtIssuer, signInAt } from "../../../shared/auth/issuer-metadata.ts";
import type { Issuer } from "../../../shared/core/environment.ts";
import { startLoopback, type Answer, type Fault } from "../providers/loopback.ts";

const issuer = createIssuer();
const sub = randomUUID();
const token = issuer.mint({ sub });

/** An issuer whose userinfo endpoint answers, and what it was asked. */
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
    ["is not verified", { sub, email: "ada@example.com", email_verified: false }],
    ["is not verified, as Cognito says it", { sub, email: "ada@example.com", email_verified: "false" }],
    ["is another subject's", { sub: randomUUID(), email: "ada@example.com" }],
    ["is missing", { sub }],
    ["is refused", { status: 401, body: "{}" }],
    ["is no object", { status: 200, body: "[]" }],
  ])("is unknown if it %s", async (_, answer) => {
    const { issuers } = await issuerWith(answer);
    expect(await emailAtIssuer(token, issuers)).toBeUndefined();
  });

  test("counts without the claim only at an issuer that is known to verify addresses", async () => {
    const { issuers } = await issuerWith({ sub, email: "ada@example.com" });
    expect(await emailAtIssuer(token, issuers)).toBe("ada@example.com");
    const others = issuers.map((one) => ({ ...one, emailsAreVerified: false }));
    expect(await emailAtIssuer(token, others)).toBeUndefined();
  });

  test.each<[string, object, Fault | undefined]>([
    ["hangs up", {}, "hang-up"],
    ["fails", { status: 500, body: "" }, undefined],
    ["answers no JSON", { status: 200, body: "<html>" }, undefined],
    ["leads elsewhere", { status: 302, headers: { location: "http://127.0.0.1:9/" }, body: "" }, undefined],
  ])("is a 503 if the issuer %s", async (_, answer, fault) => {
    const { issuers } = await issuerWith(answer, fault);
    await expect(emailAtIssuer(token, issuers)).rejects.toMatchObject({ code: "upstream_unavailable" });
  });

  test("is unknown without an endpoint, and nobody but the token's own issuer is asked", async () => {
    expect(await emailAtIssuer(token, [issuer.issuerConfig()])).toBeUndefined();
    const { issuers, recorded } = await issuerWith({ sub, email: "ada@example.com" });
    const others = issuers.map((one) => ({ ...one, issuer: "https://other.example" }));
    expect(await emailAtIssuer(token, others)).toBeUndefined();
    expect(recorded).toEqual([]);
  });
});

describe("signing in", () => {
  test("is at the first issuer that has a client for it", async () => {
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

test("an issuer whose metadata failed is not asked again by the next requests", async () => {
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
