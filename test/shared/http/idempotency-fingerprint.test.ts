import { expect, test } from "vitest";

import { fingerprintOf, keyedRequestId } from "../../../shared/http/idempotency.ts";

const of = (body: Record<string, unknown>, key = "k") => fingerprintOf(key, { params: {}, query: {}, body });

test("equal requests have the same fingerprint, whatever the order of their members", () => {
  const one = of({ a: 1, b: { c: [1, 2], d: null }, e: 2 });
  expect(of({ e: 2, b: { d: null, c: [1, 2] }, a: 1 })).toBe(one);
  expect(of({ b: { c: [1, 2], d: null }, e: 2, a: 1 })).toBe(one);
  for (const other of [
    { a: 1, b: { c: [2, 1], d: null }, e: 2 },
    { a: 1, b: { c: { 0: 1, 1: 2 }, d: null }, e: 2 },
    { a: 1, b: { c: [1, 2] }, e: 2 },
  ]) {
    expect(of(other)).not.toBe(one);
  }
  expect(of({ a: 1, b: { c: [1, 2], d: null }, e: 2 }, "other")).not.toBe(one);
});

test("a request that was answered by an earlier version of the product has the same fingerprint", () => {
  // HMAC-SHA256, with the idempotency key, of {"body":{"a":1,"b":{"c":[1,2],"d":null}},"params":{},"query":{}}
  expect(of({ b: { d: null, c: [1, 2] }, a: 1 })).toBe(
    "70fbd52a013acaad5949cb1fb1ed3c6252a450fed863fe4a6924ca69a01cda54",
  );
});

test("the id of a request depends on its record and its first claim, and rows of earlier versions have no first claim", () => {
  const record = { PK: "p", SK: "s" };
  const ids = [keyedRequestId(record, "a"), keyedRequestId(record, "b"), keyedRequestId(record, undefined)];
  expect(new Set(ids).size).toBe(3);
  // The last id must stay the same for stored rows, because payments and purchases contain it.
  expect(ids).toEqual([expect.stringMatching(/^[\w-]{16}$/), expect.stringMatching(/^[\w-]{16}$/), "L4Do5jWVRoQG9F7d"]);
});
