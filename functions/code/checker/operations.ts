import {
  type AccessResult,
  type StaticType,
  type TypeName,
  commonType,
  dictType,
  itemType,
  memberType,
  operandTypes,
  plainType,
  typeNamesOf,
  wrongType,
} from "../interpreter/types.ts";
import {
  cannotAdd,
  cannotIndex,
  cannotNegate,
  cannotOrder,
  cannotSearch,
  cannotUseKey,
} from "../interpreter/values.ts";
import type { Dict, Expression, Operation, Position, Unary } from "../language/ast.ts";
import type { DiagnosticList } from "./diagnostics.ts";
import type { ConditionScope } from "./scope.ts";

/** The types that `+` and the order comparisons accept on both sides. */
const fitting = { "+": ["number", "string", "list"], order: ["number", "string"] } as const;

/**
 * The type of an operation's result, or the reason why it always fails. When the operation is certain to be evaluated
 * (`isCertain`), a None operand is a mistake too.
 */
export function operationType(
  operator: Operation["operator"],
  [first = {}, ...others]: readonly StaticType[],
  isCertain: boolean,
): { type: StaticType; wrong?: string } {
  const types = isCertain ? operandTypes : typeNamesOf;
  let type = first;
  for (const other of others) {
    const wrong = clashingOperands(operator, types(type), types(other));
    if (wrong !== undefined) return { type: {}, wrong };
    if (operator === "+") type = additionType(type, other);
  }
  if (operator === "+") return { type };
  return { type: operator === "and" || operator === "or" ? {} : plainType("boolean") };
}

type Types = ReadonlySet<TypeName> | undefined;

function clashingOperands(operator: Operation["operator"], ours: Types, theirs: Types): string | undefined {
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
function additionType(left: StaticType, right: StaticType): StaticType {
  const [ours, theirs] = [typeNamesOf(left), typeNamesOf(right)];
  const [type, ...others] = ours ?? [];
  if (type === undefined || others.length > 0 || theirs?.size !== 1 || !theirs.has(type)) return {};
  if (type !== "list") return plainType(type);
  const item = left.item && right.item ? commonType(left.item, right.item) : {};
  const most = left.most === undefined || right.most === undefined ? {} : { most: left.most + right.most };
  return { type, item, ...most };
}

/** Checks the operand of `-` and the keys of dicts, and reports types that always fail. */
export class OperatorChecker {
  readonly #conditions: ConditionScope;
  readonly #diagnostics: DiagnosticList;

  constructor(conditions: ConditionScope, diagnostics: DiagnosticList) {
    this.#conditions = conditions;
    this.#diagnostics = diagnostics;
  }

  /** The result type of `-` or `not` for an operand of this type. */
  unary({ operator, at }: Unary, operand: StaticType): StaticType {
    if (operator === "not") return plainType("boolean");
    const found = wrongType(operand, ["number"]);
    if (found) this.report("type_error", at, [operand], cannotNegate(found));
    return plainType("number");
  }

  /** The type of a dict display. `typeOf` checks its keys and values. */
  dict({ members }: Dict, typeOf: (node: Expression) => StaticType): StaticType {
    return dictType(
      members.map(({ key, value }) => {
        const type = typeOf(key);
        const found = wrongType(type, ["string"]);
        if (found) this.report("type_error", key.at, [type], cannotUseKey(found));
        return [key.kind === "literal" ? String(key.value) : undefined, typeOf(value)];
      }),
    );
  }

  /**
   * Reports an operation that fails for operands of these types; None is no mistake where a condition may exclude it.
   */
  report(code: string, at: Position, operands: readonly StaticType[], message: string): void {
    if (operands.some(({ none }) => none) && !this.#conditions.isCertain) return;
    this.#diagnostics.add(code, at, () => message);
  }
}

/** Follows one access into a value: by `key` if it is known, else by the type of the index. */
export function accessType(of: StaticType, key: string | number | undefined, index: StaticType): AccessResult {
  if (of.none) return { typeName: "null" };
  if (typeof key === "string") return memberType(of, key);
  if (key === undefined) return accessByType(of, index);
  if (!Number.isInteger(key)) return { index: cannotIndex(String(key)) };
  return itemType(of);
}

function accessByType(of: StaticType, index: StaticType): AccessResult {
  const [given, types] = [typeNamesOf(index), typeNamesOf(of)];
  if (given && !given.has("number") && !given.has("string"))
    return { index: cannotIndex(`a ${[...given].join(" or ")}`) };
  const [isList, isDict] = [types?.has("list") ?? true, types?.has("dict") ?? true];
  if (given && isList && !isDict && !given.has("number")) {
    return { index: "An index of a list is a whole number, not a string." };
  }
  if (given && isDict && !isList && !given.has("string")) return { index: cannotUseKey("number") };
  const item = itemType(of);
  return isDict && !("type" in item) ? { type: {} } : item;
}
