import { LanguageError } from "../language/mistake.ts";
import { isForbidden } from "../language/names.ts";
import { clip } from "../language/sentences.ts";
import type { Operation, Position, Unary } from "../language/syntax.ts";
import { areEqual, contains, isLess, isTrue, typeOf } from "./value.ts";
import type { Work } from "./work.ts";

/** `not value`, or `-value`. */
export function negated(operator: Unary["operator"], value: unknown, at: Position): unknown {
  if (operator === "not") return !isTrue(value);
  if (typeof value === "number") return 0 - value;
  throw new LanguageError(at, noNegative(typeOf(value)), { code: "type_error" });
}

/** What is wrong with the negative of a value of this type. */
export const noNegative = (type: string): string => `\`-\` takes a number, not a ${type}.`;

type Comparison = Exclude<Operation["operator"], "and" | "or" | "+">;

/** What a comparison of two values says. */
export function compare(operator: Comparison, a: unknown, b: unknown, work: Work, at: Position): boolean {
  switch (operator) {
    case "==":
    case "!=":
      return areEqual(a, b, work, at) === (operator === "==");
    case "<":
      return isLess(a, b, work, at);
    case ">":
      return isLess(b, a, work, at);
    case "<=":
      return !isLess(b, a, work, at);
    case ">=":
      return !isLess(a, b, work, at);
    default:
      return contains(b, a, work, at) === (operator === "in");
  }
}

/** What is wrong with a key of this type. */
export const noKey = (type: string): string => `A key of a dict is a text, not a ${type}.`;

/** What is wrong with a text as a key of a dict that has `members` already. */
export function keyFault(key: string, members: Pick<ReadonlyMap<string, unknown>, "has">): string | undefined {
  if (members.has(key)) return `The key ${JSON.stringify(clip(key))} is given twice.`;
  return isForbidden(key) ? `The name ${key} is not allowed.` : undefined;
}

/** A key for a dict that has `members` already. */
export function keyOf(key: unknown, members: ReadonlyMap<string, unknown>, at: Position): string {
  const wrong = typeof key === "string" ? keyFault(key, members) : noKey(typeOf(key));
  if (wrong === undefined) return key as string;
  throw new LanguageError(at, wrong, { code: "type_error" });
}
