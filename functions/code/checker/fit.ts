import * as z from "zod";

import { argumentsIn, parts, type CodeFunction } from "../catalogue/code-function.ts";
import type { Budget } from "./made-shapes.ts";
import { memberShape, typesIn, typesOf, type Schema, type Shape, type Type } from "./shape.ts";

/** Where a value does not fit, what it is, and what would fit. */
export type Misfit = { path: (string | number)[]; is: Type; wanted: Type[]; shape: Shape };

type Parameters = { properties: Record<string, Schema | boolean>; definitions: Record<string, Schema> };
const known = new WeakMap<CodeFunction, Parameters>();

function parametersOf(fn: CodeFunction): Parameters {
  const found = known.get(fn);
  if (found) return found;
  const all = z.object(Object.assign({}, ...parts.map((part) => argumentsIn(fn.route, part))));
  const { properties = {}, $defs = {} } = all.toJSONSchema({ io: "input", unrepresentable: "any" });
  const parameters = { properties, definitions: $defs };
  known.set(fn, parameters);
  return parameters;
}

/** Why an argument of this shape is none that the function takes, whatever the run brings; undefined where it may be. */
export function misfitOf(fn: CodeFunction, name: string, shape: Shape, budget: Budget): Misfit | undefined {
  const { properties, definitions } = parametersOf(fn);
  const find = (shape: Shape, schema: Schema | boolean | undefined, path: (string | number)[]): Misfit | undefined => {
    budget.left -= 1;
    if (typeof schema !== "object" || budget.left < 0) return undefined;
    const inner = schema.$ref === undefined ? schema : definitions[schema.$ref.replace("#/$defs/", "")];
    const wanted = inner && typesIn(inner, definitions);
    const types = typesOf(shape);
    if (!inner || !wanted || !types) return undefined;
    if ([...types].every((type) => !wanted.has(type)) && !mayBothBeNull(shape, inner)) {
      const [is = "null"] = types;
      return { path, is, wanted: [...wanted], shape };
    }
    for (const [key, member] of shape.members ?? []) {
      const misfit = find(member, inner.properties?.[key], [...path, key]);
      if (misfit) return misfit;
    }
    const items = Array.isArray(inner.items) ? undefined : inner.items;
    for (const [index, item] of (shape.items ?? (shape.item ? [shape.item] : [])).entries()) {
      const misfit = find(item, items, [...path, index]);
      if (misfit) return misfit;
    }
    return undefined;
  };
  return find(shape, properties[name], [name]);
}

const isNullable = (schema: Schema | undefined): boolean => {
  const choices = schema?.anyOf ?? schema?.oneOf ?? [];
  return schema?.type === "null" || choices.some((choice) => typeof choice === "object" && choice.type === "null");
};
/** A result that may be null fits where null does. */
const mayBothBeNull = ({ schema }: Shape, wanted: Schema): boolean => isNullable(schema) && isNullable(wanted);

/** What is most likely meant where a value does not fit, as a sentence to follow another; `of` is how the program calls it. */
export function mendingOf({ is, wanted, shape }: Misfit, of: string): string {
  if (!wanted.includes("string")) return "";
  if (is === "number" || is === "boolean") return ` Write f"{${of}}".`;
  const member = is === "dict" ? memberShape(shape, "id") : undefined;
  const isText = member && "shape" in member && typesOf(member.shape)?.has("string");
  return isText ? ` Did you mean ${of}.id?` : "";
}
