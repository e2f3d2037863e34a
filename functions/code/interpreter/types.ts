import type * as z from "zod";

import { isDict, type typeOf } from "./values.ts";

export type Schema = z.core.JSONSchema.BaseSchema;
/** The name of a type, as messages show it. */
export type TypeName = ReturnType<typeof typeOf>;

/** The static type of a value: all that is known before the run. An empty object means that nothing is known. */
export type StaticType = {
  /** The JSON schema of a value from an answer, and the definitions to which it refers. */
  schema?: Schema;
  definitions?: Record<string, Schema>;
  /** For a page: the most items that it can hold. */
  pageSize?: number;
  /** For a list: the most items that it can hold. */
  most?: number;
  /** Whether the list has exactly `most` items. Only for a list that the program makes. */
  isExact?: true;
  /** The type of a value without a schema, such as a value that the program makes. */
  type?: TypeName;
  /**
   * Whether the value is None. Its `type` then stays unset. With a `type`, each use of the value would be reported as a
   * mistake, although a condition may test for None before the use.
   */
  none?: true;
  /** For a dict that the program makes: its members, if all keys are known. */
  members?: ReadonlyMap<string, StaticType>;
  /** For a list that the program makes: the common type of its items. */
  item?: StaticType;
  /** For a list that a builtin makes, such as `[key, value]`: the type of each item. */
  parts?: readonly StaticType[];
};

const choices = new WeakMap<Schema, Schema[]>();

/**
 * The alternatives of a schema, without null. Empty if the schema allows any value. A schema that allows only null is
 * its own alternative.
 */
function choicesOf(schema: Schema | boolean | undefined, definitions: Record<string, Schema>): Schema[] {
  if (typeof schema !== "object") return [];
  const cached = choices.get(schema) ?? findChoices(schema, definitions);
  choices.set(schema, cached);
  return cached;
}

/** A schema that nests deeper than 8 references and choices counts as any value, because it may contain itself. */
function findChoices(schema: Schema | boolean | undefined, definitions: Record<string, Schema>, depth = 0): Schema[] {
  if (typeof schema !== "object" || depth > 8) return [];
  if (schema.$ref !== undefined)
    return findChoices(definitions[schema.$ref.replace("#/$defs/", "")], definitions, depth + 1);
  const choices = schema.anyOf ?? schema.oneOf;
  if (!choices) return schema.type === undefined ? [] : [schema];
  const all = choices.map((choice) => findChoices(choice, definitions, depth + 1));
  return all.some((alternatives) => alternatives.length === 0) ? [] : all.flat().filter(({ type }) => type !== "null");
}

const typeNames = new Map<unknown, TypeName>([
  ["array", "list"],
  ["object", "dict"],
  ["integer", "number"],
]);

/** The types that a schema allows; undefined if the schema allows any type. */
export function schemaTypeNames(
  schema: Schema | boolean,
  definitions: Record<string, Schema>,
): ReadonlySet<TypeName> | undefined {
  const choices = choicesOf(schema, definitions);
  if (choices.length === 0) return undefined;
  return new Set(choices.flatMap(({ type }) => [type].flat().map((one) => typeNames.get(one) ?? (one as TypeName))));
}

/** The possible types of a value, without null; undefined if the value could have any type. */
export function typeNamesOf({ type, schema, definitions = {} }: StaticType): ReadonlySet<TypeName> | undefined {
  if (type !== undefined) return new Set([type]);
  return schema === undefined ? undefined : schemaTypeNames(schema, definitions);
}

/**
 * The possible types of an operand: only null for an operand that is None. Undefined if the operand could have any
 * type.
 */
export const operandTypes = (type: StaticType): ReadonlySet<TypeName> | undefined =>
  type.none ? none : typeNamesOf(type);
const none: ReadonlySet<TypeName> = new Set<TypeName>(["null"]);

/** Returns the operand's first possible type if the operand can have none of `types`. Otherwise returns undefined. */
export function wrongType(operand: StaticType, types: readonly TypeName[]): TypeName | undefined {
  const possible = operandTypes(operand);
  return possible && types.every((type) => !possible.has(type)) ? ([...possible][0] ?? "null") : undefined;
}

