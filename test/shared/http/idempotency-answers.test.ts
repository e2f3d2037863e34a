import { describe, expect, test } from "vitest";
import * as z from "zod";

import { storedAnswer, claimKey, findAnswer } from "../../../shared/http/idempotency.ts";
import { createMemoryStore, openMemoryTable } from "../../support/memory-table.ts";

const start = Date.parse("2026-03-01T00:00:00.250Z");
const dayMs = 86_400_000;
const leaseMs = 30_000;

type Keyed = Parameters<typeof claimKey>[1];

/** A new table, and functions for the requests of one caller with one key. */
function scene() {
  const table = openMemoryTable(createMemoryStore());
  const output = z.object({ id: z.string(), secret: z.string().optional() });
  const route: Keyed["route"] = {
    name: "toys.make",
    http: { method: "POST" },
    output,
    codeMode: { storesAnswer: true },
    shownOnce: [],
  };
  const principal = { type: "user" as const, id: "u", email: "", groups: [] };
  const keyed = (afterMs: number, more: object = {}): Keyed => ({
    principal,
    route,
    key: "k",
    input: { params: {}, query: {}, body: { name: "a" } },
    now: new Date(start + afterMs),
    ...more,
  });
  /** Claims the key. Throws if an answer is stored. */
  const claim = async (afterMs: number, more: object = {}) => {
    const claimed = await claimKey(table, keyed(afterMs, more));
    if ("replay" in claimed) throw new Error("an answer is stored, so there is no claim");
    return claimed;
  };
  return {
    table,
    route,
    keyed,
    claim,
    /** Claims the key and stores an answer. */
    done: async (more: object = {}, answer: object = { id: "first" }) => {
      const claimed = await claim(0, more);
      await table.attempt(claimed.settle(answer));
      return claimed;
    },
    /** A claim of the key, or the stored answer. */
    claimed: (afterMs: number, more: object = {}) => claimKey(table, keyed(afterMs, more)),
    answer: (afterMs: number, more: object = {}) => storedAnswer(table, keyed(afterMs, more)),
    found: (afterMs: number, more: object = {}) => findAnswer(table, keyed(afterMs, more)),
  };
}

const other = { input: { params: {}, query: {}, body: { name: "b" } } };
const inFlight = { code: "idempotency_in_flight", extras: { retry_after: 1 } };
const usedOtherwise = { errors: [{ loc: ["header", "idempotency-key"], type: "idempotency_key_reused" }] };
const shownBefore = { code: "secret_already_shown" };

describe("while the first request runs", () => {
  test("the same request gets `idempotency_in_flight`, and can run once the lease is over", async () => {
    const { claimed, found, claim } = scene();
    await claim(0);
    for (const look of [claimed, found]) await expect(look(leaseMs - 1)).rejects.toMatchObject(inFlight);
    expect(await found(leaseMs)).toBeUndefined();
    expect(await claimed(leaseMs)).toHaveProperty("settle");
  });

  test("another request with the key is refused, before and after the end of the lease", async () => {
    const { claimed, found, claim } = scene();
    await claim(0);
    for (const afterMs of [0, leaseMs]) {
      for (const look of [claimed, found]) await expect(look(afterMs, other)).rejects.toMatchObject(usedOtherwise);
    }
  });

  test("there is no stored answer yet, for the same request or another request", async () => {
    const { answer, claim } = scene();
    expect(await answer(0)).toBeUndefined();
    await claim(0);
    expect([await answer(0), await answer(leaseMs), await answer(0, other)]).toEqual([undefined, undefined, undefined]);
  });

  test("a request that takes over has the id of the first request, and a request after a release has another id", async () => {
    const { claimed, claim } = scene();
    const first = await claim(0);
    const second = await claim(leaseMs);
    const third = await claim(2 * leaseMs);
    expect([second.id, third.id]).toEqual([first.id, first.id]);
    await third.release();
    expect((await claim(2 * leaseMs)).id).not.toBe(first.id);
    await expect(claimed(2 * leaseMs)).rejects.toMatchObject(inFlight);
  });

  test("a lapsed claim is free for the same request at once, and a released claim for any request", async () => {
    const { claim, claimed, table } = scene();
    await (await claim(0)).lapse();
    expect(await table.between("PRINCIPAL#u", "IDEMPOTENCY#", "IDEMPOTENCY#~")).toMatchObject([{ lease_until: 0 }]);
    await expect(claimed(0, other)).rejects.toMatchObject(usedOtherwise);
    await (await claim(0)).release();
    await claim(0, other);
  });
});

