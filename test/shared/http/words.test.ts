import { describe, expect, test } from "vitest";
import * as z from "zod";

import { functionsRoute } from "../../../functions/code/handler.ts";
import { routes } from "../../../functions/routes.ts";
import { InvalidInput, type ValidationError } from "../../../shared/core/errors.ts";
import { line } from "../../../shared/core/text.ts";
import { parseInput } from "../../../shared/http/input.ts";
import { inWords } from "../../../shared/http/validation-messages.ts";

/** Words of schemas and of regular expressions. No message for people may have them. */
const jargon =
  /\/\^|\\[dpsux]|\bexpected\b|\breceived\b|\binvalid (?:input|string|option|type)\b|Too (?:small|big)|[<>]=|\|/i;

/** Wrong values: values of each type, values that are too long or too small, and texts that match no pattern. */
const wrong: unknown[] = [
  null,
  true,
  7,
  -1,
  1.5,
  1e15,
  "",
  " ",
  "x".repeat(20_000),
  "§ no pattern takes this ☃ \u0000",
  "/^(?:x)$/",
  [],
  [null],
  ["§", 7, {}],
  Array.from({ length: 500 }, () => "x"),
  {},
  { unknown: 1 },
];

/** For each place in the schema of an input, a function that puts a value there. */
function placesIn(schema: z.core.$ZodType): ((value: unknown) => unknown)[] {
  const { def } = schema._zod;
  const here = (value: unknown): unknown => value;
  if ("innerType" in def) return placesIn(def.innerType as z.core.$ZodType);
  if ("options" in def) return [here, ...(def.options as z.core.$ZodType[]).flatMap(placesIn)];
  if ("element" in def)
    return [here, ...placesIn(def.element as z.core.$ZodType).map((put) => (value: unknown) => [put(value)])];
  if (!("shape" in def)) return [here];
  return [
    here,
    ...Object.entries(def.shape as Record<string, z.core.$ZodType>).flatMap(([name, member]) =>
      placesIn(member).map((put) => (value: unknown) => ({ [name]: put(value) })),
    ),
  ];
}

const parts = ["params", "query", "body"] as const;

function mistakesIn(route: (typeof routes)[number], part: (typeof parts)[number], value: unknown): ValidationError[] {
  try {
    parseInput(route, { params: {}, query: {}, body: {}, [part]: value });
    return [];
  } catch (error) {
    if (error instanceof InvalidInput) return error.errors;
    throw error;
  }
}

const all = [...routes, functionsRoute];

test.each(all.map((route) => [route.name, route] as const))("%s explains faults in words for people", (_, route) => {
  for (const part of parts) {
    for (const put of placesIn(route[part])) {
      for (const value of wrong) {
        for (const { msg, type } of mistakesIn(route, part, put(value))) {
          expect(msg, type).not.toMatch(jargon);
          expect(msg).toMatch(/^[A-Z"_.].{8,}[^.]$/);
          expect(msg).not.toMatch(/in the form that is documented|not allowed here/);
        }
      }
    }
  }
});

const first = (schema: z.ZodType, value: unknown): string | undefined =>
  schema.safeParse(value, { error: inWords }).error?.issues[0]?.message;

describe("a schema without a message of its own", () => {
  test.each<[z.ZodType, unknown, string]>([
    [z.string(), 7, "Write a string, not a number"],
    [z.number(), "7", "Write a number, not a string"],
    [z.string(), null, "Write a string, not null"],
    [z.string(), undefined, "Write a string"],
    [z.int(), 1.5, "Write a whole number"],
    [z.boolean(), "yes", "Write true or false, not a string"],
    [z.array(z.string()), "a", "Write a list, not a string"],
    [z.object({}), [], "Write an object, not a list"],
    [z.record(z.string(), z.unknown()), [], "Write an object, not a list"],
    [z.enum(["none", "reject"]), "all", "Write one of none, reject"],
    [z.literal("2.0"), "1", "Write 2.0"],
    [z.string().min(1), "", "Write at least 1 character"],
    [z.string().max(2_000), "x".repeat(2_001), "Write at most 2,000 characters"],
    [z.array(z.int()).min(2), [], "Write at least 2 items"],
    [z.number().min(1), 0, "Write a number of at least 1"],
    [z.number().lt(5), 5, "Write a number below 5"],
    [z.email(), "ada", "Write an e-mail address such as ada@example.com"],
    [z.iso.datetime(), "today", "Write a time of RFC 3339 such as 2030-01-31T12:00:00Z"],
    [z.union([z.string(), z.array(z.string())]), 7, "Write a string or a list"],
    [z.union([z.string().min(3), z.array(z.string()).min(1)]), 7, "Write a string or a list"],
    [z.union([line({ most: 3, description: "" }), z.array(z.string())]), "abcd", "Write at most 3 characters"],
    [z.strictObject({}), { a: 1, b: 2 }, "Not known here: a, b"],
    [z.number().multipleOf(5), 3, "Write a multiple of 5"],
  ])("%#", (schema, value, words) => {
    expect(first(schema, value)).toBe(words);
  });
});
