import type { Expression, Position } from "./syntax.ts";

/** The value of a literal. Dicts have no prototype: nothing but the program's own keys is in them. */
export function valueOf(expression: Expression): unknown {
  if (expression.kind === "literal") return expression.value;
  if (expression.kind === "list") return expression.items.map(valueOf);
  const dict = Object.create(null) as Record<string, unknown>;
  for (const { name, value } of expression.members) dict[name] = valueOf(value);
  return dict;
}

/** Where the part of a literal stands that a path of keys and indexes leads to, as far as the path exists. */
export function positionIn(expression: Expression, [step, ...rest]: readonly (string | number)[]): Position {
  if (expression.kind === "list" && typeof step === "number") {
    const item = expression.items[step];
    if (item) return positionIn(item, rest);
  }
  if (expression.kind === "dict") {
    const member = expression.members.find(({ name }) => name === step);
    if (member) return rest.length === 0 ? member.at : positionIn(member.value, rest);
  }
  return expression.at;
}
