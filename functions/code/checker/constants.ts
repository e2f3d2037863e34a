import { shown, type Constant } from "../interpreter/value.ts";
import type { Expression } from "../language/syntax.ts";

type ConstantOf = (node: Expression) => { value: unknown } | undefined;

/** Longer texts are left to the run. */
const mostChars = 4_096;

/** What an expression without a call is, where it is one value and known before the program runs; else undefined. */
export function constantIn(node: Expression, constantOf: ConstantOf): Constant | undefined {
  switch (node.kind) {
    case "literal":
      return node.value;
    case "name":
    case "path": {
      const value = constantOf(node)?.value;
      return isConstant(value) ? value : undefined;
    }
    case "unary": {
      const value = constantIn(node.of, constantOf);
      return node.operator === "-" && typeof value === "number" ? 0 - value : undefined;
    }
    case "operation":
      return node.operator === "+" ? sumIn(node.operands, constantOf) : undefined;
    case "format":
      return textIn(node.parts, constantOf);
    default:
      return undefined;
  }
}

const isConstant = (value: unknown): value is Constant =>
  value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean";

function sumIn([first, ...others]: readonly Expression[], constantOf: ConstantOf): string | number | undefined {
  let sum = first && constantIn(first, constantOf);
  for (const other of others) {
    const value = constantIn(other, constantOf);
    if (typeof sum === "string" && typeof value === "string") sum += value;
    else if (typeof sum === "number" && typeof value === "number") sum += value;
    else return undefined;
    const isKept = typeof sum === "string" ? sum.length <= mostChars : Math.abs(sum) <= Number.MAX_SAFE_INTEGER;
    if (!isKept) return undefined;
  }
  return typeof sum === "string" || typeof sum === "number" ? sum : undefined;
}

function textIn(parts: readonly (string | Expression)[], constantOf: ConstantOf): string | undefined {
  let text = "";
  for (const part of parts) {
    const value = typeof part === "string" ? part : constantIn(part, constantOf);
    if (value === undefined) return undefined;
    text += shown(value);
    if (text.length > mostChars) return undefined;
  }
  return text;
}
