import type { Position } from "../language/ast.ts";
import { type StepBudget, requireRoom, useSteps } from "./budget.ts";

/*
 * Places and lengths in texts count characters (code points), where Starlark's are of bytes or UTF-16 code units.
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

/** The items of a list or the characters of a text from one place to another. Negative ones count from the end. */
export function sliceOf(
  value: string | unknown[],
  [from, to]: readonly [number | undefined, number | undefined],
  budget: StepBudget,
  at: Position,
): string | unknown[] {
  if (typeof value !== "string" || !surrogate.test(value)) return value.slice(from, to);
  return charactersOf(value, budget, at).slice(from, to).join("");
}

/** The steps of a search for a part in a text: it compares at most every character with every other. */
export const useSearch = (text: string, part: string, budget: StepBudget, at: Position): void =>
  useSteps(budget, Math.ceil((text.length * Math.max(1, part.length)) / 4096), at);

/** The place of a part in a text; -1 if it is not there. */
export function placeOf(text: string, part: string, budget: StepBudget, at: Position): number {
  useSearch(text, part, budget, at);
  const index = text.indexOf(part);
  return index < 0 ? index : lengthOf(text.slice(0, index), budget, at);
}

/** A text without the characters at both ends that are in `cut`; if it is empty, those of Unicode's White_Space. */
export function strip(text: string, cut: string, budget: StepBudget, at: Position): string {
  const set = new Set(cut);
  const isLeft = (char: string): boolean => (cut === "" ? !space.test(char) : !set.has(char));
  const characters = charactersOf(text, budget, at);
  const first = characters.findIndex(isLeft);
  return first < 0 ? "" : characters.slice(first, characters.findLastIndex(isLeft) + 1).join("");
}

/** The parts of a text between separators; without one, its words between white space. */
export function split(text: string, separator: string | undefined, budget: StepBudget, at: Position): string[] {
  useSearch(text, separator ?? "", budget, at);
  // More parts than there are steps are refused when the list is counted.
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

const letters = new Map(
  Object.entries({ "\x07": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v" }),
);

/** A text as Starlark writes it in a program, in double quotes. */
export const quote = (text: string): string => `"${text.replace(/["\\\p{Cc}]/gu, escaped)}"`;

function escaped(char: string): string {
  if (char === '"' || char === "\\") return `\\${char}`;
  return `\\${letters.get(char) ?? `x${char.charCodeAt(0).toString(16).padStart(2, "0")}`}`;
}
