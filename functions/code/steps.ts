import { itemShape, memberShape, type Shape, type Stepped } from "./shape.ts";
import type { Step } from "./syntax.ts";

/** What a step asks for, if that is known before the program runs. */
export function keyOf(step: Step): string | number | undefined {
  if (step.kind === "member") return step.name;
  const value = step.index.kind === "literal" ? step.index.value : undefined;
  return typeof value === "string" || typeof value === "number" ? value : undefined;
}

/** The members that are read of a name one after another, before anything else is. */
export function leadingMembers(steps: readonly Step[]): string[] {
  const names: string[] = [];
  for (const step of steps) {
    if (step.kind !== "member") break;
    names.push(step.name);
  }
  return names;
}

/** Follows one step into a value. */
export function stepOf(shape: Shape, key: string | number | undefined): Stepped {
  if (typeof key === "string") return memberShape(shape, key);
  const item = key === undefined ? undefined : shape.items?.at(key);
  const stepped = item ? { shape: item } : itemShape(shape);
  return key === undefined && !("shape" in stepped) ? { shape: {} } : stepped;
}
