import { hintOf } from "./hints.ts";
import type { Token } from "./lexer.ts";
import { LanguageError } from "./mistake.ts";
import { checkKey, constants } from "./names.ts";
import { clip, says } from "./sentences.ts";
import type { Expression } from "./syntax.ts";

export const nestingLimit = 32;

/** The tokens of a program, how far they are read, and what its limits count. */
export type Reader = {
  tokens: readonly Token[];
  next: number;
  depth: number;
  calls: number;
  /** Reads the expression that is next. */
  read: (reader: Reader) => Expression;
};

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

/** The error that something is wrong at the next token. */
export const fault = (reader: Reader, message: string): LanguageError => new LanguageError(peek(reader).at, message);

/** The error that the next token is not what belongs there. */
export function expected(reader: Reader, what: string): LanguageError {
  const { kind, text } = peek(reader);
  const names = new Map([
    ["", text === "}" ? "the `}` of the f-string" : "the end of the program"],
    ["\n", "the end of the line"],
  ]);
  const hint = kind === "reserved" ? hintOf(text) : kind === "if" ? hintOf("else") : undefined;
  return fault(reader, says.expected(what, names.get(kind) ?? `\`${clip(text)}\``, hint));
}

/** Reads something one level further in. */
export function nested<T>(reader: Reader, read: () => T): T {
  reader.depth += 1;
  if (reader.depth > nestingLimit) {
    throw new LanguageError(peek(reader).at, says.nesting(nestingLimit), { code: "nesting_too_deep" });
  }
  const value = read();
  reader.depth -= 1;
  return value;
}

/** Reads what stands between the bracket that is next and `close`, separated by commas; the last comma is optional. */
export function readBracketed(reader: Reader, close: string, readItem: () => void): void {
  const { text, at: opened } = peek(reader);
  nested(reader, () => {
    take(reader);
    while (!at(reader, close)) {
      readItem();
      if (!accept(reader, ",") && !at(reader, close)) {
        const place = `the \`${text}\` of line ${opened.line}, column ${opened.column}`;
        throw expected(reader, `\`,\` or \`${close}\` after ${place}`);
      }
    }
    take(reader);
  });
}

/** Takes a name that is no constant, and not forbidden. */
export function takeName(reader: Reader): string {
  if (!at(reader, "name")) throw expected(reader, "a name");
  const { text, at: place } = take(reader);
  if (constants.has(text)) {
    reader.next -= 1;
    throw fault(reader, says.constant(text));
  }
  checkKey(text, place);
  return text;
}
