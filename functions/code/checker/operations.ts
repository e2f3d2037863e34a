import { stepLimit, tooMuchWork } from "../interpreter/budget.ts";
import { noRange } from "../interpreter/interpreter.ts";
import {
  type Constant,
  keyFault,
  cannotIndex,
  cannotUseKey,
  cannotMeasure,
  cannotNegate,
  cannotOrder,
  cannotSearch,
  cannotAdd,
} from "../interpreter/values.ts";
import type { Builtin, Dict, Expression, Operation, Position, Unary } from "../language/ast.ts";
import { messages } from "../language/messages.ts";
import { isForbidden } from "../language/names.ts";
import type { DiagnosticList } from "./diagnostics.ts";
import type { LoopVariables, ConditionScope, ConstantLookup } from "./scope.ts";
import {
  type Budget,
  type StaticType,
  type AccessResult,
  type TypeName,
  dictShape,
  itemShape,
  memberShape,
  shapeOfType,
  commonType,
  typesOf,
} from "./types.ts";

/** The types that `+` and the order comparisons accept on both sides. */
const fitting = { "+": ["number", "string", "list"], order: ["number", "string"] } as const;

/**
 * The type of an operation's result, or the reason why it always fails. When the operation is certain to be evaluated
 * (`isCertain`), a None operand is a mistake too.
 */
