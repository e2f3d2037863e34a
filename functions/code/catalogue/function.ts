import * as z from "zod";

import type { RawInput } from "../../../shared/http/input.ts";
import type { Route } from "../../../shared/http/route.ts";
import { isDict } from "../interpreter/values.ts";

type Part = "params" | "query" | "body";
export const parts: readonly Part[] = ["params", "query", "body"];

/** A route as a function. Its arguments are the members of path, query and body, by name. */
export type CodeFunction = {
  route: Route;
  places: ReadonlyMap<string, Part>;
  /** Whether the function acts on the session of the calling program. */
  ofSession: boolean;
};
export type Catalogue = ReadonlyMap<string, CodeFunction>;

/** Builds the catalogue from routes, by name. Throws when two arguments of one function have the same name. */
export function catalogueOf(list: readonly Route[]): Catalogue {
  return new Map(
    list.map((route) => {
      const names = parts.flatMap((part) => Object.keys(argumentsIn(route, part)).map((name) => [name, part] as const));
      const places = new Map(names);
      if (places.size < names.length) throw new Error(`${route.name} has two arguments of one name`);
      return [route.name, { route, places, ofSession: route.name.startsWith("auth.session.") }];
    }),
  );
}

/** The arguments of one part of a request: the part's members, or a single `payload` that holds the body. */
export function argumentsIn(route: Route, part: Part): Record<string, z.ZodType> {
  const { shape } = route[part];
  if (part !== "body" || route.codeArguments === "flat") return shape;
  const account_id = route.params.shape["account_id"] ?? z.never();
  return {
    payload: z.strictObject({ account_id, ...shape }).meta({ description: "The body, with the account's id." }),
  };
}

/** Sorts arguments into path, query and body. Values under unknown names are left out. */
export function rawInput({ places, route }: CodeFunction, values: ReadonlyMap<string, unknown>): RawInput {
  const raw = { params: {}, query: {}, body: {} } satisfies RawInput as Record<Part, Record<string, unknown>>;
  for (const [name, part] of places) {
    if (values.has(name)) raw[part][name] = values.get(name);
  }
  if (route.codeArguments === "payload") {
    const { payload } = raw.body;
    const { account_id: _, ...body } = isDict(payload) ? payload : {};
    raw.body = body;
  }
  return raw;
}

export const scoreLimit = 1000;

/** Scores are added as multiples of 1/25, so that sums stay exact. */
export const scoreUnit = 25;

const providers = new Set(["registrar", "dns", "payments", "mail"]);

/** The part of an argument that is known before the program runs. */
type Given = { value?: unknown; unknown: readonly unknown[] };

/**
 * The page size of a call to a list; undefined for other functions. An unknown page size counts as 100, the largest.
 */
export function pageSizeOf({ route }: CodeFunction, given: Given | undefined): number | undefined {
  const schema = Object.hasOwn(route.query.shape, "page_size") ? route.query.shape["page_size"] : undefined;
  if (!schema) return undefined;
  if (given && given.unknown.length > 0) return 100;
  const parsed = schema.safeParse(given?.value);
  return typeof parsed?.data === "number" ? parsed.data : scoreUnit;
}

/**
 * The score of a call in units of 1/25. A call counts 1, or 5 if it reaches an outside provider, or its page size / 25,
 * whichever is largest.
 */
export function unitsOf(fn: CodeFunction, pageSize: number | undefined): number {
  const isOutside = fn.route.limit === "outbound" || fn.route.uses.some((port) => providers.has(port));
  return Math.max(isOutside ? 5 * scoreUnit : scoreUnit, pageSize ?? 0);
}
