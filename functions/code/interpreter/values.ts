import type { Comparison, Position, Unary } from "../language/ast.ts";
import { LanguageError } from "../language/errors.ts";
import { clip } from "../language/messages.ts";
import { isForbidden } from "../language/names.ts";
import { closestName } from "../language/spelling.ts";
import { type StepBudget, sizeOf, useSteps } from "./budget.ts";
import { charactersOf } from "./texts.ts";

/**
 * The placeholder for a value that is known only during a run. The placeholder is a symbol, because the schemas of JSON
 * values reject symbols. So a placeholder is never taken for a valid value.
 */
export const unknownValue = Symbol("unknown");

/** The answers of `isPartlyUnknown`, by value. An answer stays valid, because values never change. */
const partlyUnknown = new WeakMap<object, boolean>();

/** Tells whether a value or a part of it is unknown. */
export function isPartlyUnknown(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === unknownValue;
  const cached = partlyUnknown.get(value);
  if (cached !== undefined) return cached;
  const isUnknown = Object.values(value).some((part) => isPartlyUnknown(part));
  partlyUnknown.set(value, isUnknown);
  return isUnknown;
}

/** The error of an operation on an unknown value. The result of the operation is then unknown too. */
export class UnknownOperand extends Error {}

function requireKnown(...values: unknown[]): void {
  if (values.includes(unknownValue)) throw new UnknownOperand();
}

/** The type of a value. Throws UnknownOperand for `unknownValue`. */
export function typeOf(value: unknown): "null" | "boolean" | "number" | "string" | "list" | "dict" {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "list";
  const type = typeof value;
  requireKnown(value);
  return type === "boolean" || type === "number" || type === "string" ? type : "dict";
}

export const isDict = (value: unknown): value is Record<string, unknown> => typeOf(value) === "dict";

/** Tells whether a value is a page, or a dict of the same form: its member `items` is a list. */
export const isPageValue = (value: unknown): boolean =>
  isDict(value) && Object.hasOwn(value, "items") && Array.isArray(value["items"]);

/** The message for an index or a slice of a page. `of` is the page as the program writes it. */
export const pageHasNoIndex = (of: string): string => `${of} is a page: its items are in ${of}.items.`;

/** Makes a dict without a prototype, so that it holds only the program's own keys. */
export function dictOf(members: Iterable<readonly [string, unknown]>): Record<string, unknown> {
  const dict = Object.create(null) as Record<string, unknown>;
  for (const [key, value] of members) dict[key] = value;
  return dict;
}

/**
 * Tells whether a condition holds for a value. Empty texts, lists and dicts, 0, False and None are false, as in
 * Starlark.
 */
export function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isDict(value) ? sizeOf(value).members > 0 : Boolean(value);
}

/**
 * Compares two values deeply. Dicts are equal in any order of their keys. Values of different types are never equal.
 */
export function areEqual(a: unknown, b: unknown, budget: StepBudget, at: Position): boolean {
  useSteps(budget, typeof a === "string" ? 1 + (a.length >> 6) : 1, at);
  requireKnown(a, b);
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => areEqual(item, b[index], budget, at));
  }
  if (!isDict(a) || !isDict(b)) return a === b;
  const { members } = sizeOf(a);
  if (members !== sizeOf(b).members) return false;
  // `Object.keys` lists all keys before the first comparison, so all of them are charged.
  useSteps(budget, members, at);
  return Object.keys(a).every((key) => Object.hasOwn(b, key) && areEqual(a[key], b[key], budget, at));
}

/** The error for a value of a wrong type. */
export const typeError = (at: Position, message: string): LanguageError =>
  new LanguageError(at, message, { code: "type_error" });

/** The error for a value that an operation does not take, though its type is right. */
export const valueError = (at: Position, message: string): LanguageError =>
  new LanguageError(at, message, { code: "value_error" });

/** The message for ordering values of two types. */
export function cannotOrder(a: string, b: string): string {
  const hint = [a, b].toSorted().join() === "number,string" ? " `float(x)` is the number in a text." : "";
  return `Only two numbers or two texts can be put in order, not a ${a} and a ${b}.${hint}`;
}

/**
 * Tells whether number `a` is less than number `b`, or text `a` comes before text `b` by code points. Throws
 * `type_error` for other types.
 */
