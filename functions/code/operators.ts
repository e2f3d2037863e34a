import { clip, LanguageError } from "./mistake.ts";
import { isForbidden } from "./names.ts";
import type { Operation, Position, Unary } from "./syntax.ts";
import { areEqual, contains, isLess, isTrue, typeOf } from "./value.ts";
import type { Work } from "./work.ts";

/** `not value`, or `-value`. */
export function negated(operator: Unary["operator"], value: unknown, at: Position): unknown {
  if (operator === "not") return !isTrue(value);
  if (typeof value === "number") return 0 - value;
  throw new LanguageError(at, `\`-\` takes a number, not a ${typeOf(value)}.`, { code: "type_error" });
}

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

/** A key for a dict that has `members` already. */
export function keyOf(key: unknown, members: ReadonlyMap<string, unknown>, at: Position): string {
  if (typeof key === "string" && !members.has(key) && !isForbidden(key)) return key;
  const wrong =
    typeof key !== "string"
      ? `A key of a dict is a text, not a ${typeOf(key)}.`
      : members.has(key)
        ? `The key ${JSON.stringify(clip(key))} is given twice.`
        : `The name ${key} is not allowed.`;
  throw new LanguageError(at, wrong, { code: "type_error" });
}
