import type { Position } from "../language/ast.ts";
import { LanguageError } from "../language/errors.ts";
import { stepLimit, valueDepthLimit, valueLimitBytes } from "../language/limits.ts";

/** The steps a program has left besides its calls: one for each expression evaluated and each item made. */
export type StepBudget = { steps: number };

/** The steps and the calls that a program has left. */
export type Budget = StepBudget & { calls: number };

export const tooMuchWork = `The program takes more than ${stepLimit} steps besides its calls: make it do less.`;

/** Uses up steps; throws `too_much_work` if there are too few left. */
export function useSteps(budget: StepBudget, steps: number, at: Position): void {
  budget.steps -= steps;
  if (budget.steps < 0 || Number.isNaN(budget.steps)) {
    throw new LanguageError(at, tooMuchWork, { code: "too_much_work" });
  }
}

/** The size of a value. `members` counts the members of a dict or list. */
type Size = { bytes: number; depth: number; members: number };

/** Sizes by object. A part that occurs several times in a value is measured once but counted each time. */
const sizes = new WeakMap<object, Size>();

/** Estimates a value's length as JSON in bytes, and how deep it nests. */
export function sizeOf(value: unknown): Size {
  if (typeof value === "string") return { bytes: value.length + 2, depth: 0, members: 0 };
  if (typeof value !== "object" || value === null) return { bytes: 8, depth: 0, members: 0 };
  const cached = sizes.get(value);
  if (cached) return cached;
  const size = { bytes: 2, depth: 0, members: 0 };
  for (const [key, part] of Object.entries(value)) {
    const inner = sizeOf(part);
    size.bytes += inner.bytes + (Array.isArray(value) ? 1 : key.length + 4);
    size.depth = Math.max(size.depth, inner.depth);
    size.members += 1;
  }
  size.depth += 1;
  sizes.set(value, size);
  return size;
}

const tooLarge = (at: Position, most: string): LanguageError =>
  new LanguageError(at, `A value may ${most} at most.`, { code: "value_too_large" });

/** Throws `value_too_large` for a value of this size that is not made yet. */
export function requireRoom(bytes: number, at: Position): void {
  if (bytes > valueLimitBytes) throw tooLarge(at, `hold ${valueLimitBytes} bytes`);
}

/** Returns a value the program made; throws `value_too_large` if it is too long or nests too deep. */
export function requireSize<T>(value: T, budget: StepBudget, at: Position): T {
  if (Array.isArray(value)) useSteps(budget, value.length, at);
  if (typeof value === "string") useSteps(budget, value.length >> 4, at);
  const { bytes, depth } = sizeOf(value);
  if (depth > valueDepthLimit) throw tooLarge(at, `nest ${valueDepthLimit} deep`);
  requireRoom(bytes, at);
  return value;
}
