import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import {
  lastUses,
  mintServiceToken,
  servicePrincipal,
  planTokenEnds,
  tokenWrite,
} from "../../../shared/auth/service-token.ts";
import { testTable } from "../../support/world.ts";

const table = testTable();
const start = Date.parse("2026-03-01T00:00:00.000Z");
const at = (afterMs: number): Date => new Date(start + afterMs);
const hourMs = 3_600_000;

/** Stores a new token. */
async function newToken(more: { expiresAt?: string | null } = {}) {
  const minted = mintServiceToken();
  const id = randomUUID();
  await table.attempt(tokenWrite({ id, accountId: randomUUID(), minted, ...more }));
  const { token, publicId } = minted;
  return {
    id,
    publicId,
    use: (afterMs: number) => servicePrincipal(token, table, at(afterMs)),
    /** The recorded last use, in milliseconds after the start. */
    lastUse: async () => {
      const found = (await lastUses(table, [publicId])).get(publicId);
      return found === undefined ? undefined : Date.parse(found) - start;
    },
  };
}

test("the same seed gives the same token, whose checksum is the CRC32 of the rest in base 62", () => {
  const seed = Buffer.from(Array.from({ length: 112 }, (_, index) => (index * 37 + 11) & 255));
  expect(mintServiceToken(seed)).toEqual({
    token: "sat_CwgI0kU4oYAscMwg_Q2kUEoYIucM6gQAkUEqYI2cM6iQAuUEyaI2mM6qS48E82U",
    publicId: "CwgI0kU4oYAscMwg",
    secretHash: "b747ddceb496fbb8325f5ca5d54d46ba33170a68b789bba0de5cc19166bf67a8",
  });
});

test.each(["sat_", "sat_x", "sat_CwgI0kU4oYAscMwg_Q2kUEoYIucM6gQAkUEqYI2cM6iQAuUEyaI2mM6qS48E82", "sat_\n"])(
  "a text without the form of a token is not valid: %j",
  async (token) => {
    await expect(servicePrincipal(token, table, at(0))).rejects.toMatchObject({ code: "unauthenticated" });
  },
);

describe("the last use of a token", () => {
  test("is recorded at the first use, and then at uses at least an hour later", async () => {
    const token = await newToken();
    expect(await token.lastUse()).toBeUndefined();
    const seen = [];
    for (const afterMs of [0, 1, hourMs - 1, hourMs, 2 * hourMs - 1, 5 * hourMs]) {
      await token.use(afterMs);
      seen.push(await token.lastUse());
    }
    expect(seen).toEqual([0, 0, 0, hourMs, hourMs, 5 * hourMs]);
  });

  test("is missing for a token that was never used, and for an unknown token", async () => {
    const { publicId } = await newToken();
    expect(await lastUses(table, [publicId, "0000000000000000"])).toEqual(new Map());
  });

  test("need not be recorded for a token to work, and recording it does not restore a deleted token", async () => {
    const token = await newToken();
    const failing = { ...table, attempt: async () => Promise.reject(new Error("down")) };
    const minted = mintServiceToken();
    await table.attempt(tokenWrite({ id: token.id, accountId: randomUUID(), minted }));
    expect(await servicePrincipal(minted.token, failing, at(0))).toMatchObject({ id: token.id });
    const { publicId } = minted;
    const key = { PK: `TOKEN#${publicId}`, SK: "TOKEN" };
    const deleting = {
      ...table,
      attempt: async (write: Parameters<typeof table.attempt>[0]) => {
        await table.attempt({ delete: key });
        return table.attempt(write);
      },
    };
    await servicePrincipal(minted.token, deleting, at(0));
    expect(await table.getMany([key])).toEqual([undefined]);
  });
});

describe("the end of a token", () => {
  test("is exactly at its time of expiry", async () => {
    const token = await newToken({ expiresAt: at(1_000).toISOString() });
    expect(await token.use(999)).toMatchObject({ type: "service_account", id: token.id, groups: [] });
    await expect(token.use(1_000)).rejects.toMatchObject({ code: "token_expired" });
    expect(await (await newToken({ expiresAt: null })).use(1_000)).toBeDefined();
  });

  /** Ends tokens. Returns the ids of the tokens that were live, and the number of writes. */
  const end = async (tokens: { publicId: string }[], how: Parameters<typeof planTokenEnds>[2], afterMs = 0) => {
    const ids = tokens.map(({ publicId }) => publicId);
    const { live, writes } = await planTokenEnds(table, ids, how, at(afterMs));
    for (const write of writes) await table.attempt(write);
    return { live, writes: writes.length };
  };

  test("by revocation is immediate, and has an error code of its own", async () => {
    const token = await newToken({ expiresAt: at(1_000).toISOString() });
    expect(await end([token], { revoked: at(0) })).toEqual({ live: [token.publicId], writes: 1 });
    await expect(token.use(0)).rejects.toMatchObject({ code: "token_revoked" });
    expect(await end([token], { revoked: at(0) })).toEqual({ live: [], writes: 0 });
  });

  test("by a new expiry is never later than before", async () => {
    const [never, later, same, sooner] = [
      await newToken(),
      await newToken({ expiresAt: at(2_000).toISOString() }),
      await newToken({ expiresAt: at(1_000).toISOString() }),
      await newToken({ expiresAt: at(500).toISOString() }),
    ];
    const all = [never, later, same, sooner];
    const ended = await end(all, { expires: at(1_000).toISOString() });
    expect(ended).toEqual({ live: all.map(({ publicId }) => publicId), writes: 2 });
    for (const token of [never, later, same]) {
      await token.use(999);
      await expect(token.use(1_000)).rejects.toMatchObject({ code: "token_expired" });
    }
    await expect(sooner.use(500)).rejects.toMatchObject({ code: "token_expired" });
  });

  test("is not changed for an expired token or an unknown token", async () => {
    const over = await newToken({ expiresAt: at(500).toISOString() });
    const none = { publicId: "0000000000000000" };
    expect(await end([over, none], { expires: at(1_000).toISOString() }, 500)).toEqual({ live: [], writes: 0 });
  });
});
