import { noRange } from "../interpreter/machine.ts";
import { noKey, noNegative } from "../interpreter/operators.ts";
import { noLength, noOrder, noSearch, noSum, type Constant } from "../interpreter/value.ts";
import { stepLimit, tooMuchWork } from "../interpreter/work.ts";
import type { Operation } from "../language/syntax.ts";
import { shapeOfType, shared, type Budget } from "./made-shapes.ts";
import { type Shape, type Type, typesOf } from "./shape.ts";

/** Types of which two can be added, or put in order. */
const fitting = { "+": ["number", "string", "list"], order: ["number", "string"] } as const;

/**
 * What an operator makes of its operands; or what is wrong with them, whatever the run brings. `isCertain` says that they
 * are evaluated: None is wrong then.
 */
export function operationShape(
  operator: Operation["operator"],
  [first = {}, ...others]: readonly Shape[],
  { budget, isCertain }: { budget: Budget; isCertain: boolean },
): { shape: Shape; wrong?: string } {
  const types = isCertain ? typesOfOperand : typesOf;
  let shape = first;
  for (const other of others) {
    const wrong = clashOf(operator, types(shape), types(other));
    if (wrong !== undefined) return { shape: {}, wrong };
    if (operator === "+") shape = sumShape(shape, other, budget);
  }
  if (operator === "+") return { shape };
  return { shape: operator === "and" || operator === "or" ? {} : shapeOfType("boolean") };
}

type Types = ReadonlySet<Type> | undefined;

function clashOf(operator: Operation["operator"], ours: Types, theirs: Types): string | undefined {
  if (operator === "in" || operator === "not in") return theirs && searchFault(theirs, ours);
  if (operator !== "+" && !/^[<>]/.test(operator)) return undefined;
  if (!ours || !theirs) return undefined;
  const kinds: readonly Type[] = fitting[operator === "+" ? "+" : "order"];
  if (kinds.some((kind) => ours.has(kind) && theirs.has(kind))) return undefined;
  const [[one = "null"], [other = "null"]] = [[...ours], [...theirs]];
  return (operator === "+" ? noSum : noOrder)(one, other);
}

/** Why a value of these types is never in one of those; `items` are not known where that could be any. */
function searchFault(containers: ReadonlySet<Type>, items: Types): string | undefined {
  if (containers.has("list") || containers.has("dict")) return undefined;
  if (containers.has("string") && (!items || items.has("string"))) return undefined;
  const [[container = "null"], [item = "null"]] = [[...containers], [...(items ?? [])]];
  return noSearch(container, item);
}

/** What `+` makes of two values. */
function sumShape(left: Shape, right: Shape, budget: Budget): Shape {
  const [ours, theirs] = [typesOf(left), typesOf(right)];
  const [type, ...others] = ours ?? [];
  if (type === undefined || others.length > 0 || theirs?.size !== 1 || !theirs.has(type)) return {};
  if (type !== "list") return shapeOfType(type);
  const item = left.item && right.item ? shared(left.item, right.item, budget) : {};
  const most = left.most === undefined || right.most === undefined ? {} : { most: left.most + right.most };
  return { type, item, ...most };
}

/** The types that an operand may be; None where the program says so. */
const typesOfOperand = (shape: Shape): Types => (shape.none ? none : typesOf(shape));
const none: ReadonlySet<Type> = new Set<Type>(["null"]);

/** The first type of an operand of which none is among `taken`. */
function untaken(operand: Shape, taken: readonly Type[]): Type | undefined {
  const types = typesOfOperand(operand);
  return types && taken.every((type) => !types.has(type)) ? ([...types][0] ?? "null") : undefined;
}

/** What is wrong with what `len` or `-` is given, or a key of a dict is, whatever the run brings. */
export function operandFault(what: "len" | "-" | "key", operand: Shape): string | undefined {
  const { takes, say } = operands[what];
  const type = untaken(operand, takes);
  return type && say(type);
}

const operands: Record<"len" | "-" | "key", { takes: readonly Type[]; say: (type: Type) => string }> = {
  len: { takes: ["string", "list", "dict"], say: noLength },
  "-": { takes: ["number"], say: noNegative },
  key: { takes: ["string"], say: noKey },
};

/** What is wrong with how far `range` is to count: `count` where that is known. */
export function rangeFault(count: Constant | undefined, shape: Shape): { code: string; message: string } | undefined {
  if (typeof count === "number" && count > stepLimit) return { code: "too_much_work", message: tooMuchWork };
  const type = typeof count === "number" && !Number.isInteger(count) ? String(count) : untaken(shape, ["number"]);
  if (type === undefined) return undefined;
  return { code: "type_error", message: noRange(typeof count === "number" ? count : `a ${type}`) };
}
