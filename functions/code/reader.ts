import type { Token } from "./lexer.ts";
import { clip, LanguageError } from "./mistake.ts";

export const nestingLimit = 32;

/** The tokens of a program, how far they are read, and what its limits count. */
export type Reader = { tokens: readonly Token[]; next: number; depth: number; calls: number };

const end: Token = { kind: "", text: "", value: "", at: { line: 1, column: 1 } };
export const peek = ({ tokens, next }: Reader, ahead = 0): Token => tokens[next + ahead] ?? end;

/** Whether the next token is of one of these kinds. */
export const at = (reader: Reader, ...kinds: string[]): boolean => kinds.includes(peek(reader).kind);

export function take(reader: Reader): Token {
  const token = peek(reader);
  reader.next += 1;
  return token;
}

/** Takes the next token if it is of this kind. */
export function accept(reader: Reader, kind: string): boolean {
  const found = at(reader, kind);
  if (found) take(reader);
  return found;
}

/** The error that the next token is not what belongs there. */
export function expected(reader: Reader, what: string): LanguageError {
  const { kind, text, at } = peek(reader);
  const shown = kind === "" ? "the end of the program" : kind === "\n" ? "the end of the line" : `\`${clip(text)}\``;
  return new LanguageError(at, `Expected ${what}, but found ${shown}.`);
}

/** Reads what stands between the bracket that is next and `close`, separated by commas; the last comma is optional. */
export function readBracketed(reader: Reader, close: string, readItem: () => void): void {
  const { text, at: opened } = take(reader);
  reader.depth += 1;
  if (reader.depth > nestingLimit) {
    throw new LanguageError(opened, `Brackets nest ${nestingLimit} deep at most.`, { code: "nesting_too_deep" });
  }
  while (!at(reader, close)) {
    readItem();
    if (!accept(reader, ",") && !at(reader, close)) {
      throw expected(
        reader,
        `\`,\` or \`${close}\` after the \`${text}\` of line ${opened.line}, column ${opened.column}`,
      );
    }
  }
  take(reader);
  reader.depth -= 1;
}