export function isLess(a: unknown, b: unknown, budget: StepBudget, at: Position): boolean {
  if (typeof a === "number" && typeof b === "number") return a < b;
  if (typeof a === "string" && typeof b === "string") {
    useSteps(budget, (a.length + b.length) >> 6, at);
    return Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;
  }
  throw typeError(at, cannotOrder(typeOf(a), typeOf(b)));
}

/** The message for `in` with a container and an item of these types. */
export const cannotSearch = (container: string, item: string): string =>
  `\`in\` looks for an item in a list, a key in a dict or a text in a text, not for ${container === "string" ? `a ${item} in a text` : `a value in a ${container}`}.`;

/** Evaluates `item in container`: whether `item` is an item of a list, a key of a dict or a part of a text. */
function contains(container: unknown, item: unknown, budget: StepBudget, at: Position): boolean {
  if (typeof container === "string" && typeof item === "string") {
    // The steps grow with the longest time that a search for a text can take.
    useSteps(budget, Math.ceil((container.length * item.length) / 4096), at);
    return container.includes(item);
  }
  if (isDict(container)) return typeof item === "string" && Object.hasOwn(container, item);
  if (!Array.isArray(container)) throw typeError(at, cannotSearch(typeOf(container), typeOf(item)));
  return container.some((one) => areEqual(one, item, budget, at));
}

/** Formats a known value for an f-string. Lists and dicts become JSON. */
export function formatValue(value: unknown, budget: StepBudget, at: Position): string {
  if (typeof value === "object" && value !== null) {
    useSteps(budget, sizeOf(value).bytes >> 4, at);
    return JSON.stringify(value);
  }
  return formatConstant((value ?? null) as Constant);
}

const noSuchMember = (at: Position, message: string): LanguageError =>
  new LanguageError(at, message, { code: "no_such_member" });

/** Whether a name such as `mailbox_id` may mean the member `id`. */
const isOwnId = (name: string): boolean => name.endsWith("_id") && name !== "account_id";

/** A hint that suggests the member closest to `name`, and lists the existing members. */
export function didYouMean(name: string, names: readonly string[]): string {
  const meant = closestName(name, names) ?? (isOwnId(name) && names.includes("id") ? "id" : undefined);
  const suggestion = meant === undefined ? "" : ` Did you mean ${meant}?`;
  if (names.length === 0) return `${suggestion} It has no members at all.`;
  const shown = names.slice(0, 40).map((one) => clip(one));
  return `${suggestion} It has: ${shown.join(", ")}.`;
}

/** Reads a member of a dict. `of` returns the dict as the program writes it, for messages. Throws `no_such_member`. */
export function memberOf(value: unknown, name: string, of: () => string, at: Position): unknown {
  if (isForbidden(name)) throw noSuchMember(at, `The name ${name} is not allowed.`);
  if (isDict(value)) {
    if (Object.hasOwn(value, name)) return value[name];
    const hint = didYouMean(name, Object.keys(value));
    // A misspelt name is in no dict, so a test for the name would not help.
    const test = hint.includes("Did you mean")
      ? ""
      : ` If the member may be missing, test \`"${clip(name)}" in ${of()}\` first.`;
    throw noSuchMember(at, `${of()} has no member ${clip(name)}.${hint}${test}`);
  }
  if (Array.isArray(value)) {
    const item: unknown = value[0];
    throw noSuchMember(at, listHasNoMember(of(), name, isDict(item) ? Object.keys(item) : []));
  }
  throw noSuchMember(at, `${of()} is a ${typeOf(value)}, which has no member ${clip(name)}.`);
}

/**
 * The message for a member that the program reads from a list. It shows how to read the member of an item: the member
 * that was probably meant, or else the first member. `members` are the members of an item; empty if they are not known.
 */
