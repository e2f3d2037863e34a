import { afterEach, expect, test, vi } from "vitest";

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

test("each token is verified once in five minutes", async () => {
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
