import type { Arithmetic, Position } from "../language/ast.ts";
import { type StepBudget, requireRoom, requireSize, sizeOf, useSteps } from "./budget.ts";
import type { TypeName } from "./types.ts";
import { isPageValue, typeError, typeOf, valueError } from "./values.ts";

/** For each operator, the pairs of types that it takes on its left and on its right. */
export const operandPairs: Record<Arithmetic, readonly (readonly [TypeName, TypeName])[]> = {
  "+": [
    ["number", "number"],
    ["string", "string"],
    ["list", "list"],
  ],
  "-": [["number", "number"]],
  "*": [
    ["number", "number"],
    ["string", "number"],
    ["number", "string"],
    ["list", "number"],
    ["number", "list"],
  ],
  "//": [["number", "number"]],
  "%": [["number", "number"]],
};

/** The operands of each operator, in words. */
const operandWords: Record<Arithmetic, string> = {
  "+": "two numbers, two texts or two lists",
  "-": "two numbers",
  "*": "two numbers, or a text or list and a whole number",
  "//": "two whole numbers",
  "%": "two whole numbers",
};

/** The name of the result of each operator. */
const resultNames: Record<Arithmetic, string> = {
  "+": "sum",
  "-": "difference",
  "*": "product",
  "//": "quotient",
  "%": "remainder",
};

/**
 * The message for an operator that does not take operands of these two types. `isOfPage` says whether an operand is a
 * page.
 */
export function cannotCalculate(operator: Arithmetic, a: TypeName, b: TypeName, isOfPage: boolean): string {
  const isText = operator === "%" ? a === "string" : operator === "+" && (a === "string" || b === "string");
  const hint = isText ? ' Put values in a text by an f-string, f"{x}".' : "";
  const pageHint =
    operator === "+" && isOfPage ? " The items of a page are in its member items: `a.items + b.items`." : "";
  return `\`${operator}\` takes ${operandWords[operator]}, not a ${a} and a ${b}.${hint}${pageHint}`;
}

/** Calculates with numbers, joins two texts or lists, or repeats a text or list. Throws LanguageError. */
export function calculate(operator: Arithmetic, a: unknown, b: unknown, budget: StepBudget, at: Position): unknown {
  if (typeof a === "number" && typeof b === "number") return calculateNumbers(operator, a, b, at);
  if (operator === "+") {
    if (typeof a === "string" && typeof b === "string") return requireSize(a + b, budget, at);
    if (Array.isArray(a) && Array.isArray(b)) return requireSize((a as unknown[]).concat(b), budget, at);
  }
  if (operator === "*") {
    const [part, times] = typeof a === "number" ? [b, a] : [a, b];
    if (typeof times === "number" && (typeof part === "string" || Array.isArray(part))) {
      return repeat(part, times, budget, at);
    }
  }
  throw typeError(at, cannotCalculate(operator, typeOf(a), typeOf(b), isPageValue(a) || isPageValue(b)));
}

/** The ranges of numbers, in words. */
const ranges = {
  integers: "integers go from -9007199254740991 to 9007199254740991 (2^53 - 1)",
  numbers: `numbers go from ${-Number.MAX_VALUE} to ${Number.MAX_VALUE}`,
};

function calculateNumbers(operator: Arithmetic, a: number, b: number, at: Position): number {
  const result = operator === "//" || operator === "%" ? divide(operator, a, b, at) : simple[operator](a, b);
  const areIntegers = Number.isInteger(a) && Number.isInteger(b);
  const isInRange = areIntegers ? Number.isSafeInteger(result) : Number.isFinite(result);
  const range = areIntegers ? ranges.integers : ranges.numbers;
  if (!isInRange) throw valueError(at, `This ${resultNames[operator]} is out of range: ${range}.`);
  // Adding 0 turns -0 into 0: Starlark's integers have no -0.
  return result + 0;
}

const simple = {
  "+": (a: number, b: number) => a + b,
  "-": (a: number, b: number) => a - b,
  "*": (a: number, b: number) => a * b,
};

/** Divides whole numbers. The quotient is rounded down, and the remainder has the divisor's sign, as in Starlark. */
function divide(operator: "//" | "%", a: number, b: number, at: Position): number {
  const wrong = [a, b].find((value) => !Number.isSafeInteger(value));
  if (wrong !== undefined) throw typeError(at, `\`${operator}\` takes ${operandWords[operator]}, not ${wrong}.`);
  if (b === 0) throw valueError(at, `\`${operator}\` cannot divide by 0.`);
  // JavaScript's remainder has the sign of `a`, so `(a - rest) / b` is the quotient rounded towards 0.
  const rest = a % b;
  const hasWrongSign = rest !== 0 && Math.sign(rest) !== Math.sign(b);
  if (operator === "%") return hasWrongSign ? rest + b : rest;
  const quotient = (a - rest) / b;
  return hasWrongSign ? quotient - 1 : quotient;
}

function repeat(part: string | unknown[], times: number, budget: StepBudget, at: Position): unknown {
  if (!Number.isInteger(times))
    throw typeError(at, `A text or list is repeated a whole number of times, not ${times} times.`);
  const count = part.length === 0 ? 0 : Math.max(0, times);
  // The limits are checked before the value is made, so that a value that is too large takes no memory. The quotes or
  // brackets of the part, 2 bytes, are not repeated.
  requireRoom((sizeOf(part).bytes - 2) * count, at);
  if (typeof part === "string") return requireSize(part.repeat(count), budget, at);
  // If too few steps are left, this `useSteps` throws. If enough are left, `requireSize` uses them below.
  if (part.length * count > budget.steps) useSteps(budget, part.length * count, at);
  return requireSize(Array.from({ length: count }, () => part).flat(), budget, at);
}
