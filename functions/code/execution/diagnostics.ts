import type { Catalogue } from "../catalogue/function.ts";
import { parametersOf, signatureOf } from "../catalogue/signature.ts";
import type { ProgramError } from "../envelope.ts";
import type { Position } from "../language/ast.ts";
import type { Diagnostic } from "../language/errors.ts";
import { clip } from "../language/messages.ts";

const shownMistakes = 5;
const windowChars = 100;
/** How long a sentence may be: that of the first mistake, and of those after it. */
const [firstChars, otherChars] = [4_096, 500];
/** Of what REST would say of the input, as much as a caller mends at once. */
const shownDetails = 20;

/**
 * What a caller reads about the first mistake: the sentence, the function's signature with types, and the line
 * with a caret. Up to four more mistakes follow with their sentences, so that one turn can mend them all.
 */
export function explain(
  [first, ...rest]: [Diagnostic, ...Diagnostic[]],
  source: string,
  catalogue: Catalogue,
): ProgramError {
  const { code, message, at, detail } = first;
  const fn = first.function === undefined ? undefined : catalogue.get(first.function);
  const lines = [clip(message, firstChars), ...(fn ? [`Use: ${signatureOf(fn, true)}`] : []), pointAt(source, at)];
  const others = [...(first.also ?? []), ...rest];
  const shown = others.slice(0, shownMistakes - 1);
  if (shown.length > 0) {
    const some = others.length > shown.length ? `, the first ${shown.length} of them` : "";
    lines.push(`${others.length} more ${others.length === 1 ? "mistake" : "mistakes"}${some}:`);
    lines.push(
      ...shown.map((other) => `line ${other.at.line}, column ${other.at.column}: ${clip(other.message, otherChars)}`),
    );
  }
  return {
    code,
    message: lines.join("\n"),
    ...(detail === undefined ? {} : { detail: Array.isArray(detail) ? detail.slice(0, shownDetails) : detail }),
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
