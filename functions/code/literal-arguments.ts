import type { Expression, Position } from "./syntax.ts";
import { dictOf } from "./value.ts";

/** Stands for a value that only the run brings; no schema takes it for one of its own. */
const unknown = Symbol("unknown");

/** An expression as far as it is literal, and the places in it that are not. */
export type Literal = { value: unknown; unknown: (string | number)[][] };

/** The literal part of an expression. */
export function literalOf(node: Expression): Literal {
  const places: (string | number)[][] = [];
  const read = (part: Expression, path: (string | number)[]): unknown => {
    if (part.kind === "literal") return part.value;
    if (part.kind === "list") return part.items.map((item, index) => read(item, [...path, index]));
    if (part.kind === "dict" && part.members.every(({ key }) => key.kind === "literal")) {
      return dictOf(
        part.members.map(({ key, value }) => {
          const name = key.kind === "literal" ? String(key.value) : "";
          return [name, read(value, [...path, name])] as const;
        }),
      );
    }
    places.push(path);
    return unknown;
  };
  return { value: read(node, []), unknown: places };
}

/** Where the part of an expression stands that a path of keys and indexes leads to, as far as that is literal. */
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
