import { resolve, type Schema } from "./operations.ts";

/** The description of one member of an object, or of one parameter. */
export type Field = {
  name: string;
  /** The type in words, such as `string`, `uuid`, `list of objects`, `string or null`. */
  type: string;
  required: boolean;
  /** Limits of the value in words, such as `1 to 255 characters`. */
  limits: readonly string[];
  default?: string;
  /** The values that are allowed, as JSON. */
  choices: readonly string[];
  examples: readonly string[];
  /** Markdown. */
  description: string;
  /** The members of the value, if it has members: one group for each kind of object. */
  members: readonly FieldMembers[];
};

/** The members of an object. `name` is the name of its schema in the document. */
export type FieldMembers = { name?: string; title?: string; fields: readonly Field[] };

/** Leaves out the bounds of safe integers, because they are no limits for a reader. */
const statedLimit = (value: number | undefined): number | undefined =>
  value === undefined || Math.abs(value) >= Number.MAX_SAFE_INTEGER ? undefined : value;

/**
 * A range in words. Empty without a limit. `unit` is a plural with a space before it, such as ` items`, or empty for a
 * number. With a unit, a range that begins at 0 is written as `at most`.
 */
function range(from: number | undefined, to: number | undefined, unit: string): string[] {
  const [least, most] = [statedLimit(from), statedLimit(to)];
  const counted = (count: number): string => `${count}${count === 1 ? unit.replace(/s$/, "") : unit}`;
  if (most === undefined) return least === undefined ? [] : [`at least ${counted(least)}`];
  if (least === most) return [`exactly ${counted(most)}`];
  const isOpenBelow = least === undefined || (least === 0 && unit !== "");
  return [isOpenBelow ? `at most ${counted(most)}` : `${least} to ${counted(most)}`];
}

const limitsOf = (schema: Schema): string[] => [
  ...range(schema.minimum, schema.maximum, ""),
  ...range(schema.minLength, schema.maxLength, " characters"),
  ...range(schema.minItems, schema.maxItems, " items"),
  ...(schema.pattern === undefined ? [] : [`matches \`${schema.pattern}\``]),
];

const jsonText = (value: unknown): string => JSON.stringify(value);

const formatNames: Record<string, string> = { "date-time": "time (RFC 3339)", uri: "URL", email: "e-mail address" };

/** The alternatives of a schema, with references resolved. If it has no alternatives, only the schema itself. */
function alternativesOf(schema: Schema): { schema: Schema; name?: string }[] {
  const found = resolve(schema);
  const choices = found.schema.anyOf ?? found.schema.oneOf;
  return choices ? choices.flatMap(alternativesOf) : [found];
}

function typeOfOne(schema: Schema): string {
  if (schema.const !== undefined) return jsonText(schema.const);
  if (schema.type === "array") return schema.items ? `list of ${plural(typeText(schema.items))}` : "list";
  if (schema.type === "object" || schema.properties) return "object";
  if (schema.type === "string") return formatNames[schema.format ?? ""] ?? schema.format ?? "string";
  return [schema.type ?? (schema.enum ? "string" : "any value")].flat().join(" or ");
}

const plural = (type: string): string =>
  / or /.test(type) || type.startsWith('"') || type === "any value"
    ? type
    : type.replace(/^(string|object|integer|number|boolean|uuid|URL|list)\b/, "$1s").replace("address", "addresses");

/** The type of a schema in words. */
export const typeText = (schema: Schema): string =>
  [...new Set(alternativesOf(schema).map((one) => typeOfOne(one.schema)))].join(" or ");

/**
 * The groups of members of a schema: the members of the schema itself, of its items, of its values, or of each
 * alternative.
 */
export function membersOf(schema: Schema): FieldMembers[] {
  return alternativesOf(schema).flatMap(({ schema: one, name }): FieldMembers[] => {
    if (one.items) return membersOf(one.items);
    const { properties = {}, required = [], additionalProperties } = one;
    const fields = Object.entries(properties).map(([member, of]) => fieldOf(member, of, required.includes(member)));
    if (fields.length > 0) return [{ ...(name !== undefined && { name }), ...titleOf(one), fields }];
    return typeof additionalProperties === "object" ? membersOf(additionalProperties) : [];
  });
}

const titleOf = ({ description }: Schema): { title?: string } =>
  description === undefined ? {} : { title: description };

/**
 * Describes a member or a parameter. The property `members` is computed when it is read, because a schema can contain
 * itself.
 */
export function fieldOf(name: string, schema: Schema, required: boolean, description = ""): Field {
  const alternatives = alternativesOf(schema);
  const resolved = resolve(schema).schema;
  const listed = alternatives.flatMap(({ schema: one }) => {
    const choices = one.enum ?? one.items?.enum ?? (one.items && resolve(one.items).schema.enum);
    return choices ?? [];
  });
  return {
    name,
    type: typeText(schema),
    required,
    limits: [...new Set(alternatives.flatMap(({ schema: one }) => limitsOf(one)))],
    ...(resolved.default !== undefined && { default: jsonText(resolved.default) }),
    choices: listed.map(jsonText),
    examples: [...(resolved.examples ?? []), ...(resolved.example === undefined ? [] : [resolved.example])]
      .slice(0, 2)
      .map(jsonText),
    description: resolved.description ?? description,
    get members() {
      return membersOf(schema);
    },
  };
}
