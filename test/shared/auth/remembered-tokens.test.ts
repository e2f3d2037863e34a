import { SimpleFetcher } from "aws-jwt-verify/https";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";

import { createIssuer } from "../../../infra/local/start/issuer.ts";
import { userVerifier, rememberTokens } from "../../../shared/auth/user-token.ts";

afterEach(() => void vi.useRealTimers());

/** A verifier that remembers tokens, and the number of its verifications. */
function scene() {
  const issuer = createIssuer();
  const verify = userVerifier([issuer.issuerConfig()]);
  let count = 0;
  const remembering = rememberTokens((token) => {
    count += 1;
    return verify(token);
  });
  const at = (seconds: number) => vi.useFakeTimers({ toFake: ["Date"], now: begun + seconds * 1_000 });
  const begun = Date.now();
  const mint = (sub: string, expiresInSeconds: number) =>
    issuer.mint({ sub }, { expiresInSeconds, now: new Date(begun) });
  return { mint, remembering, at, verified: () => count };
}

test("each token is verified once in 150 seconds", async () => {
  const { mint, remembering, at, verified } = scene();
  const [one, other] = [mint("one", 3_600), mint("other", 3_600)];
  const [first, second] = [await remembering(one), await remembering(other)];
  at(149);
  expect([await remembering(one), await remembering(other)]).toEqual([first, second]);
  expect(first.id).not.toBe(second.id);
  expect(verified()).toBe(2);
  at(151);
  expect(await remembering(one)).toEqual(first);
  expect(verified()).toBe(3);
});

/** A verifier that remembers tokens, for an issuer that publishes its keys at an address. */
function published() {
  const issuer = createIssuer();
  const { jwks, ...config } = issuer.issuerConfig();
  const fetched = vi.spyOn(SimpleFetcher.prototype, "fetch");
  onTestFinished(() => fetched.mockRestore());
  const publish = (keys: object | undefined) =>
    void fetched.mockImplementation(async () => new TextEncoder().encode(JSON.stringify(keys)).buffer);
  publish(jwks);
  const verify = rememberTokens(userVerifier([{ ...config, jwksUri: "https://id.example/keys" }]));
  const begun = Date.now();
  const at = (seconds: number) => vi.useFakeTimers({ toFake: ["Date"], now: begun + seconds * 1_000 });
  const [first, second] = ["one", "two"].map((sub) => issuer.mint({ sub }, { now: new Date(begun) }));
  return { first, second, verify, publish, at, fetched };
}

test("a token is verified with the former keys while its issuer cannot be reached", async () => {
  const { first, verify, at, fetched } = published();
  const principal = await verify(first ?? "");
  fetched.mockRejectedValue(new Error("the issuer is down"));
  at(151);
  expect(await verify(first ?? "")).toEqual(principal);
  expect(fetched).toHaveBeenCalledTimes(2);
});

test("a token is refused five minutes after its issuer has removed its key, at the latest", async () => {
  const { first, second, verify, publish, at } = published();
  await verify(first ?? "");
  publish(createIssuer().issuerConfig().jwks);
  at(149);
  expect(await verify(second ?? "")).toBeDefined();
  at(298);
  expect(await verify(second ?? "")).toBeDefined();
  at(301);
  for (const token of [first, second])
    await expect(verify(token ?? "")).rejects.toMatchObject({ code: "unauthenticated" });
});

test("a remembered token is refused once it has expired", async () => {
  const { mint, remembering, at } = scene();
  const token = mint("one", 60);
  await remembering(token);
  at(62);
  await expect(remembering(token)).rejects.toMatchObject({ code: "token_expired" });
});

test("a refused token is verified each time, even if it looks like a remembered token", async () => {
  const { mint, remembering, verified } = scene();
  const token = mint("one", 3_600);
  await remembering(token);
  const forged = `${token.slice(0, -4)}AAAA`;
  for (let times = 0; times < 2; times++) {
    await expect(remembering(forged)).rejects.toMatchObject({ code: "unauthenticated" });
  }
  expect(verified()).toBe(3);
});

test("10,000 tokens are remembered, and the next token replaces the oldest", async () => {
  let count = 0;
  const verify = rememberTokens(async () => {
    count += 1;
    return { type: "user", id: "u", email: "", groups: [] };
  });
  const payload = Buffer.from(JSON.stringify({ exp: Math.floor(Date.now() / 1_000) + 3_600 })).toString("base64url");
  const token = (index: number): string => `${index}.${payload}.x`;
  for (let index = 0; index < 10_001; index++) await verify(token(index));
  await verify(token(10_000));
  expect(count).toBe(10_001);
  await verify(token(0));
  expect(count).toBe(10_002);
});
