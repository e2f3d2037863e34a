import type { Item, Key, Write } from "../../shared/table/writes.ts";
import { compareText, copyOf, copyOfAttributes, requireKey, requireStorable, validationError } from "./memory-items.ts";

type Condition = NonNullable<Write["if"]>;
export type Attributes = Exclude<Condition, string | { absentOr: object }>;
type Update = Extract<Write, { update: Key }>;

/** The key of a write. */
export function keyOf(write: Write): Key {
  const { PK, SK } = placeOf(write);
  return { PK, SK };
}

function placeOf(write: Write): Key {
  if ("put" in write) return write.put;
  if ("update" in write) return write.update;
  return "delete" in write ? write.delete : write.check;
}

/** Throws for a transaction that DynamoDB refuses for any content of the table. */
export function requireTransaction(writes: readonly Write[]): void {
  if (writes.length > 100) throw validationError("Member must have length less than or equal to 100");
  const names = writes.map((write) => JSON.stringify(keyOf(write)));
  if (new Set(names).size < names.length) {
    throw validationError("Transaction request cannot include multiple operations on one item");
  }
  for (const write of writes) requireWrite(write);
}

/** Throws for a write that DynamoDB refuses for any content of the table. */
export function requireWrite(write: Write): void {
  requireKey(keyOf(write));
  const attributes = attributesOf(write.if ?? "absent");
  if (attributes && Object.keys(attributes).length === 0) throw validationError("The expression can not be empty");
  if ("check" in write && write.if === undefined) throw validationError("ConditionExpression must not be null");
  if ("update" in write) requireUpdate(write);
}

function requireUpdate({ set = {}, add = {}, remove = [] }: Update): void {
  const names = [...Object.keys(copyOfAttributes(set)), ...Object.keys(add), ...remove];
  if (names.length === 0) throw validationError("Invalid UpdateExpression: The expression can not be empty");
  if (new Set(names).size < names.length) throw validationError("Two document paths overlap with each other");
  if (names.includes("PK") || names.includes("SK")) throw validationError("This attribute is part of the key");
}

function attributesOf(condition: Condition): Attributes | undefined {
  if (typeof condition === "string") return undefined;
  return isAbsentOr(condition) ? condition.absentOr : condition;
}

const isAbsentOr = (condition: Exclude<Condition, string>): condition is { absentOr: Attributes } =>
  "absentOr" in condition;

/** Whether a condition holds for the stored item. */
export function holds(condition: Condition | undefined, stored: Item | undefined): boolean {
  if (condition === undefined) return true;
  if (condition === "absent") return stored === undefined;
  if (condition === "present") return stored !== undefined;
  if (isAbsentOr(condition)) return stored === undefined || holds(condition.absentOr, stored);
  return Object.entries(condition).every(([name, expected]) => meets(stored?.[name], expected));
}

function meets(value: unknown, expected: Attributes[string]): boolean {
  if (typeof expected !== "object") return value === expected;
  const { above, atMost } = expected;
  const isAbove = above === undefined || (orderOf(value, above) ?? 0) > 0;
  return isAbove && (atMost === undefined || (orderOf(value, atMost) ?? 1) <= 0);
}

/** Compares two values. Values of two types have no order. */
function orderOf(value: unknown, bound: number | string): number | undefined {
  if (typeof value === "number" && typeof bound === "number") return value - bound;
  if (typeof value === "string" && typeof bound === "string") return compareText(value, bound);
  return undefined;
}

/** The item after a write; undefined if there is none. Throws for an item that DynamoDB would not store. */
export function resultOf(write: Write, stored: Item | undefined): Item | undefined {
  if ("check" in write) return stored;
  if ("delete" in write) return undefined;
  const item = "put" in write ? copyOfAttributes(write.put) : updated(write, stored);
  requireStorable(item);
  return item;
}

function updated({ update, set = {}, add = {}, remove = [] }: Update, stored: Item | undefined): Item {
  const item: Item = { ...(stored ?? { PK: update.PK, SK: update.SK }), ...copyOfAttributes(set) };
  for (const [name, by] of Object.entries(add)) {
    const before = name in item ? item[name] : 0;
    if (typeof before !== "number")
      throw validationError("An operand in the update expression has an incorrect data type");
    item[name] = copyOf(before + by);
  }
  for (const name of remove) delete item[name];
  return item;
}

/** The attributes that an update set or added to, with their new values. With `returns`, all attributes of the item. */
export function updatedAttributes(write: Write, item: Item | undefined): Record<string, unknown> {
  if (!("update" in write) || !item) return {};
  if (write.returns) return copyOfAttributes(item);
  const names = [...Object.keys(copyOfAttributes(write.set ?? {})), ...Object.keys(write.add ?? {})];
  return copyOfAttributes(Object.fromEntries(names.map((name) => [name, item[name]])));
}
