import * as z from "zod";

import type { Route } from "../../../shared/http/route.ts";
import type { Schema } from "../interpreter/types.ts";
import { type CodeFunction, inputSchemaOf } from "./function.ts";

type Options = {
  /**
   * Whether the description of a string shows the example of its schema. If false, or if there is no example, the
   * description shows the format. Without a format, it shows the limits of the length.
   */
  showsExamples?: boolean;
};

/** Describes a JSON schema in words: `string (1 to 255 characters)`, `list of integer`, `"a" or "b"`. */
export function describeType(
  schema: Schema | boolean,
  definitions: Record<string, Schema> = {},
  options: Options = {},
): string {
  if (typeof schema === "boolean") return "anything";
  const describe = (part: Schema | boolean): string => describeType(part, definitions, options);
  const referred = schema.$ref === undefined ? undefined : definitions[schema.$ref.replace("#/$defs/", "")];
  if (referred) return describe(referred);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return [...new Set(choices.map(describe))].join(" or ");
  switch (schema.type) {
    case "array": {
      const { items, minItems, maxItems } = schema;
      const item = typeof items === "object" && !Array.isArray(items) ? describe(items) : "anything";
      return `list of ${item}${range(minItems, maxItems, " items")}`;
    }
    case "object":
      return schema.properties ? `dict {${members(schema, describe)}}` : "dict";
    case "string": {
      const [example] = options.showsExamples ? (schema.examples ?? []) : [];
      if (typeof example === "string") return `string (such as ${JSON.stringify(example)})`;
      return `string${schema.format === undefined ? range(schema.minLength, schema.maxLength, " characters") : ` (${schema.format})`}`;
    }
    case "integer":
    case "number":
      return schema.type + range(schema.minimum, schema.maximum);
    case undefined:
      return "anything";
    default:
      return [schema.type].flat().join(" or ");
  }
}

const members = (schema: Schema, describe: (part: Schema | boolean) => string): string =>
  Object.entries(schema.properties ?? {})
    .map(([name, member]) => `${name}${schema.required?.includes(name) ? "" : "?"}: ${describe(member)}`)
    .join(", ");

/** Drops a bound at the limit of safe integers. zod adds such bounds to every integer. */
const ownBound = (value: number | undefined): number | undefined =>
  value === undefined || Math.abs(value) >= Number.MAX_SAFE_INTEGER ? undefined : value;

function range(from: number | undefined, to: number | undefined, unit = ""): string {
  const [least, most] = [ownBound(from), ownBound(to)];
  if (least === undefined && most === undefined) return "";
  if (most === undefined) return ` (at least ${least}${unit})`;
  return least === undefined ? ` (at most ${most}${unit})` : ` (${least} to ${most}${unit})`;
}

/** A parameter of a function, as callers see it. */
export const Parameter = z.object({
  name: z.string().meta({ description: "The parameter's name." }),
  type: z.string().meta({ description: "The parameter's type, in words." }),
  required: z.boolean().meta({ description: "Whether the argument is required." }),
  description: z.string().meta({ description: "The meaning of the argument." }),
  default: z.unknown().optional().meta({ description: "The value if the argument is left out." }),
});
export type Parameter = z.output<typeof Parameter>;

const cache = new WeakMap<Route, Parameter[]>();

/**
 * The parameters of a function: first the parameters in the path, then in the query, then in the body. The parameters
 * of one part keep the order of the part's schema.
 */
export function parametersOf(fn: CodeFunction): Parameter[] {
  const parameters = cache.get(fn.route) ?? findParameters(fn);
  cache.set(fn.route, parameters);
  return parameters;
}

function findParameters(fn: CodeFunction): Parameter[] {
  const { properties = {}, required, $defs } = inputSchemaOf(fn);
  return Object.entries(properties).map(([name, schema]) => {
    const own: Schema = typeof schema === "boolean" ? {} : schema;
    const referred = own.$ref === undefined ? undefined : $defs?.[own.$ref.replace("#/$defs/", "")];
    const description = own.description ?? referred?.description ?? "";
    const type = describeType(schema, $defs, { showsExamples: true });
    const parameter = { name, type, required: required?.includes(name) ?? false, description };
    return "default" in own ? Object.assign(parameter, { default: own.default }) : parameter;
  });
}

/**
 * Writes a function with its parameters: `workspaces.list(account_id, page?, page_size?)`. With `typed`, each parameter
 * has its type and default: `page_size?: integer (1 to 100) = 25`.
 */
export function signatureOf(fn: CodeFunction, typed = false): string {
  const parameters = parametersOf(fn).map((parameter) => {
    const name = `${parameter.name}${parameter.required ? "" : "?"}`;
    const preset = "default" in parameter ? ` = ${JSON.stringify(parameter.default)}` : "";
    return typed ? `${name}: ${parameter.type}${preset}` : name;
  });
  return `${fn.route.name}(${parameters.join(", ")})`;
}
