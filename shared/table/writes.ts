import type { TransactWriteCommandInput } from "@aws-sdk/lib-dynamodb";
import * as z from "zod";

export type Key = { PK: string; SK: string };
export type Item = Key & Record<string, unknown>;

/** A key as one text, for maps. */
export const keyText = ({ PK, SK }: Key): string => `${PK}\n${SK}`;

/** Any item, unparsed. */
export const anyItem = z.custom<Item>();

type Scalar = string | number | boolean;

/** The condition on an attribute: equal to a value, or within bounds. An absent attribute fulfils no condition. */
type Expected = Scalar | { atMost?: number | string; above?: number | string };
type Attributes = Record<string, Expected>;

/**
 * `absent` and `present` are conditions on the whole item. `Attributes` has conditions on attributes, and all of them
 * must be fulfilled. `absentOr` is fulfilled if the item is absent, or if all conditions in `absentOr` are fulfilled.
 */
type Condition = "absent" | "present" | Attributes | { absentOr: Attributes };

/** Makes the error for a failed condition from the strings and numbers of the stored item. */
type OrElse = (found: Record<string, string>) => Error;

/**
 * One write of a transaction, as data. `toTransactItem` turns it into DynamoDB expressions. An update outside of a
 * transaction (`Table.attempt`) with `returns` returns the whole item.
 */
export type Write = { if?: Condition; orElse?: OrElse } & (
  | { put: Item }
  | { update: Key; set?: Record<string, unknown>; add?: Record<string, number>; remove?: string[]; returns?: "item" }
  | { delete: Key }
  | { check: Key }
);

/** The key of the item that a write changes or checks. */
export function itemKey(write: Write): Key {
  if ("put" in write) return { PK: write.put.PK, SK: write.put.SK };
  if ("update" in write) return write.update;
  return "delete" in write ? write.delete : write.check;
}

type TransactItem = NonNullable<TransactWriteCommandInput["TransactItems"]>[number];
type Names = Record<string, string>;
type Values = Record<string, unknown>;

function conditionExpression(condition: Condition, names: Names, values: Values): string {
  if (condition === "absent") return "attribute_not_exists(PK)";
  if (condition === "present") return "attribute_exists(PK)";
  if (isAbsentOr(condition)) {
    return `attribute_not_exists(PK) OR (${conditionExpression(condition.absentOr, names, values)})`;
  }
  return Object.entries(condition)
    .flatMap(([attribute, expected]) => comparisons(expected).map((comparison) => [attribute, ...comparison] as const))
    .map(([attribute, operator, value], index) => {
      names[`#c${index}`] = attribute;
      values[`:c${index}`] = value;
      return `#c${index} ${operator} :c${index}`;
    })
    .join(" AND ");
}

const isAbsentOr = (condition: Attributes | { absentOr: Attributes }): condition is { absentOr: Attributes } =>
  "absentOr" in condition;

function comparisons(expected: Expected): [operator: string, value: Scalar][] {
  if (typeof expected !== "object") return [["=", expected]];
  const { above, atMost } = expected;
  return [
    ...(above === undefined ? [] : [[">", above] as [string, Scalar]]),
    ...(atMost === undefined ? [] : [["<=", atMost] as [string, Scalar]]),
  ];
}

const clause = (keyword: string, parts: string[]) => (parts.length > 0 ? `${keyword} ${parts.join(", ")}` : "");

/**
 * The expression of an update. Adds its placeholders to `names` and `values`: the attribute `#s0` and the value `:s0`
 * for the first attribute to set, `#a0` and `:a0` for the first to add to, and `#r0` for the first to remove.
 */
function updateExpression(write: Extract<Write, { update: Key }>, names: Names, values: Values): string {
  const name = (attribute: string, index: string) => {
    names[`#${index}`] = attribute;
    return `#${index}`;
  };
  const assign =
    (kind: string, separator: string) =>
    ([attribute, value]: [string, unknown], index: number) => {
      values[`:${kind}${index}`] = value;
      return `${name(attribute, `${kind}${index}`)}${separator}:${kind}${index}`;
    };
  return [
    clause(
      "SET",
      Object.entries(write.set ?? {})
        .filter(([, value]) => value !== undefined)
        .map(assign("s", " = ")),
    ),
    clause("ADD", Object.entries(write.add ?? {}).map(assign("a", " "))),
    clause(
      "REMOVE",
      (write.remove ?? []).map((attribute, index) => name(attribute, `r${index}`)),
    ),
  ]
    .filter((text) => text !== "")
    .join(" ");
}

const unlessEmpty = <K extends string, V extends object>(key: K, value: V): { [P in K]?: V } =>
  (Object.keys(value).length > 0 ? { [key]: value } : {}) as { [P in K]?: V };

/** The write as an action of TransactWriteItems on the named table. */
export function toTransactItem(table: string, write: Write): TransactItem {
  const names: Names = {};
  const values: Values = {};
  const condition = write.if === undefined ? {} : { ConditionExpression: conditionExpression(write.if, names, values) };
  const update = "update" in write ? { UpdateExpression: updateExpression(write, names, values) } : undefined;
  const rest = {
    TableName: table,
    ...condition,
    ...unlessEmpty("ExpressionAttributeNames", names),
    ...unlessEmpty("ExpressionAttributeValues", values),
    ...(write.orElse === undefined ? {} : { ReturnValuesOnConditionCheckFailure: "ALL_OLD" as const }),
  };
  if ("put" in write) return { Put: { Item: write.put, ...rest } };
  if ("delete" in write) return { Delete: { Key: write.delete, ...rest } };
  if ("update" in write) return { Update: { Key: write.update, ...update, ...rest } as TransactItem["Update"] };
  return { ConditionCheck: { Key: write.check, ...rest } as TransactItem["ConditionCheck"] };
}