test.each([
  ["a new default", [{ n: "a" }, { n: "a" }], [{ n: "a" }, { n: "a", mode: "hosted" }]],
  ["another default", [{ n: "a" }, { n: "a", mode: "hosted" }], [{ n: "a" }, { n: "a", mode: "external" }]],
  ["another normal form", [{ n: "A" }, { n: "A" }], [{ n: "A" }, { n: "a" }]],
])("a request that is sent again is the same request, also if a new version parses it with %s", async (_, one, two) => {
  const { claimed, found, answer, done } = scene();
  const sent = ([raw, parsed]: object[]) => ({
    raw: { params: {}, query: {}, body: raw },
    input: { params: {}, query: {}, body: parsed },
  });
  await done(sent(one));
  for (const look of [claimed, found, answer])
    expect(await look(0, sent(two))).toMatchObject({ replay: { id: "first" } });
  const another = sent([{ n: "b" }, { n: "b" }]);
  for (const look of [claimed, found]) await expect(look(0, another)).rejects.toMatchObject(usedOtherwise);
  expect(await answer(0, another)).toBeUndefined();
});

test("requests that are sent in two spellings of the same value are the same request", async () => {
  const { claimed, done } = scene();
  const sent = (email: string) => ({
    raw: { params: {}, query: {}, body: { email } },
    input: { params: {}, query: {}, body: { email: email.toLowerCase() } },
  });
  await done(sent("Ada@example.com"));
  for (const email of ["ada@example.com", "ADA@example.com"])
    expect(await claimed(0, sent(email))).toEqual({ replay: { id: "first" } });
});

test("if two requests take over at the same time, one runs, and the other gets `idempotency_in_flight`", async () => {
  const { claimed, claim } = scene();
  await claim(0);
  const [one, other] = await Promise.allSettled([claimed(leaseMs), claimed(leaseMs)]);
  expect(one).toMatchObject({ status: "fulfilled", value: { settle: expect.any(Function) } });
  expect(other).toMatchObject({ status: "rejected", reason: inFlight });
});

test("a claim or a takeover that the SDK sends twice has the same id", async () => {
  const { table, keyed, claim } = scene();
  const attempt: typeof table.attempt = async (write) => {
    await table.attempt(write);
    return table.attempt(write);
  };
  const twice = { ...table, attempt };
  const first = await claimKey(twice, keyed(0));
  expect(await claimKey(twice, keyed(leaseMs))).toHaveProperty("id", "id" in first ? first.id : "");
  expect((await claim(2 * leaseMs)).id).toBe("id" in first ? first.id : "");
});

test("if the answer to a claim is lost, the key is free at once; after a takeover only for the same request", async () => {
  const { table, keyed, claim } = scene();
  const outage = new Error("lost");
  /** A table that loses the answer of its write number `place`, counted from 0. */
  const losing = (place: number) => {
    let writes = 0;
    const attempt: typeof table.attempt = async (write) => {
      const answer = await table.attempt(write);
      if (writes++ === place) throw outage;
      return answer;
    };
    return { ...table, attempt };
  };
  await expect(claimKey(losing(0), keyed(0))).rejects.toBe(outage);
  await (await claim(0, other)).release();
  const { id } = await claim(leaseMs);
  await expect(claimKey(losing(1), keyed(2 * leaseMs))).rejects.toBe(outage);
  await expect(claimKey(table, keyed(2 * leaseMs, other))).rejects.toMatchObject(usedOtherwise);
  expect(await claim(2 * leaseMs)).toMatchObject({ id, isPartlyDone: true });
});

