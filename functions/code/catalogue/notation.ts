import type { Schema } from "../interpreter/types.ts";

export type Definitions = Readonly<Record<string, Schema>>;

/** The rules of the notation. `functions.explain` returns them together with the types. */
export const notation =
  "`name?` may be left out; a member without a type is a string; `[x]` is a list of x; `x|null` may be null; `(1..9)` bounds a number, a length or a count; `= x` is a default; other names are in `types`.";

type NotationOptions = {
  definitions?: Definitions;
  /** The definitions of which only the name is written. */
  named?: ReadonlySet<string>;
  /** Whether formats and bounds are written. Only a caller who writes an argument needs them. */
  isExact?: boolean;
};

/**
 * Writes the type of a JSON schema in a short notation: `{id, size: integer, status: 'active'|'paused', tags: [Tag]}`.
 */
export function formatType(schema: Schema | boolean, options: NotationOptions = {}): string {
  if (typeof schema === "boolean") return "any";
  const { definitions = {}, named, isExact = false } = options;
  const name = schema.$ref?.replace("#/$defs/", "");
  if (name !== undefined) return named?.has(name) ? name : formatType(definitions[name] ?? true, options);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return [...new Set(choices.map((choice) => formatType(choice, options)))].join("|");
  const values = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
  if (values) return values.map((value) => (typeof value === "string" ? `'${value}'` : String(value))).join("|");
  switch (schema.type) {
    case "array": {
      const { items = true, minItems, maxItems } = schema;
      return `[${formatType(Array.isArray(items) ? true : items, options)}]${isExact ? range(minItems, maxItems) : ""}`;
    }
    case "object":
      return schema.properties ? `{${formatMembers(schema, options)}}` : "dict";
    case "string":
      return isExact ? (schema.format ?? `string${range(schema.minLength, schema.maxLength)}`) : "string";
    case "integer":
    case "number":
      return `${schema.type}${isExact ? range(schema.minimum, schema.maximum) : ""}`;
    case undefined:
      return "any";
    default:
      return [schema.type].flat().join("|");
  }
}

/** Writes the members of an object, or the arguments of a function: `id: uuid, name, page?: integer(1..) = 1`. */
export const formatMembers = ({ properties = {}, required = [] }: Schema, options: NotationOptions = {}): string =>
  Object.entries(properties)
    .map(([name, member]) => {
      const type = formatType(member, options);
      const preset = typeof member === "object" ? member.default : undefined;
      const parts = [name, required.includes(name) ? "" : "?", type === "string" ? "" : `: ${type}`];
      return `${parts.join("")}${preset === undefined ? "" : ` = ${JSON.stringify(preset)}`}`;
    })
    .join(", ");

function range(from: number | undefined, to: number | undefined): string {
  // zod bounds every integer by the safe integers.
  const [least, most] = [from, to].map((bound) => (Math.abs(bound ?? Infinity) < Number.MAX_SAFE_INTEGER ? bound : ""));
  return least === "" && most === "" ? "" : `(${least}..${most})`;
}
