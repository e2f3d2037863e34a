import { describe, expect, test } from "vitest";
import * as z from "zod";

import { routes } from "../../../functions/routes.ts";
import { InvalidInput, type ValidationError } from "../../../shared/core/errors.ts";
import { clipped, fromStrings, parseInput, type RawInput } from "../../../shared/http/input.ts";
import type { Route } from "../../../shared/http/route.ts";
import { request } from "../../support/request.ts";
import { newAccount } from "../../support/world.ts";

const parts = { params: "path", query: "query", body: "body" } as const;

/** The places of the required members of a route's input. */
const required = (route: Route): string[] =>
  Object.entries(parts).flatMap(([part, place]) =>
    Object.entries(route[part as keyof typeof parts].shape)
      .filter(([, schema]) => !schema.safeParse(undefined).success)
      .map(([name]) => `${place}.${name}`),
  );

function mistakesOf(route: Route): ValidationError[] {
  try {
    parseInput(route, { params: {}, query: {}, body: {} });
    return [];
  } catch (error) {
    if (error instanceof InvalidInput) return error.errors;
    throw error;
  }
}

test("a long name in the location of an error is cut without half a character", () => {
  expect(clipped(`${"x".repeat(99)}😀`)).toBe(`${"x".repeat(99)}\ufffd…`);
});

describe("a missing required member of any type is reported as missing", () => {
  test.each(routes.map((route) => [route.name, route] as const))("%s", (_, route) => {
    const missing = mistakesOf(route).filter(({ type }) => type === "missing");
    expect(missing.map(({ loc }) => loc.join(".")).toSorted()).toEqual(required(route).toSorted());
    expect(new Set(missing.map(({ msg }) => msg)).size).toBeLessThanOrEqual(1);
  });
});

test("a wrong value in a URL is explained as a text: the number that it should be, or that a name occurs twice", async () => {
  const { id, owner } = await newAccount();
  const explained = async (path: string, method = "GET") => {
    const { status, body } = await request(method, `/v1/public/accounts/${id}/${path}`, { token: owner.token });
    return [status, ...body.detail.map(({ msg, type }: ValidationError) => `${type}: ${msg}`)];
  };
  const number = "number_type: Write a whole number from 1 to 9,007,199,254,740,991";
  for (const page of ["1.5", "99999999999999999999", "01", "", "abc"])
    expect(await explained(`domains?page=${page}`), page).toEqual([422, number]);
  expect(await explained("domains?page=1&page=1")).toEqual([422, "number_type: Give this parameter once"]);
  expect(await explained("domains?sort=name&sort=name")).toEqual([422, "enum: Give this parameter once"]);
  expect(await explained("domains?page_size=x")).toEqual([422, "number_type: Write a whole number from 1 to 100"]);
  expect(await explained("domains?page_size=101")).toEqual([422, "less_than_equal: Write a number of at most 100"]);
  expect(await explained("domains/a.example?purge=1", "DELETE")).toEqual([422, "boolean_type: Write true or false"]);
});

/** A route with this body, and with the members of `more`. */
const routeOf = (body: z.ZodObject, more: object = {}): Route =>
  ({
    http: { method: "POST" },
    access: "write",
    params: z.object({}),
    query: z.object({}),
    body,
    ...more,
  }) as unknown as Route;
const sent = (more: Partial<RawInput>): RawInput => ({ params: {}, query: {}, body: {}, ...more });

/** The errors of an input. Empty if the input is valid. */
function told(route: Route, raw: Partial<RawInput>): ValidationError[] {
  try {
    parseInput(route, sent(raw));
    return [];
  } catch (error) {
    if (error instanceof InvalidInput) return error.errors;
    throw error;
  }
}

describe("a long member name in the location of an error is cut after 100 characters", () => {
  const placesOf = (shape: z.ZodObject, body: unknown) => told(routeOf(shape), { body }).map(({ loc }) => loc);
  test.each([
    [100, "a".repeat(100)],
    [101, `${"a".repeat(100)}…`],
    [100_000, `${"a".repeat(100)}…`],
  ])("of %i characters", (length, shown) => {
    const name = "a".repeat(length);
    expect(placesOf(z.strictObject({}), { [name]: 1 })).toEqual([["body", shown]]);
    expect(placesOf(z.object({ map: z.record(z.string(), z.int()) }), { map: { [name]: "x" } })).toEqual([
      ["body", "map", shown],
    ]);
  });
});

describe("a request with many errors", () => {
  const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, 1]));
  const shape = z.object({ a: z.strictObject({}), b: z.strictObject({}), c: z.string() });
  test.each([
    [60, 39, 100],
    [60, 40, 100],
    [60, 60, 100],
    [150, 150, 100],
    [3, 4, 8],
  ])("with %i unknown members in one object and %i in another, gets at most 100 errors", (here, there, count) => {
    const errors = told(routeOf(shape), { body: { a: members(here), b: members(there), c: 1 } });
    expect(errors).toHaveLength(count);
    expect(errors.slice(0, 3).map(({ loc }) => loc)).toEqual([0, 1, 2].map((index) => ["body", "a", `m${index}`]));
  });

  test("gets the place in an array as a number, and the place in an object as a name", () => {
    const list = z.object({ list: z.array(z.record(z.string(), z.int())) });
    expect(told(routeOf(list), { body: { list: [{ 1: 1 }, { 2: "x" }] } })[0]?.loc).toEqual(["body", "list", 1, "2"]);
  });

  test("gets errors of the path, of the query and of the body", () => {
    const route = routeOf(shape, { params: z.object({ id: z.int() }), query: z.object({ q: z.int() }) });
    expect(told(route, { params: { id: "x" }, query: { q: "x" }, body: null }).map(({ loc }) => loc)).toEqual([
      ["path", "id"],
      ["query", "q"],
      ["body"],
    ]);
  });
});

