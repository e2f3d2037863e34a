import * as z from "zod";

import { catalogue } from "../../functions/code/catalogue.ts";
import { parametersOf } from "../../functions/code/catalogue/signature.ts";
import { type Builtin, formOf } from "../../functions/code/interpreter/builtin.ts";
import { builtinMethods, builtins } from "../../functions/code/interpreter/builtins.ts";
import type { BuiltinEntry, Catalogue, Shape } from "../docs/playground/value-shapes.ts";

type Schema = z.core.JSONSchema.BaseSchema;

/**
 * Gives a number to each distinct shape of a result. The number 0 stands for a value without known members or items.
 */
class Shapes {
  readonly all: (Shape | null)[] = [null];
  readonly #numbers = new Map<string, number>();

  /**
   * The number of a schema's shape. For a schema with alternatives, the number of the first alternative with members or
   * items.
   */
  numberOf(schema: Schema | boolean | undefined, definitions: Record<string, Schema>): number {
    if (typeof schema !== "object") return 0;
    if (schema.$ref !== undefined) return this.numberOf(definitions[schema.$ref.replace("#/$defs/", "")], definitions);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return choices.map((choice) => this.numberOf(choice, definitions)).find((shape) => shape !== 0) ?? 0;
    const { properties, items } = schema;
    if (schema.type === "array" && typeof items === "object" && !Array.isArray(items)) {
      return this.#numberOfShape({ items: this.numberOf(items, definitions) });
    }
    if (schema.type !== "object" || !properties) return 0;
    const members = Object.entries(properties).map(([name, member]) => [name, this.numberOf(member, definitions)]);
    return this.#numberOfShape({ members: Object.fromEntries(members) });
  }

  #numberOfShape(shape: Shape): number {
    const key = JSON.stringify(shape);
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.all.length;
    this.all.push(shape);
    this.#numbers.set(key, number);
    return number;
  }
}

function builtinEntry(builtin: Builtin): BuiltinEntry {
  // The first parameter of a method is the value before the dot.
  const receiver = builtin.isMethod ? builtin.parameters[0]?.types?.[0] : undefined;
  const owner = receiver === "list" || receiver === "dict" || receiver === "string" ? receiver : null;
  return { name: builtin.name, form: formOf(builtin), of: owner };
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
      answer: shapes.numberOf(output, output.$defs ?? {}),
    };
  });
  const all = [...builtins.values(), ...builtinMethods.values()];
  return { functions, builtins: all.map(builtinEntry), shapes: shapes.all };
}
