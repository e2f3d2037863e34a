import * as z from "zod";

import type { Route } from "../../../shared/http/route.ts";
import type { typeOf } from "../interpreter/values.ts";

export type Schema = z.core.JSONSchema.BaseSchema;
/** The name of a type, as messages show it. */
export type TypeName = ReturnType<typeof typeOf>;

/** The static type of a value: all that is known before the run. A value without a schema could be anything. */
export type StaticType = {
  schema?: Schema;
  definitions?: Record<string, Schema>;
  /** For a page: the most items that it can hold. */
  pageSize?: number;
  /** For a list: the most items that it can hold. */
  most?: number;
  /** The type of a value that the program itself makes. */
  type?: TypeName;
  /** Whether the program itself wrote None. Its `type` stays unset, as `and` may test for it. */
  none?: true;
  /** For a dict that the program makes: its members, if all their names are known. */
  members?: ReadonlyMap<string, StaticType>;
  /** For a list display: the types of its items. */
  items?: readonly StaticType[];
  /** For a list that the program makes: the common type of its items. */
  item?: StaticType;
};

const outputs = new WeakMap<Route, StaticType>();

/** The type of a function's result, from its output schema. */
export function outputOf(route: Route): StaticType {
  const known = outputs.get(route);
  if (known) return known;
  const schema = z.toJSONSchema(route.output, { io: "output", unrepresentable: "any" });
  const shape: StaticType = { schema, definitions: schema.$defs ?? {} };
  outputs.set(route, shape);
  return shape;
}

const choices = new WeakMap<Schema, Schema[]>();

/** The alternatives of a schema without null; empty when one of them allows any value. */
function choicesOf(schema: Schema | boolean | undefined, definitions: Record<string, Schema>): Schema[] {
  if (typeof schema !== "object") return [];
  const known = choices.get(schema) ?? findChoices(schema, definitions);
  choices.set(schema, known);
  return known;
}

function findChoices(schema: Schema | boolean | undefined, definitions: Record<string, Schema>, depth = 0): Schema[] {
  if (typeof schema !== "object" || depth > 8) return [];
  if (schema.$ref !== undefined)
    return findChoices(definitions[schema.$ref.replace("#/$defs/", "")], definitions, depth + 1);
  const choices = schema.anyOf ?? schema.oneOf;
  if (!choices) return schema.type === "null" ? [schema] : schema.type === undefined ? [] : [schema];
  const all = choices.map((choice) => findChoices(choice, definitions, depth + 1));
  return all.some((some) => some.length === 0) ? [] : all.flat().filter(({ type }) => type !== "null");
}

const typeNames = new Map<unknown, TypeName>([
  ["array", "list"],
  ["object", "dict"],
  ["integer", "number"],
]);

/** The types that a schema allows; undefined if it allows any. */
export function typesIn(
  schema: Schema | boolean,
  definitions: Record<string, Schema>,
): ReadonlySet<TypeName> | undefined {
  const choices = choicesOf(schema, definitions);
  if (choices.length === 0) return undefined;
  return new Set(choices.flatMap(({ type }) => [type].flat().map((one) => typeNames.get(one) ?? (one as TypeName))));
}

/** The possible types of a value without null; undefined if it could be any. */
export function typesOf({ type, schema, definitions = {} }: StaticType): ReadonlySet<TypeName> | undefined {
  if (type !== undefined) return new Set([type]);
  return schema === undefined ? undefined : typesIn(schema, definitions);
}

/**
 * The type reached by an access, or why the access is invalid:
 * - `members`: the names that exist
 * - `type`: the value's type, which has no members or items
 * - `length`: the number of items
 * - `index`: a message about a wrong index or key
 */
export type AccessResult = { shape: StaticType } | InvalidAccess;
export type InvalidAccess = { members: () => string[] } | { type: string } | { length: number } | { index: string };

