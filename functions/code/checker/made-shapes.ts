import type { Shape, Type } from "./shape.ts";

/** What may still be looked at to know shapes: a program can put one value into another any number of times. */
export type Budget = { left: number };

const shapes = new Map<Type, Shape>([
  ...(["boolean", "number", "string"] as const).map((type): [Type, Shape] => [type, { type }]),
  ["null", { none: true }],
]);

/** What a value of this type is, if nothing else is known. */
export const shapeOfType = (type: Type): Shape => shapes.get(type) ?? {};

/** A dict the program writes: its members are known where all their names are. */
export function dictShape(members: readonly (readonly [string | undefined, Shape])[]): Shape {
  const shapes = new Map<string, Shape>();
  for (const [key, shape] of members) if (key !== undefined) shapes.set(key, shape);
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
export function shared(a: Shape, b: Shape, budget: Budget): Shape {
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
