import { dictOf } from "../interpreter/value.ts";
import type { Expression, Position } from "../language/syntax.ts";
import { constantIn } from "./constants.ts";

/** Stands for a value that only the run brings; no schema takes it for one of its own. */
const unknown = Symbol("unknown");

type Place = (string | number)[];

/** An expression as far as it is known before the program runs, and the places in it that are not. */
export type Literal = {
  value: unknown;
  unknown: Place[];
  /** About how long it takes to look at: one for each value in it, as often as it is in it, and more for long texts. */
  size: number;
  /** Where that part of it is written which a path of keys and indexes leads to. */
  placeOf: (path: readonly (string | number)[]) => Position;
};

/** What is known of a variable, or of a part of it. */
export type ConstantOf = (node: Expression) => Literal | undefined;

/** The literal part of an expression, with what variables are known to hold. */
export function literalOf(node: Expression, constantOf: ConstantOf = () => undefined): Literal {
  const literal: Literal = { value: undefined, unknown: [], size: 0, placeOf: (path) => placeIn(path) };
  const folded: { path: Place; constant: Literal }[] = [];
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
    const made = /^(?:unary|operation|format)$/.test(part.kind) ? constantIn(part, constantOf) : undefined;
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

/** The member or item of a known value; undefined where that is not known to be there. */
export function stepInto({ value, unknown, size, placeOf }: Literal, key: string | number): Literal | undefined {
  const isThere = typeof value === "object" && value !== null && Object.hasOwn(value, key);
  if (!isThere || Array.isArray(value) !== (typeof key === "number")) return undefined;
  return {
    value: (value as Record<string | number, unknown>)[key],
    unknown: unknown.filter(([first]) => first === key).map((path) => path.slice(1)),
    size,
    placeOf: (path) => placeOf([key, ...path]),
  };
}

/** The part of an expression that a path of keys and indexes leads to, as far as that is literal. */
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

/** Where that part stands: a member stands where its key does. */
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