describe("an answer", () => {
  test("is found for a day by the same request, and never by another request", async () => {
    const { done, claimed, found, answer } = scene();
    await done();
    for (const afterMs of [0, dayMs - 1]) {
      expect(await claimed(afterMs)).toEqual({ replay: { id: "first" } });
      expect(await found(afterMs)).toMatchObject({ replay: { id: "first" } });
      expect(await answer(afterMs)).toMatchObject({ replay: { id: "first" } });
    }
    for (const look of [claimed, found]) await expect(look(0, other)).rejects.toMatchObject(usedOtherwise);
    expect(await answer(0, other)).toBeUndefined();
    expect([await found(dayMs), await answer(dayMs)]).toEqual([undefined, undefined]);
    expect(await claimed(dayMs)).toHaveProperty("settle");
  });

  test("is kept for `keptMs` milliseconds, and its row expires at the next full second", async () => {
    const { table, done, answer } = scene();
    await done({ keptMs: 1_500 });
    expect([await answer(1_499), await answer(1_500)]).toMatchObject([{ replay: { id: "first" } }, undefined]);
    const [record] = await table.between("PRINCIPAL#u", "IDEMPOTENCY#", "IDEMPOTENCY#~");
    expect(record).toMatchObject({ ttl: Math.ceil((start + 1_500) / 1_000), expires_at: start + 1_500 });
  });

  test("is stored with the scopes of its resource, if the route gives them", async () => {
    const scopes = [{ type: "workspace", id: "w" }];
    const { done, answer, found } = scene();
    await done({ scopes });
    expect([await answer(0), await found(0)]).toEqual([
      { replay: { id: "first" }, scopes },
      { replay: { id: "first" }, scopes },
    ]);
  });

  test("is charged by its length before it is used, and if it is not valid any more, the request runs", async () => {
    const { done, claimed, found } = scene();
    await done();
    const weighed: number[] = [];
    const chargeRead = async (chars: number) => void weighed.push(chars);
    const { length } = JSON.stringify({ id: "first" });
    expect(await found(0, { chargeRead })).toBeDefined();
    expect(await claimed(0, { chargeRead, isStillValid: async () => true })).toEqual({ replay: { id: "first" } });
    expect(await claimed(0, { chargeRead, isStillValid: async () => false })).toHaveProperty("settle");
    expect(await found(leaseMs, { chargeRead })).toBeUndefined();
    expect(await claimed(leaseMs, { chargeRead })).toHaveProperty("settle");
    expect(weighed).toEqual([length, length, length, 0, 0]);
  });

  test("that is restated is returned in its new form, and only this object counts as the stored answer", async () => {
    const { done, answer } = scene();
    const claim = await done();
    await claim.restate({ id: "more" });
    expect(await answer(0)).toMatchObject({ replay: { id: "more" } });
    const more = { id: "more" };
    await claim.restate(more);
    expect([claim.isSettledWith(more), claim.isSettledWith({ id: "more" })]).toEqual([true, false]);
  });

  test("of a call in a program is not stored if its route forbids this, or if it shows a secret", async () => {
    const secret = { shownOnce: ["secret"] };
    for (const [more, answer, message] of [
      [{ codeMode: { storesAnswer: false } }, { id: "first" }, /an address that can contain a credential/],
      [secret, { id: "first", secret: "s" }, /a secret that is shown only once/],
    ] as const) {
      const { route, done, claimed, found, answer: look } = scene();
      const given = { route: { ...route, ...more }, inProgram: true };
      await done(given, answer);
      for (const ask of [claimed, found, look]) {
        await expect(ask(0, given)).rejects.toMatchObject({ ...shownBefore, message: expect.stringMatching(message) });
      }
    }
    const { route, done, answer } = scene();
    const outside = { route: { ...route, codeMode: { storesAnswer: false } } };
    await done(outside);
    expect(await answer(0, outside)).toMatchObject({ replay: { id: "first" } });
  });

  test("that is restated with a secret is not stored any more", async () => {
    const { route, claim, answer, table } = scene();
    const given = { route: { ...route, shownOnce: ["secret"] } };
    const claimed = await claim(0, given);
    await table.attempt(claimed.settle({ id: "first" }));
    await claimed.restate({ id: "first", secret: "s" });
    await expect(answer(0, given)).rejects.toMatchObject(shownBefore);
  });
});

test("a settled claim cannot be released, and a claim that was taken over cannot be settled", async () => {
  const { done, answer } = scene();
  const first = await done();
  await first.release();
  await first.lapse();
  expect(await answer(0)).toMatchObject({ replay: { id: "first" } });
  const late = scene();
  const slow = await late.claim(0);
  await late.claim(leaseMs);
  expect(await late.table.attempt(slow.settle({ id: "slow" }))).toMatchObject({ done: false });
});

test("a deletion is settled with the empty answer, whatever value was stored", async () => {
  const { route, claim } = scene();
  const claimed = await claim(0, {
    route: { ...route, http: { method: "DELETE" }, output: z.object({}) },
  });
  expect(claimed.isSettledWith({})).toBe(false);
  claimed.settle(undefined);
  expect(claimed.isSettledWith({})).toBe(true);
});
