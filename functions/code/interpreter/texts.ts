import type { Position } from "../language/ast.ts";
import { type StepBudget, requireRoom, useSteps } from "./budget.ts";

/*
 * Indexes and lengths of texts count characters (code points). Other implementations of Starlark count bytes or UTF-16
 * code units.
 */

const surrogate = /[\ud800-\udfff]/;
const space = /\p{White_Space}/u;

/** The characters of a text. */
export function charactersOf(text: string, budget: StepBudget, at: Position): string[] {
  useSteps(budget, text.length >> 2, at);
  return Array.from(text);
}

/** The number of characters of a text. */
export function lengthOf(text: string, budget: StepBudget, at: Position): number {
  useSteps(budget, text.length >> 4, at);
  return surrogate.test(text) ? Array.from(text).length : text.length;
}

/** The items of a list, or the characters of a text, between two indexes. Negative indexes count from the end. */
export function sliceOf(
  value: string | unknown[],
  [from, to]: readonly [number | undefined, number | undefined],
  budget: StepBudget,
  at: Position,
): string | unknown[] {
  if (typeof value !== "string") return value.slice(from, to);
  useSteps(budget, value.length >> 6, at);
  if (!surrogate.test(value)) return value.slice(from, to);
  return charactersOf(value, budget, at).slice(from, to).join("");
}

/** Uses the steps of a search, in proportion to the length of the text times the length of the part. */
export const useSearchSteps = (text: string, part: string, budget: StepBudget, at: Position): void =>
  useSteps(budget, Math.ceil((text.length * Math.max(1, part.length)) / 4096), at);

/** The index of the first occurrence of `part` in a text; -1 if there is none. */
export function findText(text: string, part: string, budget: StepBudget, at: Position): number {
  useSearchSteps(text, part, budget, at);
  const index = text.indexOf(part);
  return index < 0 ? index : lengthOf(text.slice(0, index), budget, at);
}

/** Removes the characters of `cut` from both ends of a text. Without `cut`, removes Unicode's White_Space. */
export function strip(text: string, cut: string | undefined, budget: StepBudget, at: Position): string {
  useSteps(budget, (cut?.length ?? 0) >> 2, at);
  const set = new Set(cut);
  const isKept = (char: string): boolean => (cut === undefined ? !space.test(char) : !set.has(char));
  const characters = charactersOf(text, budget, at);
  const first = characters.findIndex(isKept);
  return first < 0 ? "" : characters.slice(first, characters.findLastIndex(isKept) + 1).join("");
}

/** The parts of a text between separators. Without a separator: the words between white space. */
export function split(text: string, separator: string | undefined, budget: StepBudget, at: Position): string[] {
  useSearchSteps(text, separator ?? "", budget, at);
  // The caller refuses a list with more items than the program has steps left, so the split stops there. White space at
  // the start makes an empty part, which is dropped, so the split makes one more part.
  const most = Math.max(0, budget.steps) + 2;
  if (separator !== undefined) return text.split(separator, most);
  return text.split(/\p{White_Space}+/u, most).filter((word) => word !== "");
}

/** Joins texts with a separator between them. */
export function join(texts: readonly string[], separator: string, at: Position): string {
  const chars = texts.reduce((sum, text) => sum + text.length, 0);
  requireRoom(chars + separator.length * (texts.length - 1), at);
  return texts.join(separator);
}

/** The letter that stands for each control character after a backslash: `n` for a line feed. */
const letters = new Map(
  Object.entries({ "\x07": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v" }),
);

/** Writes a text as the source of a Starlark program, in double quotes. */
export const quote = (text: string): string => `"${text.replace(/["\\\p{Cc}]/gu, escaped)}"`;

function escaped(char: string): string {
  if (char === '"' || char === "\\") return `\\${char}`;
  const code = char.charCodeAt(0).toString(16);
  const hexEscape = char < "\x80" ? `x${code.padStart(2, "0")}` : `u${code.padStart(4, "0")}`;
  return `\\${letters.get(char) ?? hexEscape}`;
}
