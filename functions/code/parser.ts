import { tokenize, type Token } from "./lexer.ts";
import { clip, LanguageError } from "./mistake.ts";
import { accept, at, expected, peek, readBracketed, take, type Reader } from "./reader.ts";
import type { Expression, Member, Program, Statement } from "./syntax.ts";

export const callLimit = 200;

const constants = new Map([
  ["True", true],
  ["true", true],
  ["False", false],
  ["false", false],
  ["None", null],
  ["null", null],
]);

/**
 * Parses a program: calls with keyword arguments and literals, valid Starlark but for the constants
 * `true`, `false` and `null`. It may be indented as a whole. Throws LanguageError at the first fault.
 */
export function parse(source: string): Program {
  const reader: Reader = { tokens: tokenize(source), next: 0, depth: 0, calls: 0 };
  const statements: Statement[] = [];
  skipLineEnds(reader);
  const { column } = peek(reader).at;
  while (!at(reader, "")) {
    if (peek(reader).at.column !== column) throw fault(peek(reader), "Every line is indented like the first.");
    do statements.push(readStatement(reader));
    while (accept(reader, ";") && !at(reader, "\n", ""));
    if (!at(reader, "\n", "")) throw expected(reader, "the end of the line or `;`");
    skipLineEnds(reader);
  }
  if (statements.length === 0) throw fault(peek(reader), "The program holds no call.");
  return { statements };
}

function skipLineEnds(reader: Reader): void {
  while (accept(reader, "\n"));
}

const fault = (token: Token, message: string): LanguageError => new LanguageError(token.at, message);

/** Takes a name or key; refuses those that mean something to a JavaScript object. */
function takeName(reader: Reader): string {
  const token = take(reader);
  const name = String(token.value);
  if (/^(__proto__|constructor|prototype)$/.test(name)) throw fault(token, `The name ${name} is not allowed.`);
  return name;
}

function readStatement(reader: Reader): Statement {
  const first = peek(reader);
  const parts: string[] = [];
  do {
    if (!at(reader, "name")) throw expected(reader, "a call such as `accounts.list(page=1)`");
    parts.push(takeName(reader));
  } while (accept(reader, "."));
  const name = parts.join(".");
  if (at(reader, "=")) throw fault(peek(reader), "A result cannot be given a name: write the call alone.");
  if (!at(reader, "(")) throw expected(reader, `\`(\` after ${clip(name)}`);
  return readCall(reader, name, first);
}

function readCall(reader: Reader, name: string, { at }: Token): Statement {
  reader.calls += 1;
  if (reader.calls > callLimit) {
    throw new LanguageError(at, `A program holds ${callLimit} calls at most.`, { code: "too_many_calls" });
  }
  const args = new Map<string, Member>();
  readBracketed(reader, ")", () => {
    const { kind, at } = peek(reader);
    if (kind !== "name" || peek(reader, 1).kind !== "=") {
      if (!/^(name|string|number|[[{(-])$/.test(kind)) throw expected(reader, "`name=value` or `)`");
      throw new LanguageError(at, `${clip(name)} takes its arguments by name: write \`name=value\`.`, {
        function: name,
      });
    }
    readMember(reader, args, "=");
  });
  return { kind: "call", name, args: [...args.values()], at };
}

function readMember(reader: Reader, members: Map<string, Member>, separator: "=" | ":"): void {
  const token = peek(reader);
  const name = takeName(reader);
  if (members.has(name)) throw fault(token, `${clip(token.text)} is given twice.`);
  if (!accept(reader, separator)) throw expected(reader, `\`${separator}\` after ${clip(token.text)}`);
  members.set(name, { name, value: readValue(reader), at: token.at });
}

function readValue(reader: Reader): Expression {
  const { kind, value, at } = peek(reader);
  switch (kind) {
    case "string":
    case "number":
      take(reader);
      return { kind: "literal", value, at };
    case "-":
      take(reader);
      if (peek(reader).kind !== "number") throw expected(reader, "a number after `-`");
      return { kind: "literal", value: 0 - Number(take(reader).value), at };
    case "[": {
      const items: Expression[] = [];
      readBracketed(reader, "]", () => items.push(readValue(reader)));
      return { kind: "list", items, at };
    }
    case "{":
      return readDict(reader);
    case "name":
      return readConstant(reader);
    default:
      throw expected(reader, "a value");
  }
}

function readConstant(reader: Reader): Expression {
  const token = take(reader);
  const value = constants.get(token.text);
  if (value !== undefined) return { kind: "literal", value, at: token.at };
  if (at(reader, "(", ".")) throw fault(token, "An argument is a literal value: it cannot hold a call.");
  throw fault(token, `\`${clip(token.text)}\` is not a value: text needs quotes.`);
}

function readDict(reader: Reader): Expression {
  const start = peek(reader);
  const members = new Map<string, Member>();
  readBracketed(reader, "}", () => {
    if (!at(reader, "string")) throw expected(reader, "a key in quotes");
    readMember(reader, members, ":");
  });
  return { kind: "dict", members: [...members.values()], at: start.at };
}
