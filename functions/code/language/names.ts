import type { Position } from "./ast.ts";
import { LanguageError } from "./errors.ts";
import { messages } from "./messages.ts";

/**
 * The constants of the language. `true`, `false` and `null` are accepted too, as JSON and other languages write them.
 */
export const constants = new Map([
  ["True", true],
  ["true", true],
  ["False", false],
  ["false", false],
  ["None", null],
  ["null", null],
]);

/** Tells whether a name has a special meaning for JavaScript objects. */
export const isForbidden = (name: string): boolean => /^(__proto__|constructor|prototype)$/.test(name);

/** Throws a syntax error at `at` if a name or key is forbidden. */
export function checkKey(name: string, at: Position): void {
  if (isForbidden(name)) throw new LanguageError(at, messages.forbidden(name));
}
