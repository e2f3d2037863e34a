import { expect, test } from "vitest";
import * as z from "zod";

import { catalogue } from "../../../functions/code/catalogue.ts";
import { catalogueOf, rawInput } from "../../../functions/code/catalogue/function.ts";
import { parametersOf, signatureOf } from "../../../functions/code/catalogue/signature.ts";
import { routes } from "../../../functions/routes.ts";
import { defineRoute, Empty } from "../../../shared/http/route.ts";

const everyType = z.strictObject({
  text: z.string().max(5),
  kind: z.enum(["a", "b"]).nullable(),
  flag: z.boolean().default(false),
  count: z.int().optional(),
  share: z.number().min(0).max(1),
  at_least: z.int().min(2),
  when: z.iso.datetime(),
  names: z.array(z.string()).min(1).max(50),
  either: z.union([z.string(), z.number()]),
  free: z.record(z.string(), z.unknown()).optional(),
  anything: z.unknown().optional(),
  only: z.literal("x"),
  inner: z.strictObject({ a: z.string(), b: z.int().optional() }).meta({ id: "Inner" }),
  trimmed: z
    .string()
    .trim()
    .transform((text) => text.length),
});

const declare = (more: { params?: z.ZodObject; body?: z.ZodObject }) =>
  defineRoute({
    name: "things.add",
    http: { method: "POST", path: "/v1/public/things" },
    summary: "Add a thing",
    capability: null,
    open: "It is only for this test.",
    access: "write",
    output: Empty,
    run: async () => ({}),
    ...more,
  });

test("every route is a function with the members of its path, query and body as arguments, or with the body as `payload`", () => {
  const ours = ["auth.session.get", "auth.session.end", "auth.session.authenticate"];
  ours.push("functions.list", "functions.search", "functions.explain");
  expect([...catalogue.keys()]).toEqual([...routes.map(({ name }) => name), ...ours]);
  for (const [, fn] of catalogue) {
    const { params, query, body } = fn.route;
    const inBody = fn.route.codeMode.arguments === "payload" ? ["payload"] : Object.keys(body.shape);
    const members = [...Object.keys(params.shape), ...Object.keys(query.shape), ...inBody];
    expect(parametersOf(fn).map(({ name }) => name)).toEqual(members);
  }
});

test("a parameter has its type in words, whether it is required, its default and its meaning", () => {
  const [fn] = catalogueOf([declare({ body: everyType })]).values();
  const shown = fn && parametersOf(fn).map(({ name, type, required }) => `${name}${required ? "" : "?"}: ${type}`);
  expect(shown).toEqual([
    "text: string (at most 5 characters)",
    'kind: "a" or "b" or null',
    "flag?: boolean",
    "count?: integer",
    "share: number (0 to 1)",
    "at_least: integer (at least 2)",
    "when: string (date-time)",
    "names: list of string (1 to 50 items)",
    "either: string or number",
    "free?: dict",
    "anything?: anything",
    'only: "x"',
    "inner: dict {a: string, b?: integer}",
    "trimmed: string",
  ]);
  const list = catalogue.get("workspaces.list");
  expect(list && parametersOf(list)[2]).toEqual({
    name: "page_size",
    type: "integer (1 to 100)",
    required: false,
    description: "The maximum number of items on a page.",
    default: 25,
  });
  expect(list && signatureOf(list)).toBe("workspaces.list(account_id, page?, page_size?)");
});

test("arguments of a call are put into the path, the query and the body of the route", () => {
  const fn = catalogue.get("workspaces.update");
  const values = new Map(Object.entries({ name: "n", account_id: "a", workspace_id: "w", other: 1 }));
  expect(fn && rawInput(fn, values)).toEqual({
    params: { account_id: "a", workspace_id: "w" },
    query: {},
    body: { name: "n" },
  });
});

test("a route with the same name in its path and its body is refused", () => {
  const clash = declare({ params: z.strictObject({ id: z.string() }), body: z.strictObject({ id: z.string() }) });
  expect(() => catalogueOf([clash])).toThrow("things.add has two arguments of one name");
});