/** Follows a member by name. A dict that allows additional members may have any. */
export function memberShape(shape: StaticType, name: string): AccessResult {
  const { definitions = {}, type, members } = shape;
  if (type !== undefined && type !== "dict") return { type };
  if (members) {
    const member = members.get(name);
    return member ? { shape: member } : { members: () => [...members.keys()] };
  }
  const choices = choicesOf(shape.schema, definitions);
  const dicts = choices.filter(({ type }) => type === "object");
  if (dicts.length === 0) return choices[0] ? { type: typeName(choices[0]) } : { shape: {} };
  const schemas = dicts.map((dict) => {
    if (dict.properties && Object.hasOwn(dict.properties, name)) return dict.properties[name];
    return dict.additionalProperties === false || (dict.properties && dict.additionalProperties === undefined)
      ? undefined
      : true;
  });
  const found = schemas.filter((schema) => schema !== undefined);
  if (found.length === 0)
    return { members: () => [...new Set(dicts.flatMap((dict) => Object.keys(dict.properties ?? {})))] };
  const [only] = found;
  if (typeof only !== "object" || found.length > 1) return { shape: {} };
  const most = name === "items" ? shape.pageSize : undefined;
  return { shape: { schema: only, definitions, ...(most === undefined ? {} : { most }) } };
}

/** Follows an index into a list. A dict has no indexes. */
export function itemShape(shape: StaticType): AccessResult {
  const { definitions = {}, type, item } = shape;
  if (type !== undefined) return type === "list" ? { shape: item ?? {} } : { type };
  const choices = choicesOf(shape.schema, definitions);
  const list = choices.find(({ type }) => type === "array");
  if (!list) return choices[0] ? { type: typeName(choices[0]) } : { shape: {} };
  const { items } = list;
  return { shape: typeof items === "object" && !Array.isArray(items) ? { schema: items, definitions } : {} };
}

const typeName = ({ type }: Schema): string => {
  const [name = "value"] = [type].flat();
  return typeNames.get(name) ?? name;
};

/** Tells whether this is a page. Comprehensions then iterate over its `items`. */
export const isPage = (shape: StaticType): boolean =>
  choicesOf(shape.schema, shape.definitions ?? {}).some(({ properties }) => properties?.["items"] !== undefined);

/** The remaining work for computing types: a program can nest one value in another any number of times. */
export type Budget = { left: number };

const shapes = new Map<TypeName, StaticType>([
  ...(["boolean", "number", "string"] as const).map((type): [TypeName, StaticType] => [type, { type }]),
  ["null", { none: true }],
]);

/** The static type of a value of which only the type is known. */
export const shapeOfType = (type: TypeName): StaticType => shapes.get(type) ?? {};

/** The type of a dict display. Its members are known if all their names are. */
export function dictShape(members: readonly (readonly [string | undefined, StaticType])[]): StaticType {
  const shapes = new Map<string, StaticType>();
  for (const [key, shape] of members) if (key !== undefined) shapes.set(key, shape);
  return shapes.size === members.length ? { type: "dict", members: shapes } : { type: "dict" };
}

/** The type of a list display. */
export function listShape(items: readonly StaticType[], budget: Budget): StaticType {
  const [first = {}, ...others] = items;
  let item = first;
  for (const other of others) item = commonType(item, other, budget);
  return { type: "list", most: items.length, items, item };
}

/** The type that two types have in common. */
export function commonType(a: StaticType, b: StaticType, budget: Budget): StaticType {
  if (a === b) return a;
  budget.left -= 1;
  if (budget.left < 0) return {};
  const most = a.most === undefined || b.most === undefined ? {} : { most: Math.max(a.most, b.most) };
  const pageSize =
    a.pageSize === undefined || b.pageSize === undefined ? {} : { pageSize: Math.max(a.pageSize, b.pageSize) };
  if (a.schema && a.schema === b.schema) {
    return { schema: a.schema, definitions: a.definitions ?? {}, ...most, ...pageSize };
  }
  const { type } = a;
  if (type === undefined || type !== b.type) return {};
  if (type === "list") return { type, ...most, item: commonType(a.item ?? {}, b.item ?? {}, budget) };
  const members = type === "dict" ? commonMembers(a, b, budget) : undefined;
  return { type, ...(members ? { members } : {}) };
}

/** The common members of two dicts with the same names; undefined if the names differ. */
function commonMembers(
  { members: a }: StaticType,
  { members: b }: StaticType,
  budget: Budget,
): Map<string, StaticType> | undefined {
  if (!a || a.size !== b?.size) return undefined;
  budget.left -= a.size;
  if (budget.left < 0) return undefined;
  const members = new Map<string, StaticType>();
  for (const [name, shape] of a) {
    const other = b.get(name);
    if (!other) return undefined;
    members.set(name, commonType(shape, other, budget));
  }
  return members;
}
