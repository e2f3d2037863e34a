import { readExpression } from "./expressions.ts";
import { hintOf, proseHintOf, statementHintOf } from "./hints.ts";
import { tokenize } from "./lexer.ts";
import { LanguageError } from "./mistake.ts";
import { accept, at, expected, fault, peek, take, takeName, type Reader } from "./reader.ts";
import { says } from "./sentences.ts";
import type { Program, Statement } from "./syntax.ts";

/**
 * Parses a program: assignments and expressions, valid Starlark but for the constants `true`, `false` and `null` and
 * for f-strings. It may be indented as a whole. Throws LanguageError at the first fault.
 */
export function parse(source: string): Program {
  try {
    return read(source);
  } catch (error) {
    const prose = proseHintOf(source);
    if (prose === undefined) throw error;
    const before = /^\s*/.exec(source)?.[0].split(/\r\n|\r|\n/) ?? [];
    throw new LanguageError({ line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }, prose);
  }
}

function read(source: string): Program {
  const reader: Reader = { tokens: tokenize(source), next: 0, depth: 0, calls: 0, read: readExpression };
  const statements: Statement[] = [];
  skipLineEnds(reader);
  const { column } = peek(reader).at;
  while (!at(reader, "")) {
    if (peek(reader).at.column !== column) throw fault(reader, says.indentation);
    do statements.push(readStatement(reader));
    while (accept(reader, ";") && !at(reader, "\n", ""));
    if (!at(reader, "\n", "")) throw expected(reader, "the end of the line or `;`");
    skipLineEnds(reader);
  }
  if (statements.length === 0) throw fault(reader, says.nothing);
  return { statements };
}

function skipLineEnds(reader: Reader): void {
  while (accept(reader, "\n"));
}

function readStatement(reader: Reader): Statement {
  const { kind, text, at: place } = peek(reader);
  const following = peek(reader, 1).kind;
  const hint =
    kind === "reserved" ? hintOf(text) : kind !== "name" || following === "name" ? statementHintOf(text) : "";
  if (hint) throw fault(reader, hint);
  if (kind === "name" && following === "=") {
    const target = takeName(reader);
    take(reader);
    return { target, value: readExpression(reader), at: place };
  }
  const value = readExpression(reader);
  const wrong = new Map([
    ["=", says.target],
    [",", says.unpacking],
    [":", says.colon],
  ]).get(peek(reader).kind);
  if (wrong) throw fault(reader, wrong);
  return { value, at: place };
}
