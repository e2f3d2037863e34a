import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { createLog } from "../../../shared/core/log.ts";
import { charge, limitsKey, newLimiterMemory } from "../../../shared/rate-limits/limiter.ts";
import { setOwnLimit } from "../../../shared/rate-limits/own-limits.ts";
import { createMemoryStore, openMemoryTable } from "../../support/memory-table.ts";
import { newAccount, testTable } from "../../support/world.ts";

const table = testTable();
const [one, two] = [
  { perMinute: 60, burst: 5 },
  { perMinute: 6, burst: 2 },
];

test("an account can have an own limit for each class, and each is set and removed separately", async () => {
  const { id } = await newAccount();
  expect(await setOwnLimit(table, id, "default", one)).toEqual({ classes: { default: one } });
  expect(await setOwnLimit(table, id, "search", two)).toEqual({ classes: { default: one, search: two } });
  expect(await setOwnLimit(table, id, "default", two)).toEqual({ classes: { default: two, search: two } });
  expect(await setOwnLimit(table, id, "default", undefined)).toEqual({ classes: { search: two } });
  expect(await table.getMany([limitsKey(id)])).toEqual([{ ...limitsKey(id), classes: { search: two }, version: 4 }]);
});

test("a missing account cannot get an own limit", async () => {
  const id = randomUUID();
  await expect(setOwnLimit(table, id, "default", one)).rejects.toMatchObject({ code: "not_found" });
  expect(await table.getMany([limitsKey(id)])).toEqual([undefined]);
});

test("a process reads an account's own limit again after a minute, and not before", async () => {
  const [memory, log, store] = [newLimiterMemory(), createLog("silent", {}), openMemoryTable(createMemoryStore())];
  const start = Date.parse("2026-03-01T00:00:00.000Z");
  const limitAfter = async (afterMs: number) => {
    const what = { principalId: "p", class: "default" as const, cost: 1, accountId: "a" };
    const state = await charge(what, { table: store, memory, log, now: () => new Date(start + afterMs) });
    return state?.limit.burst;
  };
  expect(await limitAfter(0)).toBe(100);
  await store.attempt({ put: { ...limitsKey("a"), classes: { default: one } } });
  expect([await limitAfter(59_999), await limitAfter(60_000)]).toEqual([100, 5]);
  await store.attempt({ delete: limitsKey("a") });
  expect([await limitAfter(119_999), await limitAfter(120_000)]).toEqual([5, 100]);
});
