import * as z from "zod";

import { catalogue } from "../../functions/code/catalogue.ts";
import { parametersOf } from "../../functions/code/catalogue/signature.ts";
import { type Builtin, formOf } from "../../functions/code/interpreter/builtin.ts";
import { builtinMethods, builtins } from "../../functions/code/interpreter/builtins.ts";
import type { BuiltinEntry, Catalogue, Shape } from "../docs/playground/value-shapes.ts";

type Schema = z.core.JSONSchema.BaseSchema;

/** Assigns a number to each distinct shape of a result. 0 is a shape without members. */
class Shapes {
  readonly all: (Shape | null)[] = [null];
  readonly #known = new Map<string, number>();

  /**
   * The number of a schema's shape. If the schema has alternatives, it is the number of the first shape with members or
   * items.
   */
  of(schema: Schema | boolean | undefined, definitions: Record<string, Schema>): number {
    if (typeof schema !== "object") return 0;
    if (schema.$ref !== undefined) return this.of(definitions[schema.$ref.replace("#/$defs/", "")], definitions);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return choices.map((choice) => this.of(choice, definitions)).find((shape) => shape !== 0) ?? 0;
    const { properties, items } = schema;
    if (schema.type === "array" && typeof items === "object" && !Array.isArray(items)) {
      return this.#numberOf({ items: this.of(items, definitions) });
    }
    if (schema.type !== "object" || !properties) return 0;
    const members = Object.entries(properties).map(([name, member]) => [name, this.of(member, definitions)]);
    return this.#numberOf({ members: Object.fromEntries(members) });
  }

  #numberOf(shape: Shape): number {
    const key = JSON.stringify(shape);
    const known = this.#known.get(key) ?? this.all.push(shape) - 1;
    this.#known.set(key, known);
    return known;
  }
}

function builtinEntry(builtin: Builtin): BuiltinEntry {
  const [receiver] = builtin.isMethod ? (builtin.parameters[0]?.types ?? []) : [];
  const of = receiver === "list" || receiver === "dict" || receiver === "string" ? receiver : null;
  return { name: builtin.name, form: formOf(builtin), of };
}

/** The catalogue for the playground's completion: functions, parameters, builtins, and shapes of results. */
export function playgroundFunctions(): Catalogue {
  const shapes = new Shapes();
  const functions = [...catalogue.values()].map((fn) => {
    const output: Schema = z.toJSONSchema(fn.route.output, { io: "output", unrepresentable: "any" });
    return {
      name: fn.route.name,
      summary: fn.route.summary,
      parameters: parametersOf(fn).map(({ name, type, required, description }) => ({
        name,
        type,
        required,
        description,
      })),
      answer: shapes.of(output, output.$defs ?? {}),
    };
  });
  const all = [...builtins.values(), ...builtinMethods.values()];
  return { functions, builtins: all.map(builtinEntry), shapes: shapes.all };
}
