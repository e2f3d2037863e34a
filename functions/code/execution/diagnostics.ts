import type { Catalogue } from "../catalogue/function.ts";
import { parametersOf, signatureOf } from "../catalogue/signature.ts";
import type { ProgramError } from "../envelope.ts";
import type { Position } from "../language/ast.ts";
import type { Diagnostic } from "../language/errors.ts";
import { clip } from "../language/messages.ts";

/** The most mistakes that a message names. */
const shownDiagnostics = 5;
/** The most characters of a line that a message shows. */
const windowChars = 100;
/** The most characters in the message of the first mistake, and in the message of each further mistake. */
const [firstChars, otherChars] = [4_096, 500];
/** The most input errors that `detail` lists. */
const shownDetails = 20;

/**
 * Formats mistakes for the caller:
 * - the first mistake: its message, the function's signature with types, and the line with a caret
 * - the messages of up to four more mistakes, so that the caller can correct them together
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
  const shown = others.slice(0, shownDiagnostics - 1);
  if (shown.length > 0) {
    const extent = others.length > shown.length ? `, the first ${shown.length} of them` : "";
    lines.push(`${others.length} more ${others.length === 1 ? "mistake" : "mistakes"}${extent}:`);
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

/** Shows a line of the program with a caret under the column. A long line is cut to the part around the column. */
function pointAt(source: string, { line, column }: Position): string {
  const text = Array.from(source.split(/\r\n|\r|\n/)[line - 1] ?? "");
  const from = Math.max(0, column - 1 - windowChars / 2);
  const shown = text.slice(from, from + windowChars);
  const padding = shown.slice(0, column - 1 - from).map((char) => (char === "\t" ? "\t" : " "));
  return `line ${line}, column ${column}:\n${shown.join("")}\n${padding.join("")}^`;
}
