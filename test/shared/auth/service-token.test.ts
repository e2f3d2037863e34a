import { randomBytes, randomUUID } from "node:crypto";

import fc from "fast-check";
import { expect, test } from "vitest";

import {
  expectedService,
  mintServiceToken,
  servicePrincipal,
  tokenKey,
  tokenWrite,
} from "../../../shared/auth/service-token.ts";
import { SeenItems } from "../../../shared/table/seen-items.ts";
import { me } from "../../support/auth.ts";
import { request } from "../../support/request.ts";
import { newAccount, newServiceAccount, testTable } from "../../support/world.ts";

test("the token of a service account gives only the permissions that were granted to the service account", async () => {
  const account = await newAccount();
  const service = await newServiceAccount(account, { role: "viewer" });
  const path = `/v1/public/accounts/${account.id}/workspaces`;
  expect((await request("GET", path, { token: service.token })).status).toBe(200);
  const refused = await request("POST", path, { token: service.token, body: { name: "x" } });
  expect(refused.body).toMatchObject({ code: "forbidden", required_capability: "workspace.manage" });
});

test("a token with a wrong checksum is refused without a read of the table", async () => {
  const usage = { readUnits: 0, writeUnits: 0, calls: 0 };
  const { token } = mintServiceToken();
  const forged = token.slice(0, -1) + (token.endsWith("0") ? "1" : "0");
  await expect(servicePrincipal(forged, testTable(usage), new Date())).rejects.toMatchObject({
    code: "unauthenticated",
  });
  expect(usage.calls).toBe(0);
});

test("a well-formed token is refused if no such token is stored, or if its secret is not the stored one", async () => {
  const account = await newAccount();
  const { id } = await newServiceAccount(account, { role: "viewer" });
  const seed = randomBytes(112);
  const minted = mintServiceToken(seed);
  await testTable().commit(async () => ({ value: 0, writes: [tokenWrite({ id, accountId: account.id, minted })] }));
  expect((await me(minted.token)).status).toBe(200);
  const guessed = mintServiceToken(Buffer.concat([seed.subarray(0, 32), randomBytes(80)]));
  expect(guessed.publicId).toBe(minted.publicId);
  for (const token of [mintServiceToken().token, guessed.token]) expect((await me(token)).status).toBe(401);
});

test("a process expects the service account of a token that it has accepted, until the token is revoked or expires", async () => {
  const seed = randomBytes(112);
  const minted = mintServiceToken(seed);
  const [start, end] = [new Date("2026-03-01T00:00:00Z"), new Date("2026-03-02T00:00:00Z")];
  const token = { id: randomUUID(), accountId: randomUUID(), minted, expiresAt: end.toISOString() };
  await testTable().attempt(tokenWrite(token));
  const seen = new SeenItems();
  expect(expectedService(minted.token, seen, start)).toBeUndefined();
  const principal = await servicePrincipal(minted.token, { ...testTable(), seen }, start);
  expect(principal).toMatchObject({ type: "service_account", id: token.id, account_id: token.accountId });
  expect(expectedService(minted.token, seen, start)).toEqual(principal);
  const guessed = mintServiceToken(Buffer.concat([seed.subarray(0, 32), randomBytes(80)]));
  for (const other of [guessed.token, `${minted.token}0`]) expect(expectedService(other, seen, start)).toBeUndefined();
  expect(expectedService(minted.token, seen, end)).toBeUndefined();
  const key = tokenKey(minted.publicId);
  seen.note({ ...key, ...seen.recall(key), revoked_at: start.toISOString() });
  expect(expectedService(minted.token, seen, start)).toBeUndefined();
});

test("a token with any changed character is refused without a read of the table", async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.constantFrom("0", "A", "a", "z", "_"), async (position, character) => {
      const { token } = mintServiceToken();
      const index = position % token.length;
      const changed = token.slice(0, index) + character + token.slice(index + 1);
      const usage = { readUnits: 0, writeUnits: 0, calls: 0 };
      if (changed !== token) await expect(servicePrincipal(changed, testTable(usage), new Date())).rejects.toThrow();
      expect(usage.calls).toBe(0);
    }),
    { numRuns: 200 },
  );
});

test("minted tokens have the documented form, and each is different", () => {
  const tokens = Array.from({ length: 50 }, () => mintServiceToken().token);
  for (const token of tokens) expect(token).toMatch(/^sat_[0-9A-Za-z]{16}_[0-9A-Za-z]{46}$/);
  expect(new Set(tokens).size).toBe(50);
});