export function operationShape(
  operator: Operation["operator"],
  [first = {}, ...others]: readonly StaticType[],
  { budget, isCertain }: { budget: Budget; isCertain: boolean },
): { shape: StaticType; wrong?: string } {
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

type Types = ReadonlySet<TypeName> | undefined;

function clashOf(operator: Operation["operator"], ours: Types, theirs: Types): string | undefined {
  if (operator === "in" || operator === "not in") return theirs && searchFault(theirs, ours);
  if (operator !== "+" && !/^[<>]/.test(operator)) return undefined;
  if (!ours || !theirs) return undefined;
  const kinds: readonly TypeName[] = fitting[operator === "+" ? "+" : "order"];
  if (kinds.some((kind) => ours.has(kind) && theirs.has(kind))) return undefined;
  const [[one = "null"], [other = "null"]] = [[...ours], [...theirs]];
  return (operator === "+" ? cannotAdd : cannotOrder)(one, other);
}

/**
 * The reason why `in` always fails for these container and item types. `items` is undefined if it could be any type.
 */
function searchFault(containers: ReadonlySet<TypeName>, items: Types): string | undefined {
  if (containers.has("list") || containers.has("dict")) return undefined;
  if (containers.has("string") && (!items || items.has("string"))) return undefined;
  const [[container = "null"], [item = "null"]] = [[...containers], [...(items ?? [])]];
  return cannotSearch(container, item);
}

/** The type of a sum. */
function sumShape(left: StaticType, right: StaticType, budget: Budget): StaticType {
  const [ours, theirs] = [typesOf(left), typesOf(right)];
  const [type, ...others] = ours ?? [];
  if (type === undefined || others.length > 0 || theirs?.size !== 1 || !theirs.has(type)) return {};
  if (type !== "list") return shapeOfType(type);
  const item = left.item && right.item ? commonType(left.item, right.item, budget) : {};
  const most = left.most === undefined || right.most === undefined ? {} : { most: left.most + right.most };
  return { type, item, ...most };
}

/** The possible types of an operand, including None if the program itself made it None. */
const typesOfOperand = (shape: StaticType): Types => (shape.none ? none : typesOf(shape));
const none: ReadonlySet<TypeName> = new Set<TypeName>(["null"]);

/** The operand's first possible type, if none of its possible types is in `taken`; else undefined. */
function untaken(operand: StaticType, taken: readonly TypeName[]): TypeName | undefined {
  const types = typesOfOperand(operand);
  return types && taken.every((type) => !types.has(type)) ? ([...types][0] ?? "null") : undefined;
}

/** The reason why an operand of `len` or `-`, or a key of a dict, always fails. */
function operandFault(what: "len" | "-" | "key", operand: StaticType): string | undefined {
  const { takes, say } = operands[what];
  const type = untaken(operand, takes);
  return type && say(type);
}

const operands: Record<"len" | "-" | "key", { takes: readonly TypeName[]; say: (type: TypeName) => string }> = {
  len: { takes: ["string", "list", "dict"], say: cannotMeasure },
  "-": { takes: ["number"], say: cannotNegate },
  key: { takes: ["string"], say: cannotUseKey },
};

/** The reason why the argument of `range` always fails. `count` is its value where known. */
function rangeFault(count: Constant | undefined, shape: StaticType): { code: string; message: string } | undefined {
  if (typeof count === "number" && count > stepLimit) return { code: "too_much_work", message: tooMuchWork };
  const type = typeof count === "number" && !Number.isInteger(count) ? String(count) : untaken(shape, ["number"]);
  if (type === undefined) return undefined;
  return { code: "type_error", message: noRange(typeof count === "number" ? count : `a ${type}`) };
}

/** Checks the operands of `len`, `range` and `-` and the keys of dicts, and reports types that always fail. */
export class OperatorChecker {
  readonly #known: ConstantLookup;
  readonly #guards: ConditionScope;
  readonly #complaints: DiagnosticList;

  constructor(known: ConstantLookup, guards: ConditionScope, complaints: DiagnosticList) {
    this.#known = known;
    this.#guards = guards;
    this.#complaints = complaints;
  }

  /** The result type of `len`, `-` or `not` for an operand of this shape. */
  operand(node: Unary | Builtin, shape: StaticType): StaticType {
    const what = node.kind === "unary" ? node.operator : "len";
    if (what === "not") return shapeOfType("boolean");
    this.#note(node.at, shape, operandFault(what, shape));
    return shapeOfType("number");
  }

  /** The type of a dict display. `shapeOf` checks its keys and values. */
  dict({ members }: Dict, bound: LoopVariables, shapeOf: (node: Expression) => StaticType): StaticType {
    const names = new Set<string>();
    return dictShape(
      members.map(({ key, value }) => {
        const shape = shapeOf(key);
        const constant = this.#known.constant(key, bound);
        const name = typeof constant === "string" ? constant : undefined;
        this.#note(key.at, shape, name === undefined ? operandFault("key", shape) : keyFault(name, names));
        if (name !== undefined) names.add(name);
        return [name, shapeOf(value)];
      }),
    );
  }

  /** The length of a range, where it is known. */
  count({ of }: Builtin, shape: StaticType, bound: LoopVariables): number | undefined {
    const count = this.#known.constant(of, bound);
    const wrong = rangeFault(count, shape);
    if (wrong) this.#complaints.add(wrong.code, of.at, () => wrong.message);
    return typeof count === "number" && !wrong ? count : undefined;
  }

  #note(at: Position, { none }: StaticType, wrong: string | undefined): void {
    if (wrong === undefined || (none && !this.#guards.isCertain)) return;
    this.#complaints.add("type_error", at, () => wrong);
  }
}

/** Follows one access into a value: by `key` if it is known, else by the type of the index. */
export function stepOf(shape: StaticType, key: string | number | undefined, index: StaticType): AccessResult {
  if (shape.none) return { type: "null" };
  if (typeof key === "string") return isForbidden(key) ? { index: messages.forbidden(key) } : memberShape(shape, key);
  if (key === undefined) return stepByShape(shape, index);
  if (!Number.isInteger(key)) return { index: cannotIndex(String(key)) };
  const { items } = shape;
  if (items && (key >= items.length || key < -items.length)) return { length: items.length };
  const item = items?.at(key);
  return item ? { shape: item } : itemShape(shape);
}

function stepByShape(shape: StaticType, index: StaticType): AccessResult {
  const [given, of] = [typesOf(index), typesOf(shape)];
  if (given && !given.has("number") && !given.has("string"))
    return { index: cannotIndex(`a ${[...given].join(" or ")}`) };
  const [isList, isDict] = [of?.has("list") ?? true, of?.has("dict") ?? true];
  if (given && isList && !isDict && !given.has("number")) {
    return { index: "An index of a list is a whole number, not a string." };
  }
  if (given && isDict && !isList && !given.has("string")) return { index: cannotUseKey("number") };
  const stepped = itemShape(shape);
  return isDict && !("shape" in stepped) ? { shape: {} } : stepped;
}
