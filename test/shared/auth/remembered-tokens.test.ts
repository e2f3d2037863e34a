import { afterEach, expect, test, vi } from "vitest";

import { createIssuer } from "../../../infra/local/start/issuer.ts";
import { userVerifier, rememberTokens } from "../../../shared/auth/user-token.ts";

afterEach(() => void vi.useRealTimers());

/** A verifier that remembers, and how often it verified. */
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

test("a token is verified once in five minutes, and each token for itself", async () => {
  const { mint, remembering, at, verified } = scene();
  const [one, other] = [mint("one", 3_600), mint("other", 3_600)];
  const [first, second] = [await remembering(one), await remembering(other)];
  at(299);
  expect([await remembering(one), await remembering(other)]).toEqual([first, second]);
  expect(first.id).not.toBe(second.id);
  expect(verified()).toBe(2);
  at(301);
  expect(await remembering(one)).toEqual(first);
  expect(verified()).toBe(3);
});

test("a token that expires is refused from then on", async () => {
  const { mint, remembering, at } = scene();
  const token = mint("one", 60);
  await remembering(token);
  at(62);
  await expect(remembering(token)).rejects.toMatchObject({ code: "token_expired" });
});

test("a refused token, and a token that differs in a byte from a valid one, is verified each time", async () => {
  const { mint, remembering, verified } = scene();
  const token = mint("one", 3_600);
  await remembering(token);
  const forged = `${token.slice(0, -4)}AAAA`;
  for (let times = 0; times < 2; times++) {
    await expect(remembering(forged)).rejects.toMatchObject({ code: "unauthenticated" });
  }
  expect(verified()).toBe(3);
});

test("ten thousand tokens are remembered, and the oldest is forgotten for another", async () => {
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
