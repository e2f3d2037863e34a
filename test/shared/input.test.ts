import { describe, expect, test } from "vitest";

import { routes } from "../../functions/routes.ts";
import { InvalidInput, type ValidationError } from "../../shared/errors.ts";
import { parseInput } from "../../shared/input.ts";
import type { Route } from "../../shared/route.ts";

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