export function listHasNoMember(of: string, name: string, members: readonly string[]): string {
  // For a list literal such as `[a, b]`, `of` is the text "the list". The advice cannot repeat the literal, so it names
  // the list `xs`.
  if (of === "the list") return listHasNoMember("xs", name, members).replace("xs is a list", "This value is a list");
  const [first] = members;
  if (/^(?:length|size)$/i.test(name) && !members.includes(name)) return `${of} is a list: write len(${of}).`;
  const member = members.includes(name) ? name : (closestName(name, members) ?? first);
  if (member === undefined)
    return `${of} is a list, which has no member ${clip(name)}: write ${of}[0] for its first item.`;
  const shown = clip(member);
  const hint = member === name ? "" : ` An item has no member ${clip(name)}.${didYouMean(name, members)}`;
  return `${of} is a list: write ${of}[0].${shown}, or [x.${shown} for x in ${of}].${hint}`;
}

/**
 * Reads an item of a list, a character of a text, or a member of a dict. A negative index counts from the end. Throws
 * `no_such_member`, and `too_much_work` for a text if too few steps are left.
 */
export function itemOf(value: unknown, index: unknown, of: () => string, budget: StepBudget, at: Position): unknown {
  if (typeof index === "string") return memberOf(value, index, of, at);
  if (typeof index !== "number" || !Number.isInteger(index)) {
    throw noSuchMember(at, cannotIndex(typeof index === "number" ? String(index) : `a ${typeOf(index)}`));
  }
  const items: unknown = typeof value === "string" ? charactersOf(value, budget, at) : value;
  if (!Array.isArray(items)) {
    const message = `${of()} is a ${typeOf(value)}, which has no item ${index}.`;
    throw noSuchMember(at, isPageValue(value) ? pageHasNoIndex(of()) : message);
  }
  const offset = index < 0 ? items.length + index : index;
  if (offset >= 0 && offset < items.length) return items[offset];
  throw noSuchMember(at, noItem(of(), items.length, index));
}

/** The message for an index that is neither a whole number nor a key. */
export const cannotIndex = (index: string): string => `An index is a whole number or a key, not ${index}.`;

/** The message for an index outside a list or text. */
const noItem = (of: string, length: number, index: string | number): string =>
  `${of} ${length === 0 ? "is empty" : `has items 0 to ${length - 1}`}: there is no item ${index}.`;

export type Constant = string | number | boolean | null;

/** Formats a constant as `str` does. Throws UnknownOperand for `unknownValue`. */
export function formatConstant(value: Constant): string {
  if (typeOf(value) === "null") return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return String(value);
}

/** Evaluates `not value` or `-value`. */
export function applyUnary(operator: Unary["operator"], value: unknown, at: Position): unknown {
  if (operator === "not") return !isTrue(value);
  if (typeof value === "number") return 0 - value;
  throw new LanguageError(at, cannotNegate(typeOf(value)), { code: "type_error" });
}

/** The message for `-` before a value of this type. */
export const cannotNegate = (type: string): string => `\`-\` takes a number, not a ${type}.`;

/** Evaluates a comparison of two values. Throws LanguageError, and UnknownOperand for `unknownValue`. */
export function compare(operator: Comparison, a: unknown, b: unknown, budget: StepBudget, at: Position): boolean {
  requireKnown(a, b);
  switch (operator) {
    case "==":
    case "!=":
      return areEqual(a, b, budget, at) === (operator === "==");
    case "<":
      return isLess(a, b, budget, at);
    case ">":
      return isLess(b, a, budget, at);
    case "<=":
      return !isLess(b, a, budget, at);
    case ">=":
      return !isLess(a, b, budget, at);
    default:
      return contains(b, a, budget, at) === (operator === "in");
  }
}

/** The message for a dict key of this type. */
export const cannotUseKey = (type: string): string => `A key of a dict is a text, not a ${type}.`;

/**
 * The reason why a text cannot be added as a key of a dict with these `members`; undefined if the text can be added.
 */
function invalidKey(key: string, members: Pick<ReadonlyMap<string, unknown>, "has">): string | undefined {
  if (members.has(key)) return `The key ${JSON.stringify(clip(key))} is given twice.`;
  return isForbidden(key) ? `The name ${key} is not allowed.` : undefined;
}

/** Returns `key` if it can be added to a dict with these `members`. Throws `type_error` otherwise. */
export function dictKey(key: unknown, members: ReadonlyMap<string, unknown>, at: Position): string {
  const wrong = typeof key === "string" ? invalidKey(key, members) : cannotUseKey(typeOf(key));
  if (wrong === undefined) return key as string;
  throw new LanguageError(at, wrong, { code: "type_error" });
}