test.each([
  ["number_type", z.int(), "1"],
  ["string_type", z.string(), null],
  ["string_pattern_mismatch", z.string().regex(/^a$/), "b"],
  ["uuid_parsing", z.uuid(), "b"],
  ["enum", z.enum(["a"]), "b"],
  ["string_too_short", z.string().min(2), "b"],
  ["too_short", z.array(z.int()).min(1), []],
  ["greater_than_equal", z.int().min(2), 1],
  ["string_too_long", z.string().max(1), "bb"],
  ["too_long", z.array(z.int()).max(0), [1]],
  ["less_than_equal", z.int().max(0), 1],
  ["value_error", z.string().refine(() => false), "b"],
  ["own", z.string().refine(() => false, { params: { type: "own" } }), "b"],
  ["value_error", z.string().refine(() => false, { params: { type: 1 } }), "b"],
  ["value_error", z.int().multipleOf(2), 1],
  ["missing", z.string(), undefined],
  ["missing", z.enum(["a"]), undefined],
  ["missing", z.union([z.string(), z.int()]), undefined],
  ["value_error", z.union([z.string(), z.int()]), null],
  ["value_error", z.unknown().refine(() => false), undefined],
])("an error has the type %s", (type, schema, value) => {
  expect(told(routeOf(z.object({ a: schema })), { body: { a: value } })).toMatchObject([{ loc: ["body", "a"], type }]);
});

describe("the header fields that a route honours", () => {
  const none = z.object({});
  const headersOf = (more: object, raw: Partial<RawInput>) => parseInput(routeOf(none, more), sent(raw)).headers;
  const etag = () => "";
  const tagged = { http: { method: "PATCH", etag } };

  test("an idempotency key counts for a POST, and is ignored by other routes", () => {
    const headers = { "idempotency-key": "k" };
    expect(headersOf({ http: { method: "POST" }, access: "read" }, { headers })).toEqual({ idempotencyKey: "k" });
    expect(headersOf({ http: { method: "PATCH" } }, { headers })).toEqual({});
    expect(headersOf({ http: { method: "PATCH" } }, { headers: { "idempotency-key": "a b" } })).toEqual({});
  });

  test("a program's key counts for every write, and for no read", () => {
    expect(headersOf({ http: { method: "PATCH" }, access: "write" }, { callKey: "c" })).toEqual({
      idempotencyKey: "c",
    });
    expect(headersOf({ http: { method: "GET" }, access: "read" }, { callKey: "c" })).toEqual({});
  });

  test.each(["", "a b", "ä", "\u007f", "a".repeat(256)])("the key %j is refused", (key) => {
    expect(told(routeOf(none), { headers: { "idempotency-key": key } })).toMatchObject([
      { loc: ["header", "idempotency-key"], type: "value_error" },
    ]);
  });

  test.each(["!", "~", "a".repeat(255)])("the key %j is accepted", (key) => {
    expect(headersOf({}, { headers: { "idempotency-key": key } })).toEqual({ idempotencyKey: key });
  });

  test("a condition counts for a route with an entity tag, which refuses a malformed condition", () => {
    expect(headersOf(tagged, { headers: { "if-match": '"a"' } })).toMatchObject({ ifMatch: { schemas: etag } });
    expect(headersOf({}, { headers: { "if-match": "a" } })).toEqual({});
    expect(headersOf(tagged, {})).toEqual({});
    expect(told(routeOf(none, tagged), { headers: { "if-match": "a" } })).toMatchObject([
      { loc: ["header", "if-match"], type: "value_error" },
    ]);
  });
});

describe("the strings of a URL", () => {
  const shape = z.object({
    count: z.number().int().optional().default(1),
    size: z.int().nullable(),
    is: z.boolean().optional(),
    name: z.string(),
  });
  test.each([
    ["count=7&size=8", { count: 7, size: 8 }],
    ["count=-7&size=0", { count: -7, size: 0 }],
    ["count=1e3&size=07", { count: "1e3", size: "07" }],
    ["count=&size=%207", { count: "", size: " 7" }],
    ["is=true", { is: true }],
    ["is=false", { is: false }],
    ["is=TRUE", { is: "TRUE" }],
    ["is=1", { is: "1" }],
    ["name=7&other=7", { name: "7", other: "7" }],
    ["name=true&toString=true&__proto__=7", { name: "true", toString: "true" }],
    ["count=1&count=x&is=true", { count: [1, "x"], is: true }],
    ["count=9007199254740992&size=12345678901234567", { count: 9_007_199_254_740_992, size: "12345678901234567" }],
  ])("%s is read as the declared types", (query, read) => {
    expect(fromStrings(shape, new URLSearchParams(query))).toMatchObject(read);
  });
});