/**
 * The type of the accessed member or item, or the reason why the access is invalid:
 * - `members`: the value has no such member; returns the members that exist
 * - `typeName`: the type of a value that has no members or items
 * - `ofItems`: for a list, returns the members of its items
 * - `index`: the message about a wrong index or key
 */
export type AccessResult = { type: StaticType } | InvalidAccess;
export type InvalidAccess =
  | { members: () => string[] }
  | { typeName: string; ofItems?: () => string[] }
  | { index: string };

/** The type of the member `name` of a value. A dict that allows additional members may have any member. */
export function memberType(of: StaticType, name: string): AccessResult {
  const { definitions = {}, type, members } = of;
  if (type !== undefined && type !== "dict") return { typeName: type, ofItems: () => membersOfItems(of) };
  if (members) {
    const member = members.get(name);
    return member ? { type: member } : { members: () => [...members.keys()] };
  }
  const choices = choicesOf(of.schema, definitions);
  const dicts = choices.filter(({ type }) => type === "object");
  if (dicts.length === 0) {
    return choices[0] ? { typeName: schemaTypeName(choices[0]), ofItems: () => membersOfItems(of) } : { type: {} };
  }
  const found = dicts.map((dict) => memberSchema(dict, name)).filter((schema) => schema !== undefined);
  if (found.length === 0)
    return { members: () => [...new Set(dicts.flatMap((dict) => Object.keys(dict.properties ?? {})))] };
  const [only] = found;
  if (typeof only !== "object" || found.length > 1) return { type: {} };
  const most = name === "items" ? of.pageSize : undefined;
  return { type: { schema: only, definitions, ...(most === undefined ? {} : { most }) } };
}

/** The schema of a dict's member: true if the member may have any value, undefined if the dict has no such member. */
function memberSchema({ properties, additionalProperties }: Schema, name: string): Schema | boolean | undefined {
  if (properties && Object.hasOwn(properties, name)) return properties[name];
  const isClosed = additionalProperties === false || (properties && additionalProperties === undefined);
  return isClosed ? undefined : true;
}

/** The names of the members that the items of a list have; empty if the names are not known. */
function membersOfItems(of: StaticType): string[] {
  const item = itemType(of);
  const member = "type" in item ? memberType(item.type, "") : item;
  return "members" in member ? member.members() : [];
}

/** The type of the item at an index of a list or text. Without `index`: the common type of the items. */
export function itemType(of: StaticType, index?: number): AccessResult {
  const { definitions = {}, type, item, parts } = of;
  if (typeNamesOf(of)?.has("string")) return { type: plainType("string") };
  if (type === "list") {
    const part = index === undefined ? undefined : parts?.at(index);
    return { type: part ?? item ?? {} };
  }
  if (type !== undefined) return { typeName: type };
  const choices = choicesOf(of.schema, definitions);
  const list = choices.find(({ type }) => type === "array");
  if (!list) return choices[0] ? { typeName: schemaTypeName(choices[0]) } : { type: {} };
  const { items } = list;
  return { type: typeof items === "object" && !Array.isArray(items) ? { schema: items, definitions } : {} };
}

const schemaTypeName = ({ type }: Schema): string => {
  const [name = "value"] = [type].flat();
  return typeNames.get(name) ?? name;
};

/** The type of the elements over which a comprehension or builtin goes: the items of a list, or the keys of a dict. */
export function elementType(of: StaticType): AccessResult {
  const types = typeNamesOf(of);
  if (types?.has("dict") && !types.has("list") && !isPage(of)) return { type: plainType("string") };
  return types?.has("string") && !types.has("list") ? { typeName: "string" } : itemType(of);
}

/** The type of the elements, as `elementType` finds it. Empty if the value has no elements. */
export function elementOf(of: StaticType | undefined): StaticType {
  const element = elementType(of ?? {});
  return "type" in element ? element.type : {};
}

