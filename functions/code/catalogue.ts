import * as z from "zod";

import type { RawInput } from "../../shared/input.ts";
import type { Route } from "../../shared/route.ts";
import { routes } from "../routes.ts";
import { typeText } from "./type-text.ts";

type Part = "params" | "query" | "body";
const parts: readonly Part[] = ["params", "query", "body"];

/** A route as a function: its arguments are the members of path, query and body, by name. */
export type CodeFunction = { route: Route; places: ReadonlyMap<string, Part> };
export type Catalogue = ReadonlyMap<string, CodeFunction>;

/** One argument of a function, as a caller needs to know it. */
export type Parameter = { name: string; type: string; required: boolean; description: string; default?: unknown };

/** The functions that routes offer, by name. Throws when a name would mean two arguments of one function. */
export function catalogueOf(list: readonly Route[]): Catalogue {
  return new Map(
    list.map((route) => {
      const names = parts.flatMap((part) => Object.keys(argumentsIn(route, part)).map((name) => [name, part] as const));
      const places = new Map(names);
      if (places.size < names.length) throw new Error(`${route.name} has two arguments of one name`);
      return [route.name, { route, places }];
    }),
  );
}

/** What code mode offers: every route but those that take no credential. */
export const catalogue: Catalogue = catalogueOf(routes.filter((route) => !route.public));

/** The arguments that make up one part of a request: its members, or the one `payload` that holds the body's. */
function argumentsIn(route: Route, part: Part): Record<string, z.ZodType> {
  const { shape } = route[part];
  if (part !== "body" || route.codeArguments === "flat") return shape;
  const account_id = route.params.shape["account_id"] ?? z.never();
  return {
    payload: z.strictObject({ account_id, ...shape }).meta({ description: "The body, with the account's id." }),
  };
}

/** Sorts arguments into the parts of the request they belong to; names that are no argument are left out. */
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

export const isDict = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The parameters of a function: path, query, body, each in the order of its schema. */
export function parametersOf({ route }: CodeFunction): Parameter[] {
  const all = z.object(Object.assign({}, ...parts.map((part) => argumentsIn(route, part))));
  const { properties = {}, required, $defs } = all.toJSONSchema({ io: "input", unrepresentable: "any" });
  return Object.entries(properties).map(([name, schema]) => {
    const { description = "", ...rest }: z.core.JSONSchema.BaseSchema = typeof schema === "boolean" ? {} : schema;
    const parameter = { name, type: typeText(schema, $defs), required: required?.includes(name) ?? false, description };
    return "default" in rest ? Object.assign(parameter, { default: rest.default }) : parameter;
  });
}

/** `workspaces.list(account_id, page?, page_size?)`; `typed`: `…, page_size?: integer (1 to 100) = 25)`. */
export function signatureOf(fn: CodeFunction, typed = false): string {
  const shown = parametersOf(fn).map((parameter) => {
    const name = `${parameter.name}${parameter.required ? "" : "?"}`;
    const preset = "default" in parameter ? ` = ${JSON.stringify(parameter.default)}` : "";
    return typed ? `${name}: ${parameter.type}${preset}` : name;
  });
  return `${fn.route.name}(${shown.join(", ")})`;
}
