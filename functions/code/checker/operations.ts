import { cannotCalculate, operandPairs } from "../interpreter/arithmetic.ts";
import {
  type AccessResult,
  type StaticType,
  type TypeName,
  commonType,
  dictType,
  elementOf,
  isPage,
  itemType,
  listedValues,
  memberType,
  operandTypes,
  plainType,
  typeNamesOf,
  wrongType,
} from "../interpreter/types.ts";
import { cannotIndex, cannotNegate, cannotOrder, cannotSearch, cannotUseKey } from "../interpreter/values.ts";
import type { Arithmetic, Dict, Expression, Operation, Position, Unary } from "../language/ast.ts";
import type { DiagnosticList } from "../language/errors.ts";
import { clip } from "../language/messages.ts";
import { closestName } from "../language/spelling.ts";
import type { ConditionScope } from "./scope.ts";

/** The types that `<`, `<=`, `>` and `>=` accept on both sides. */
const ordered: readonly TypeName[] = ["number", "string"];

const isArithmetic = (operator: Operation["operator"]): operator is Arithmetic => Object.hasOwn(operandPairs, operator);

/**
 * The type of an operation's result, or the reason why the operation always fails. An operand that is None is a mistake
 * only if every run evaluates the operation (`isCertain`).
 */
export function operationType(
  operator: Operation["operator"],
  [first = {}, ...others]: readonly StaticType[],
  isCertain: boolean,
): { type: StaticType; wrong?: string } {
  const types = isCertain ? operandTypes : typeNamesOf;
  let type = first;
  for (const other of others) {
    const wrong = operandFault(operator, types(type), types(other), isPage(type) || isPage(other));
    if (wrong !== undefined) return { type: {}, wrong };
    if (isArithmetic(operator)) type = resultType(operator, type, other);
  }
  if (isArithmetic(operator)) return { type };
  return { type: operator === "and" || operator === "or" ? {} : plainType("boolean") };
}

type Types = ReadonlySet<TypeName> | undefined;

/** The reason why an operation fails for these types. `isOfPage` says whether an operand is a page. */
function operandFault(
  operator: Operation["operator"],
  ours: Types,
  theirs: Types,
  isOfPage: boolean,
): string | undefined {
  if (operator === "in" || operator === "not in") return theirs && searchFault(theirs, ours);
  if (!ours || !theirs) return undefined;
  const [one = "null"] = ours;
  const [other = "null"] = theirs;
  if (isArithmetic(operator)) {
    const fits = operandPairs[operator].some(([left, right]) => ours.has(left) && theirs.has(right));
    return fits ? undefined : cannotCalculate(operator, one, other, isOfPage);
  }
  if (!/^[<>]/.test(operator) || ordered.some((kind) => ours.has(kind) && theirs.has(kind))) return undefined;
  return cannotOrder(one, other);
}

/**
 * The reason why `in` fails for all containers and items of these types; undefined if `in` can succeed. `items` is
 * undefined if an item can have any type.
 */
function searchFault(containers: ReadonlySet<TypeName>, items: Types): string | undefined {
  if (containers.has("list") || containers.has("dict")) return undefined;
  if (containers.has("string") && (!items || items.has("string"))) return undefined;
  const [container = "null"] = containers;
  const [item = "null"] = items ?? [];
  return cannotSearch(container, item);
}

/** The type of the result of an arithmetic operation. */
function resultType(operator: Arithmetic, left: StaticType, right: StaticType): StaticType {
  // The type of the result is known only if each operand has exactly one possible type.
  const [one, ...moreOfLeft] = typeNamesOf(left) ?? [];
  const [other, ...moreOfRight] = typeNamesOf(right) ?? [];
  if (one === undefined || other === undefined || moreOfLeft.length > 0 || moreOfRight.length > 0) return {};
  // Only `*` takes a number and a text or list. The result is then a text or list.
  const type = one === "number" ? other : one;
  if (type !== "list") return plainType(type);
  if (operator === "*") return { type, item: elementOf(one === "list" ? left : right) };
  const item = left.item && right.item ? commonType(left.item, right.item) : {};
  const most = left.most === undefined || right.most === undefined ? {} : { most: left.most + right.most };
  return { type, item, ...most };
}

/**
 * Explains why an expression never equals `value`: the schema of the expression lists its values, and `value` is not
 * among them. Undefined if the expression may equal `value`, or if `value` is neither a text nor a number. `source` is
 * the expression as the program writes it.
 */
export function neverEqual(source: string, type: StaticType, value: unknown): string | undefined {
  const values = listedValues(type);
  if (!values || (typeof value !== "string" && typeof value !== "number") || values.includes(value)) return undefined;
  const names = values.map(String);
  const meant = closestName(String(value), names);
  const hint = meant === undefined ? "" : ` Did you mean ${JSON.stringify(meant)}?`;
  const listed = names.map((name) => JSON.stringify(name)).join(", ");
  return `${source} is never ${JSON.stringify(clip(String(value)))}: it is one of ${listed}.${hint}`;
}

/** Checks the operand of `-` and the keys of dicts, and reports types that always fail. */
export class OperatorChecker {
  readonly #conditions: ConditionScope;
  readonly #diagnostics: DiagnosticList;

  constructor(conditions: ConditionScope, diagnostics: DiagnosticList) {
    this.#conditions = conditions;
    this.#diagnostics = diagnostics;
  }

  /** The type of the result of `-` or `not` for an operand of this type. */
  unary({ operator, at }: Unary, operand: StaticType): StaticType {
    if (operator === "not") return plainType("boolean");
    const found = wrongType(operand, ["number"]);
    if (found) this.report("type_error", at, [operand], cannotNegate(found));
    return plainType("number");
  }

  /** The type of a dict that the program writes out. `typeOf` checks a key or a value. */
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
   * Reports an operation that fails for operands of these types. A None operand is not reported where a surrounding
   * condition may exclude None.
   */
  report(code: string, at: Position, operands: readonly StaticType[], message: string): void {
    if (operands.some(({ none }) => none) && !this.#conditions.isCertain) return;
    this.#diagnostics.add(code, at, () => message);
  }
}

/**
 * The type of the member or item of a value at `key`. If the key is unknown, the type follows from the type of the
 * index.
 */
export function accessType(of: StaticType, key: string | number | undefined, index: StaticType): AccessResult {
  if (of.none) return { typeName: "null" };
  if (typeof key === "string") return memberType(of, key);
  if (key === undefined) return accessByType(of, index);
  if (!Number.isInteger(key)) return { index: cannotIndex(String(key)) };
  return itemType(of, key);
}

/** The type of `of[index]` for an index whose value is unknown, or the reason why no such index is valid. */
function accessByType(of: StaticType, index: StaticType): AccessResult {
  const [indexTypes, types] = [typeNamesOf(index), typeNamesOf(of)];
  if (indexTypes && !indexTypes.has("number") && !indexTypes.has("string"))
    return { index: cannotIndex(`a ${[...indexTypes].join(" or ")}`) };
  const [mayBeList, mayBeDict] = [types?.has("list") ?? true, types?.has("dict") ?? true];
  if (indexTypes && mayBeList && !mayBeDict && !indexTypes.has("number")) {
    return { index: "An index of a list is a whole number, not a string." };
  }
  if (indexTypes && mayBeDict && !mayBeList && !indexTypes.has("string")) return { index: cannotUseKey("number") };
  if (indexTypes && !indexTypes.has("number") && !mayBeList && !mayBeDict)
    return { typeName: [...(types ?? [])].join(" or ") };
  const item = itemType(of);
  return mayBeDict && !("type" in item) ? { type: {} } : item;
}