/** The values that a schema lists by `enum` or `const`, without null. Undefined if the schema allows other values. */
export function listedValues({ schema, definitions = {} }: StaticType): readonly unknown[] | undefined {
  const choices = choicesOf(schema, definitions);
  const values = choices.flatMap((choice) => choice.enum ?? (choice.const === undefined ? [] : [choice.const]));
  const isListed = choices.length > 0 && choices.every((choice) => choice.enum ?? choice.const !== undefined);
  return isListed ? values.filter((value) => value !== null) : undefined;
}

/**
 * Tells whether a value with a schema may be a page: a dict with a member `items`. A comprehension refuses a page, and
 * the error names the page's `items`.
 */
export const isPage = (type: StaticType): boolean =>
  choicesOf(type.schema, type.definitions ?? {}).some(({ properties }) => properties?.["items"] !== undefined);

const plainTypes = new Map<TypeName, StaticType>([
  ...(["boolean", "number", "string"] as const).map((type): [TypeName, StaticType] => [type, { type }]),
  ["null", { none: true }],
]);

/** The static type of a value whose members and items are unknown. Empty for a list and for a dict. */
export const plainType = (type: TypeName): StaticType => plainTypes.get(type) ?? {};

/** The type of a dict that the program writes out. Its members are known if all keys are known. */
export function dictType(members: readonly (readonly [string | undefined, StaticType])[]): StaticType {
  const types = new Map<string, StaticType>();
  for (const [key, type] of members) if (key !== undefined) types.set(key, type);
  return types.size === members.length ? { type: "dict", members: types } : { type: "dict" };
}

/** The type of a list that the program writes out. */
export function listType(items: readonly StaticType[]): StaticType {
  const [first = {}, ...others] = items;
  return { type: "list", most: items.length, isExact: true, item: others.reduce(commonType, first) };
}

/** The type of a list that a builtin makes, such as `[key, value]`. Each item has its own type. */
export const pairType = (parts: readonly StaticType[]): StaticType => ({ ...listType(parts), parts });

/**
 * The type of a variable of the session. A list or page has a known number of items. The type of any other value is
 * unknown.
 */
export function keptType(value: unknown): StaticType {
  if (Array.isArray(value)) return { type: "list", most: value.length };
  if (!isDict(value) || !Array.isArray(value["items"])) return {};
  const schema: Schema = { type: "object", properties: { items: { type: "array" } }, additionalProperties: true };
  return { schema, pageSize: value["items"].length };
}

/**
 * The type of a slice of a value. A bound is null if it is known only during the run, and undefined if it is missing.
 */
export function sliceType(of: StaticType, from: number | null = 0, to?: number | null): StaticType {
  if (typeNamesOf(of)?.has("string")) return plainType("string");
  const { most: all, isExact, parts: _, ...rest } = of;
  if (from === null || to === null) return all === undefined ? rest : { ...rest, most: all };
  // In a list of unknown length, only two indexes from the start bound the number of items.
  if (all === undefined)
    return to === undefined || from < 0 || to < 0 ? rest : { ...rest, most: Math.max(0, to - from) };
  const offset = (index: number): number => Math.min(all, Math.max(0, index < 0 ? all + index : index));
  const most = Math.max(0, offset(to ?? all) - offset(from));
  if (isExact) return { ...rest, most, isExact };
  // The list may have fewer than `all` items. Then `xs[-3:5]` can have more items than the same slice of a list with
  // `all` items.
  return { ...rest, most: from < 0 && to !== undefined && to >= 0 ? Math.min(all, -from, to) : most };
}

/** The type that two types have in common. If two dicts or lists differ, their members or items are unknown. */
export function commonType(a: StaticType, b: StaticType): StaticType {
  if (a === b) return a;
  const { type, schema, definitions = {} } = a;
  const most = a.most === undefined || b.most === undefined ? {} : { most: Math.max(a.most, b.most) };
  if (schema && schema === b.schema) {
    const sizes = [a.pageSize, b.pageSize].filter((size) => size !== undefined);
    return { schema, definitions, ...most, ...(sizes.length === 2 ? { pageSize: Math.max(...sizes) } : {}) };
  }
  return type !== undefined && type === b.type ? { type, ...most } : {};
}
