import type { Catalogue } from "./code-function.ts";
import type { ProgramError } from "./envelope.ts";
import type { Mistake } from "./mistake.ts";
import { parametersOf, signatureOf } from "./signature.ts";
import type { Position } from "./syntax.ts";

const shownMistakes = 5;
const windowChars = 100;

/**
 * What a caller reads about the first mistake: the sentence, the function's signature with types, and the line
 * with a caret. Up to four more mistakes follow with their sentences, so that one turn can mend them all.
 */
export function explain(
  [first, ...others]: [Mistake, ...Mistake[]],
  source: string,
  catalogue: Catalogue,
): ProgramError {
  const { code, message, at, detail } = first;
  const fn = first.function === undefined ? undefined : catalogue.get(first.function);
  const lines = [message, ...(fn ? [`Use: ${signatureOf(fn, true)}`] : []), pointAt(source, at)];
  const shown = others.slice(0, shownMistakes - 1);
  if (shown.length > 0) {
    lines.push(`${others.length} more ${others.length === 1 ? "mistake" : "mistakes"}:`);
    lines.push(...shown.map((other) => `line ${other.at.line}, column ${other.at.column}: ${other.message}`));
  }
  return {
    code,
    message: lines.join("\n"),
    ...(detail === undefined ? {} : { detail }),
    ...at,
    ...(fn ? { parameters: parametersOf(fn) } : {}),
  };
}

/** The line of a program with a caret under the column; of a long line, the part around it. */
function pointAt(source: string, { line, column }: Position): string {
  const text = Array.from(source.split(/\r\n|\r|\n/)[line - 1] ?? "");
  const from = Math.max(0, column - 1 - windowChars / 2);
  const shown = text.slice(from, from + windowChars);
  const padding = shown.slice(0, column - 1 - from).map((char) => (char === "\t" ? "\t" : " "));
  return `line ${line}, column ${column}:\n${shown.join("")}\n${padding.join("")}^`;
}
