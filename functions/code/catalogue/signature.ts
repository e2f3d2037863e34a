import * as z from "zod";

import type { Route } from "../../../shared/route.ts";
import { argumentsIn, parts, type CodeFunction } from "./code-function.ts";
import { typeText } from "./type-text.ts";

/** One argument of a function, as a caller needs to know it. */
export const Parameter = z.object({
  name: z.string().meta({ description: "The argument's name." }),
  type: z.string().meta({ description: "Its type, in words." }),
  required: z.boolean().meta({ description: "Whether it must be given." }),
  description: z.string().meta({ description: "What it means." }),
  default: z.unknown().optional().meta({ description: "What it is when it is not given." }),
});
export type Parameter = z.output<typeof Parameter>;

const known = new WeakMap<Route, Parameter[]>();

/** The parameters of a function: path, query, body, each in the order of its schema. */
export function parametersOf({ route }: CodeFunction): Parameter[] {
  const parameters = known.get(route) ?? findParameters(route);
  known.set(route, parameters);
  return parameters;
}

function findParameters(route: Route): Parameter[] {
  const all = z.object(Object.assign({}, ...parts.map((part) => argumentsIn(route, part))));
  const { properties = {}, required, $defs } = all.toJSONSchema({ io: "input", unrepresentable: "any" });
  return Object.entries(properties).map(([name, schema]) => {
    const rest: z.core.JSONSchema.BaseSchema = typeof schema === "boolean" ? {} : schema;
    const { description = $defs?.[rest.$ref?.replace("#/$defs/", "") ?? ""]?.description ?? "" } = rest;
    const type = typeText(schema, $defs, { examples: true });
    const parameter = { name, type, required: required?.includes(name) ?? false, description };
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
