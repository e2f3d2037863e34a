import { type Constant, dictOf, formatConstant } from "../interpreter/values.ts";
import type { Expression, Position } from "../language/ast.ts";

type ConstantOf = (node: Expression) => { value: unknown } | undefined;

/** The longest text, in characters, that is computed before the run. */
const mostChars = 4_096;

/** Computes an expression without calls, if it has a single value that is known before the run; else undefined. */
export function foldConstant(node: Expression, constantOf: ConstantOf): Constant | undefined {
  switch (node.kind) {
    case "literal":
      return node.value;
    case "name":
    case "path": {
      const value = constantOf(node)?.value;
      return isConstant(value) ? value : undefined;
    }
    case "unary": {
      const value = foldConstant(node.of, constantOf);
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
  let sum = first && foldConstant(first, constantOf);
  for (const other of others) {
    const value = foldConstant(other, constantOf);
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
    const value = typeof part === "string" ? part : foldConstant(part, constantOf);
    if (value === undefined) return undefined;
    text += formatConstant(value);
    if (text.length > mostChars) return undefined;
  }
  return text;
}

/** A placeholder for a value that is unknown before the run. Every schema rejects a symbol. */
const unknown = Symbol("unknown");

type Place = (string | number)[];

/** The value of an expression as far as it is known before the run, with the paths of its unknown parts. */
export type ConstantValue = {
  value: unknown;
  unknown: Place[];
  /** The approximate cost of reading the value: 1 for each occurrence of each part, and more for long texts. */
  size: number;
  /** Finds the position in the source of the part at a path of keys and indexes. */
  placeOf: (path: readonly (string | number)[]) => Position;
};

/** Looks up the known value of a variable or of a part of it. */
export type ValueOf = (node: Expression) => ConstantValue | undefined;

/** Evaluates the literal parts of an expression, and its variables as far as they are known. */
export function foldArgument(node: Expression, constantOf: ValueOf = () => undefined): ConstantValue {
  const literal: ConstantValue = { value: undefined, unknown: [], size: 0, placeOf: (path) => placeIn(path) };
  const folded: { path: Place; constant: ConstantValue }[] = [];
  const placeIn = (path: readonly (string | number)[]): Position => {
    const inner = folded.find((one) => one.path.every((step, index) => path[index] === step));
    return inner ? inner.constant.placeOf(path.slice(inner.path.length)) : positionIn(node, path);
  };
  const read = (part: Expression, path: Place): unknown => {
    literal.size += 1;
    if (part.kind === "literal") {
      literal.size += typeof part.value === "string" ? part.value.length >> 6 : 0;
      return part.value;
    }
    if (part.kind === "list") return part.items.map((item, index) => read(item, [...path, index]));
    if (part.kind === "dict" && part.members.every(({ key }) => key.kind === "literal")) {
      return dictOf(
        part.members.map(({ key, value }) => {
          const name = key.kind === "literal" ? String(key.value) : "";
          return [name, read(value, [...path, name])] as const;
        }),
      );
    }
    const made = /^(?:unary|operation|format)$/.test(part.kind) ? foldConstant(part, constantOf) : undefined;
    if (made !== undefined) {
      literal.size += typeof made === "string" ? made.length >> 6 : 0;
      return made;
    }
    const constant = part.kind === "name" || part.kind === "path" ? constantOf(part) : undefined;
    if (constant) {
      folded.push({ path, constant });
      literal.size += constant.size;
      literal.unknown.push(...constant.unknown.map((inner) => [...path, ...inner]));
      return constant.value;
    }
    literal.unknown.push(path);
    return unknown;
  };
  literal.value = read(node, []);
  return literal;
}

/** Reads a member or item of a known value; undefined where it is not known to exist. */
export function stepInto(
  { value, unknown, size, placeOf }: ConstantValue,
  key: string | number,
): ConstantValue | undefined {
  const isThere = typeof value === "object" && value !== null && Object.hasOwn(value, key);
  if (!isThere || Array.isArray(value) !== (typeof key === "number")) return undefined;
  return {
    value: (value as Record<string | number, unknown>)[key],
    unknown: unknown.filter(([first]) => first === key).map((path) => path.slice(1)),
    size,
    placeOf: (path) => placeOf([key, ...path]),
  };
}

/** Follows a path of keys and indexes into an expression as far as it is written out literally. */
export function partIn(node: Expression, [step, ...rest]: readonly (string | number)[]): Expression {
  if (node.kind === "list" && typeof step === "number") {
    const item = node.items[step];
    if (item) return partIn(item, rest);
  }
  if (node.kind === "dict") {
    const member = node.members.find(({ key }) => key.kind === "literal" && key.value === step);
    if (member) return partIn(member.value, rest);
  }
  return node;
}

/** The position of the part at a path. For a member, this is the position of its key. */
export function positionIn(node: Expression, [step, ...rest]: readonly (string | number)[]): Position {
  if (node.kind === "list" && typeof step === "number") {
    const item = node.items[step];
    if (item) return positionIn(item, rest);
  }
  if (node.kind === "dict") {
    const member = node.members.find(({ key }) => key.kind === "literal" && key.value === step);
    if (member) return rest.length === 0 ? member.key.at : positionIn(member.value, rest);
  }
  return node.at;
}
