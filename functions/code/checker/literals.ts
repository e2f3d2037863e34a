import { type Constant, dictOf, unknownValue } from "../interpreter/values.ts";
import type { Expression, Position } from "../language/ast.ts";

type Path = (string | number)[];

/** The value of an argument, as far as the program's text shows the value, and the paths of the unknown parts. */
export type LiteralValue = { value: unknown; unknown: Path[] };

/** Looks up the value of a literal, or of a variable that was assigned a literal; undefined if the value is unknown. */
export type LiteralOf = (node: Expression) => Constant | undefined;

const ownLiteral: LiteralOf = (node) => (node.kind === "literal" ? node.value : undefined);

/** Reads the value of an argument from its literals, lists and dicts. Without `literalOf` every variable is unknown. */
export function literalValue(node: Expression, literalOf = ownLiteral): LiteralValue {
  const unknown: Path[] = [];
  const read = (part: Expression, path: Path): unknown => {
    if (part.kind === "list") return part.items.map((item, index) => read(item, [...path, index]));
    if (part.kind === "dict" && part.members.every(({ key }) => key.kind === "literal")) {
      return dictOf(
        part.members.map(({ key, value }) => {
          const name = key.kind === "literal" ? String(key.value) : "";
          return [name, read(value, [...path, name])] as const;
        }),
      );
    }
    const value = literalOf(part);
    if (value === undefined) unknown.push(path);
    return value === undefined ? unknownValue : value;
  };
  return { value: read(node, []), unknown };
}

/**
 * Finds the position of a part of `node`, by the path of keys and indexes that leads to the part. The position of a
 * member is the position of its key. If the program does not write out the part, the result is the position of the
 * nearest part around it.
 */
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
