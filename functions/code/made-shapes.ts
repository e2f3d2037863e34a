import type { Shape, Type } from "./shape.ts";
import { typesOf } from "./shape.ts";
import type { Expression, Operation } from "./syntax.ts";

/** What may still be looked at to know shapes: a program can put one value into another any number of times. */
export type Budget = { left: number };

const shapes = new Map<Type, Shape>((["boolean", "number", "string"] as const).map((type) => [type, { type }]));

/** What a value of this type is, if nothing else is known; null is left to the run, where `and` may ask for it. */
export const shapeOfType = (type: Type): Shape => shapes.get(type) ?? {};

/** A dict the program writes: its members are known where all their names are. */
export function dictShape(members: readonly (readonly [Expression, Shape])[]): Shape {
  const shapes = new Map<string, Shape>();
  for (const [key, shape] of members) if (key.kind === "literal") shapes.set(String(key.value), shape);
  return shapes.size === members.length ? { type: "dict", members: shapes } : { type: "dict" };
}

/** A list the program writes out. */
export function listShape(items: readonly Shape[], budget: Budget): Shape {
  const [first = {}, ...others] = items;
  let item = first;
  for (const other of others) item = shared(item, other, budget);
  return { type: "list", most: items.length, items, item };
}

/** What two shapes have in common. */
function shared(a: Shape, b: Shape, budget: Budget): Shape {
  if (a === b) return a;
  budget.left -= 1;
  if (budget.left < 0) return {};
  const most = a.most === undefined || b.most === undefined ? {} : { most: Math.max(a.most, b.most) };
  const pageSize =
    a.pageSize === undefined || b.pageSize === undefined ? {} : { pageSize: Math.max(a.pageSize, b.pageSize) };
  if (a.schema && a.schema === b.schema) {
    return { schema: a.schema, definitions: a.definitions ?? {}, ...most, ...pageSize };
  }
  const { type } = a;
  if (type === undefined || type !== b.type) return {};
  if (type === "list") return { type, ...most, item: shared(a.item ?? {}, b.item ?? {}, budget) };
  const members = type === "dict" ? sharedMembers(a, b, budget) : undefined;
  return { type, ...(members ? { members } : {}) };
}

/** The members of two dicts that have the same names. */
function sharedMembers({ members: a }: Shape, { members: b }: Shape, budget: Budget): Map<string, Shape> | undefined {
  if (!a || a.size !== b?.size) return undefined;
  budget.left -= a.size;
  if (budget.left < 0) return undefined;
  const members = new Map<string, Shape>();
  for (const [name, shape] of a) {
    const other = b.get(name);
    if (!other) return undefined;
    members.set(name, shared(shape, other, budget));
  }
  return members;
}

/** Types of which two can be added, or put in order. */
const fitting = { "+": ["number", "string", "list"], order: ["number", "string"] } as const;

/** What an operator makes of its operands; or the types of two of them that it never takes, whatever the run brings. */
export function operationShape(
  operator: Operation["operator"],
  [first = {}, ...others]: readonly Shape[],
  budget: Budget,
): { shape: Shape; clash?: [Type, Type] } {
  let shape = first;
  for (const other of others) {
    const clash = clashOf(operator, shape, other);
    if (clash) return { shape: {}, clash };
    if (operator === "+") shape = sumShape(shape, other, budget);
  }
  if (operator === "+") return { shape };
  return { shape: operator === "and" || operator === "or" ? {} : shapeOfType("boolean") };
}

function clashOf(operator: Operation["operator"], left: Shape, right: Shape): [Type, Type] | undefined {
  if (operator !== "+" && !/^[<>]/.test(operator)) return undefined;
  const [ours, theirs] = [typesOf(left), typesOf(right)];
  if (!ours || !theirs) return undefined;
  const kinds: readonly Type[] = fitting[operator === "+" ? "+" : "order"];
  if (kinds.some((kind) => ours.has(kind) && theirs.has(kind))) return undefined;
  const [[one = "null"], [other = "null"]] = [[...ours], [...theirs]];
  return [one, other];
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
