import { describe, expect, test } from "vitest";
import * as z from "zod";

import { routes } from "../../../functions/routes.ts";
import { InvalidInput, type ValidationError } from "../../../shared/core/errors.ts";
import { parseInput } from "../../../shared/http/input.ts";
import type { Route } from "../../../shared/http/route.ts";

const parts = { params: "path", query: "query", body: "body" } as const;

/** Where a route cannot do without a member of its input. */
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

describe("what is required and left out is told as missing, whatever its type", () => {
  test.each(routes.map((route) => [route.name, route] as const))("%s", (_, route) => {
    const missing = mistakesOf(route).filter(({ type }) => type === "missing");
    expect(missing.map(({ loc }) => loc.join(".")).toSorted()).toEqual(required(route).toSorted());
    expect(new Set(missing.map(({ msg }) => msg)).size).toBeLessThanOrEqual(1);
  });
});

describe("a long name of somebody else's making is told by its first hundred characters", () => {
  const told = (shape: object, body: unknown): unknown[] => {
    const route = { method: "POST", access: "write", params: z.object({}), query: z.object({}), body: shape } as Route;
    try {
      parseInput(route, { params: {}, query: {}, body });
    } catch (error) {
      if (error instanceof InvalidInput) return error.errors.map(({ loc }) => loc);
      throw error;
    }
    return [];
  };
  test.each([
    [100, "a".repeat(100)],
    [101, `${"a".repeat(100)}…`],
    [100_000, `${"a".repeat(100)}…`],
  ])("of %i characters", (length, shown) => {
    const name = "a".repeat(length);
    expect(told(z.strictObject({}), { [name]: 1 })).toEqual([["body", shown]]);
    expect(told(z.object({ map: z.record(z.string(), z.int()) }), { map: { [name]: "x" } })).toEqual([
      ["body", "map", shown],
    ]);
  });
});
