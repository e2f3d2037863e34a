import * as z from "zod";

import type { RawInput } from "../../../shared/http/input.ts";
import type { Route } from "../../../shared/http/route.ts";
import type { Schema } from "../interpreter/types.ts";
import { isDict, unknownValue } from "../interpreter/values.ts";

type Part = "params" | "query" | "body";
const parts: readonly Part[] = ["params", "query", "body"];

/** A route as a function of code mode. `argumentParts` names the part of the request to which each argument belongs. */
export type CodeFunction = {
  route: Route;
  argumentParts: ReadonlyMap<string, Part>;
  /** Whether the function reads or changes the session of the calling program. */
  usesSession: boolean;
};
export type Catalogue = ReadonlyMap<string, CodeFunction>;

/** Builds the catalogue from routes, by name. Throws when two arguments of one function have the same name. */
export function catalogueOf(list: readonly Route[]): Catalogue {
  return new Map(
    list.map((route) => {
      const entries = parts.flatMap((part) =>
        Object.keys(argumentSchemas(route, part)).map((name) => [name, part] as const),
      );
      const argumentParts = new Map(entries);
      if (argumentParts.size < entries.length) throw new Error(`${route.name} has two arguments of one name`);
      return [route.name, { route, argumentParts, usesSession: route.name.startsWith("auth.session.") }];
    }),
  );
}

/** The arguments of one part of a request: the part's members, or a single `payload` that holds the body. */
function argumentSchemas(route: Route, part: Part): Record<string, z.ZodType> {
  const { shape } = route[part];
  if (part !== "body" || route.codeMode.arguments === "flat") return shape;
  const account_id = route.params.shape["account_id"] ?? z.never();
  return {
    payload: z.strictObject({ account_id, ...shape }).meta({ description: "The body, with the account's id." }),
  };
}

const inputs = new WeakMap<Route, Schema>();
const outputs = new WeakMap<Route, Schema>();

/**
 * The JSON schema of a function's arguments: first the arguments in the path, then in the query, then in the body. The
 * arguments of one part keep the order of the part's schema.
 */
export function inputSchemaOf({ route }: CodeFunction): Schema {
  const cached = inputs.get(route);
  if (cached) return cached;
  const all = z.object(Object.assign({}, ...parts.map((part) => argumentSchemas(route, part))));
  const schema = all.toJSONSchema({ io: "input", unrepresentable: "any" });
  inputs.set(route, schema);
  return schema;
}

/** The JSON schema of a function's answer. */
export function outputSchemaOf({ route }: CodeFunction): Schema {
  const cached = outputs.get(route);
  if (cached) return cached;
  const schema = z.toJSONSchema(route.output, { io: "output", unrepresentable: "any" });
  outputs.set(route, schema);
  return schema;
}

/** Sorts arguments into path, query and body. Values under unknown names are left out. */
export function rawInput({ argumentParts, route }: CodeFunction, values: ReadonlyMap<string, unknown>): RawInput {
  const raw = { params: {}, query: {}, body: {} } satisfies RawInput as Record<Part, Record<string, unknown>>;
  for (const [name, part] of argumentParts) {
    if (values.has(name)) raw[part][name] = values.get(name);
  }
  if (route.codeMode.arguments === "payload") {
    const { payload } = raw.body;
    const { account_id: _, ...body } = payload !== unknownValue && isDict(payload) ? payload : {};
    raw.body = body;
  }
  return raw;
}

/**
 * The number of units in a score of 1. If the page size of a list is more than 25, the list's score is the page size /
 * 25, which can be a fraction. In units, this score is the page size. Scores are added up in units, because sums of
 * whole numbers are exact.
 */
export const scoreUnit = 25;

const providers = new Set(["registrar", "dns", "payments", "mail"]);

/** The page size of a list if a call names none. */
const defaultPageSize = 25;
/** The largest page size of a list. The checker assumes this size if the page size is known only during the run. */
export const largestPage = 100;

/**
 * The page size of a call. `value` is the argument `page_size`; an invalid value counts as 25. Undefined if the
 * function takes no `page_size`.
 */
export function pageSizeOf({ route }: CodeFunction, value: unknown): number | undefined {
  const schema = Object.hasOwn(route.query.shape, "page_size") ? route.query.shape["page_size"] : undefined;
  if (!schema) return undefined;
  const parsed = schema.safeParse(value);
  return typeof parsed.data === "number" ? parsed.data : defaultPageSize;
}

/** Whether a function calls an outside provider or is in the class `outbound` of rate limits. */
export const callsOutside = ({ route: { limit, lambda } }: CodeFunction): boolean =>
  limit === "outbound" || lambda.uses.some((name) => providers.has(name));

/**
 * The score of a call, in units of 1/25. The score is the largest of these numbers:
 * - 1
 * - 5, if the function calls an outside provider or is in the class `outbound` of rate limits
 * - the page size / 25, if the function takes a page size
 */
export function unitsOf(fn: CodeFunction, pageSize: number | undefined): number {
  return Math.max(callsOutside(fn) ? 5 * scoreUnit : scoreUnit, pageSize ?? 0);
}
