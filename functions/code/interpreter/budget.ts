import type { Position } from "../language/ast.ts";
import { LanguageError } from "../language/errors.ts";
import { stepLimit, valueDepthLimit, valueLimitBytes } from "../language/limits.ts";

/** The steps that a program has left. Each expression that is evaluated and each item that is made takes a step. */
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

/** The size of a value: its length as JSON, how deep it nests, and the number of members of a dict or list. */
type Size = { bytes: number; depth: number; members: number };

/** Sizes by object. A part that occurs several times in a value is measured once and counted each time. */
const sizes = new WeakMap<object, Size>();

/** Estimates the size of a value. A character counts as a byte; a number, a boolean or None as 8 bytes. */
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

const tooLarge = (at: Position, message: string): LanguageError =>
  new LanguageError(at, message, { code: "value_too_large" });

/** Throws `value_too_large` if a value of `bytes` is too large. Call this function before the value is made. */
export function requireRoom(bytes: number, at: Position): void {
  if (bytes > valueLimitBytes) throw tooLarge(at, `A value may hold ${valueLimitBytes} bytes at most.`);
}

/**
 * Returns a value that the program made. Uses a step for each item of a list, or for every 16 characters of a text.
 * Throws:
 * - `value_too_large` if the value is too long or nests too deep
 * - `too_much_work` if too few steps are left
 */
export function requireSize<T>(value: T, budget: StepBudget, at: Position): T {
  if (Array.isArray(value)) useSteps(budget, value.length, at);
  if (typeof value === "string") useSteps(budget, value.length >> 4, at);
  const { bytes, depth } = sizeOf(value);
  if (depth > valueDepthLimit) throw tooLarge(at, `A value may nest ${valueDepthLimit} deep at most.`);
  requireRoom(bytes, at);
  return value;
}
