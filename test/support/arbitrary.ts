import fc from "fast-check";

import { publishedDocument, type JsonSchema } from "./contract.ts";

/** The part of JSON Schema that the document uses. */
export type Schema = JsonSchema & {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  propertyNames?: Schema;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  multipleOf?: number;
  pattern?: string;
  format?: string;
};

export type Making = {
  /** Existing ids. Some of them are used for members that are UUIDs. */
  ids?: readonly string[];
  /**
   * Whether objects have every optional member, and arrays have at least one item. A value is then null only if nothing
   * else is allowed.
   */
  full?: boolean;
};

/** Follows a reference to its schema. Returns any other schema as it is. */
export function resolved(schema: Schema): Schema {
  const name = schema.$ref?.split("/").at(-1);
  if (name === undefined) return schema;
  const { $ref: _, ...beside } = schema;
  return resolved({ ...publishedDocument().components.schemas[name], ...beside });
}

/** Values that fit a schema of the document. Throws if this file does not know the type or the format of the schema. */
export function arbitraryOf(given: Schema, making: Making = {}): fc.Arbitrary<unknown> {
  const schema = resolved(given);
  if ("const" in schema) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const options = optionsOf(schema);
  if (options) {
    const wanted = options.filter((option) => !making.full || resolved(option).type !== "null");
    return fc.oneof(...(wanted.length > 0 ? wanted : options).map((option) => arbitraryOf(option, making)));
  }
  const make = makers[schema.type === undefined ? "anything" : String(schema.type)];
  if (!make) throw new Error(`test/support/arbitrary.ts does not know ${JSON.stringify(schema)}`);
  return make(schema, making);
}

/** The alternatives of a schema. Undefined if the schema has none. */
export function optionsOf({ type, anyOf, oneOf, ...rest }: Schema): Schema[] | undefined {
  if (Array.isArray(type)) return type.map((one) => ({ ...rest, type: one }));
  return anyOf ?? oneOf;
}

type Maker = (schema: Schema, making: Making) => fc.Arbitrary<unknown>;

const makers: Record<string, Maker> = {
  anything: () => json,
  null: () => fc.constant(null),
  boolean: () => fc.boolean(),
  integer: ({ minimum = -1_000_000, maximum = Math.max(minimum, 0) + 1_000_000 }) =>
    fc.integer({ min: minimum, max: Math.min(maximum, 2 ** 31 - 1) }),
  // Makes no -0, because JSON.stringify writes it as 0.
  number: ({ minimum = -1_000_000, maximum = 1_000_000 }) =>
    fc.double({ min: minimum, max: maximum, noNaN: true }).map((value) => (value === 0 ? 0 : value)),
  string: (schema, making) => text(schema, making),
  array: ({ items = {}, minItems = 0, maxItems = 10 }, making) =>
    fc.array(arbitraryOf(items, making), {
      minLength: making.full ? Math.max(1, minItems) : minItems,
      maxLength: Math.min(maxItems, Math.max(minItems, 3)),
    }),
  object: ({ properties, required = [], additionalProperties, propertyNames }, making) => {
    const open = typeof additionalProperties === "object" ? additionalProperties : {};
    if (!properties) return fc.dictionary(keyOf(propertyNames, making), arbitraryOf(open, making), { maxKeys: 3 });
    const members = Object.entries(properties).map(([name, member]) => [name, arbitraryOf(member, making)] as const);
    return fc.record(Object.fromEntries(members), {
      requiredKeys: making.full ? Object.keys(properties) : required,
      noNullPrototype: true,
    });
  },
};

/** Names that no generated object has, because they reach an object's prototype. */
const forbidden = new Set(["__proto__", "constructor", "prototype"]);
const keyOf = (names: Schema | undefined, making: Making): fc.Arbitrary<string> =>
  text(names ?? { type: "string" }, making).filter((key) => !forbidden.has(key));

/** Any JSON that a program can also write. A program cannot write inexact integers. */
export const json: fc.Arbitrary<unknown> = fc
  .jsonValue({ maxDepth: 2 })
  .map((value) => JSON.parse(JSON.stringify(value, (_, member: unknown) => exact(member))) as unknown)
  .filter((value) => !/"(?:__proto__|constructor|prototype)":/.test(JSON.stringify(value)));

const exact = (value: unknown): unknown =>
  typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER ? 1.5 : value;

const instant = fc
  .date({ min: new Date("0001-01-02T00:00:00Z"), max: new Date("9999-12-30T00:00:00Z"), noInvalidDate: true })
  .chain((at) => fc.constantFrom(at.toISOString(), at.toISOString().replace("Z", "+02:00").replace(/\.\d+/, "")));
const label = fc.stringMatching(/^[a-z][a-z0-9]{0,9}$/);

const byFormat: Record<string, (making: Making) => fc.Arbitrary<string>> = {
  uuid: ({ ids = [] }) => (ids.length === 0 ? fc.uuid() : fc.oneof(fc.constantFrom(...ids), fc.uuid())),
  "date-time": () => instant,
  date: () => instant.map((at) => at.slice(0, 10)),
  email: () => fc.tuple(label, label).map(([local, domain]) => `${local}@${domain}.example`),
  uri: () => fc.tuple(label, label).map(([domain, path]) => `https://${domain}.example/${path}`),
};

function text(schema: Schema, making: Making): fc.Arbitrary<string> {
  const { format, minLength = 0, maxLength = 1_000 } = schema;
  if (format !== undefined) {
    const make = byFormat[format];
    if (!make) throw new Error(`test/support/arbitrary.ts does not know the format ${format}`);
    return make(making);
  }
  const patterns = [schema, ...(schema.allOf ?? [])].flatMap(({ pattern }) => pattern ?? []);
  const longest = Math.min(maxLength, Math.max(minLength, 30));
  const free = fc.string({ unit: "grapheme", minLength, maxLength: longest });
  const [first] = patterns;
  const some = fc.oneof(first === undefined ? free : matching(first, free), fc.constant("x".repeat(maxLength)));
  const tests = patterns.map((pattern) => new RegExp(pattern, "u"));
  const fits = (value: string) => {
    const { length } = Array.from(value);
    // The product removes the space around a text before it measures the text.
    return (
      Array.from(value.trim()).length >= minLength && length <= maxLength && tests.every((test) => test.test(value))
    );
  };
  return patiently(some, fits, JSON.stringify(schema));
}

/** Strings that match a pattern, if fast-check can make them. Otherwise the strings of `otherwise`. */
function matching(pattern: string, otherwise: fc.Arbitrary<string>): fc.Arbitrary<string> {
  try {
    return fc.stringMatching(new RegExp(pattern, "u"));
  } catch {
    return otherwise;
  }
}

/** A filter that throws with `what` in its message if it refuses more than 5,000 values in a row. */
export function patiently<T>(some: fc.Arbitrary<T>, fits: (value: T) => boolean, what: string): fc.Arbitrary<T> {
  let refused = 0;
  return some.filter((value) => {
    refused = fits(value) ? 0 : refused + 1;
    if (refused > 5_000) throw new Error(`test/support/arbitrary.ts finds no value for ${what}`);
    return refused === 0;
  });
}
