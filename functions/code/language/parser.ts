import type { Argument, Clause, Dict, Expression, Operation, Position, Program, Statement, Step } from "./ast.ts";
import { LanguageError } from "./errors.ts";
import { builtinHintOf, hintOf, isDictComprehension, methodHintOf, proseHintOf, statementHintOf } from "./hints.ts";
import { type Token, tokenize } from "./lexer.ts";
import { clip, says } from "./messages.ts";
import { checkKey, constants } from "./names.ts";

const nestingLimit = 32;

/** The tokens of a program, how far they are read, and what its limits count. */
type Reader = {
  tokens: readonly Token[];
  next: number;
  depth: number;
  calls: number;
  /** Reads the expression that is next. */
  read: (reader: Reader) => Expression;
};

const end: Token = { kind: "", text: "", value: "", at: { line: 1, column: 1 } };
const peek = ({ tokens, next }: Reader, ahead = 0): Token => tokens[next + ahead] ?? end;

/** Whether the next token is of one of these kinds. */
const at = (reader: Reader, ...kinds: string[]): boolean => kinds.includes(peek(reader).kind);

function take(reader: Reader): Token {
  const token = peek(reader);
  reader.next += 1;
  return token;
}

/** Takes the next token if it is of this kind. */
function accept(reader: Reader, kind: string): boolean {
  const found = at(reader, kind);
  if (found) take(reader);
  return found;
}

/** The error that something is wrong at the next token. */
const fault = (reader: Reader, message: string): LanguageError => new LanguageError(peek(reader).at, message);

/** The error that the next token is not what belongs there. */
function expected(reader: Reader, what: string): LanguageError {
  const { kind, text } = peek(reader);
  const names = new Map([
    ["", text === "}" ? "the `}` of the f-string" : "the end of the program"],
    ["\n", "the end of the line"],
  ]);
  const hint = kind === "reserved" ? hintOf(text) : kind === "if" ? hintOf("else") : undefined;
  return fault(reader, says.expected(what, names.get(kind) ?? `\`${clip(text)}\``, hint));
}

/** Reads something one level further in. */
function nested<T>(reader: Reader, read: () => T): T {
  reader.depth += 1;
  if (reader.depth > nestingLimit) {
    throw new LanguageError(peek(reader).at, says.nesting(nestingLimit), { code: "nesting_too_deep" });
  }
  const value = read();
  reader.depth -= 1;
  return value;
}

/** Reads what stands between the bracket that is next and `close`, separated by commas; the last comma is optional. */
function readBracketed(reader: Reader, close: string, readItem: () => void): void {
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
function takeName(reader: Reader): string {
  if (!at(reader, "name")) throw expected(reader, "a name");
  const { text, at: place } = take(reader);
  if (constants.has(text)) {
    reader.next -= 1;
    throw fault(reader, says.constant(text));
  }
  checkKey(text, place);
  return text;
}

const clauseLimit = 8;

/** Reads an f-string, each of its values from tokens of its own. */
function readFormat(reader: Reader): Expression {
  const { parts = [], at: place } = take(reader);
  const { tokens, next } = reader;
  const read = parts.map((part) => {
    if (typeof part === "string") return part;
    Object.assign(reader, { tokens: part, next: 0 });
    const value = nested(reader, () => reader.read(reader));
    if (!at(reader, "")) throw expected(reader, "`}` after the value of the f-string");
    return value;
  });
  Object.assign(reader, { tokens, next });
  return { kind: "format", parts: read, at: place };
}

/** Reads what stands in parentheses: one expression. */
function readParenthesized(reader: Reader): Expression {
  const { line, column } = peek(reader).at;
  return nested(reader, () => {
    take(reader);
    if (at(reader, ")")) throw fault(reader, says.tuple);
    const value = reader.read(reader);
    if (at(reader, ",")) throw fault(reader, says.tuple);
    if (at(reader, "for")) throw fault(reader, says.generator);
    if (!accept(reader, ")")) throw expected(reader, `\`)\` after the \`(\` of line ${line}, column ${column}`);
    return value;
  });
}

/** Reads one index in brackets. */
function readIndex(reader: Reader): Expression {
  const items: Expression[] = [];
  readBracketed(reader, "]", () => {
    if (items.length > 0) throw fault(reader, says.twoIndexes);
    if (!at(reader, ":")) items.push(reader.read(reader));
    if (at(reader, ":")) throw fault(reader, says.slice);
  });
  const [index] = items;
  if (!index) throw fault(reader, says.noIndex);
  if (index.kind === "literal") checkKey(String(index.value), index.at);
  return index;
}

/** Reads a list or a comprehension. */
function readList(reader: Reader): Expression {
  const place = peek(reader).at;
  const items: Expression[] = [];
  const clauses: Clause[] = [];
  readBracketed(reader, "]", () => {
    items.push(reader.read(reader));
    if (!at(reader, "for")) return;
    if (items.length > 1) throw fault(reader, says.twoElements);
    clauses.push(...readClauses(reader));
    if (!at(reader, "]")) throw expected(reader, "`]` after the comprehension");
  });
  const [element] = items;
  return element && clauses.length > 0
    ? { kind: "comprehension", element, clauses, at: place }
    : { kind: "list", items, at: place };
}

function readClauses(reader: Reader): Clause[] {
  const clauses: Clause[] = [];
  while (at(reader, "for", "if")) {
    if (clauses.length >= clauseLimit) throw fault(reader, says.clauses(clauseLimit));
    const { kind, at: place } = take(reader);
    if (kind === "if") clauses.push({ kind, test: reader.read(reader), at: place });
    else {
      const name = takeName(reader);
      if (at(reader, ",")) throw fault(reader, says.twoNames);
      if (!accept(reader, "in")) throw expected(reader, "`in` after the name of a `for`");
      clauses.push({ kind: "for", name, over: reader.read(reader), at: place });
    }
  }
  return clauses;
}

/** Reads a dict; a literal key may be there once. */
function readDict(reader: Reader): Expression {
  const place = peek(reader).at;
  const members: Dict["members"] = [];
  const known = new Set<unknown>();
  readBracketed(reader, "}", () => {
    const { kind, text } = peek(reader);
    if (kind === "name" && /^[:=]$/.test(peek(reader, 1).kind)) {
      const isComprehension = isDictComprehension(reader.tokens.slice(reader.next));
      throw fault(reader, isComprehension ? says.dictComprehension : says.keyQuotes(clip(text)));
    }
    const start = reader.next;
    const key = reader.read(reader);
    if (at(reader, ",", "}")) throw fault(reader, says.set);
    if (key.kind === "literal") {
      reader.next = start;
      if (typeof key.value !== "string") throw fault(reader, says.keyNotText);
      checkKey(key.value, key.at);
      if (known.has(key.value)) throw fault(reader, says.twice(clip(text)));
      reader.next = start + 1;
    }
    known.add(key.kind === "literal" ? key.value : key);
    if (!accept(reader, ":")) throw expected(reader, `\`:\` after ${clip(text)}`);
    members.push({ key, value: reader.read(reader) });
    if (at(reader, "for")) throw fault(reader, says.dictComprehension);
  });
  return { kind: "dict", members, at: place };
}

export const callLimit = 200;

/** How tightly operators bind, as in Starlark; `not` stands between `and` and the comparisons, which do not chain. */
const [negation, comparison, sign] = [3, 4, 6];
const levels = new Map([
  ["or", 1],
  ["and", 2],
  ...["==", "!=", "<", "<=", ">", ">=", "in", "not in"].map((sign): [string, number] => [sign, comparison]),
  ["+", 5],
]);

function operatorOf(reader: Reader): string {
  const { kind } = peek(reader);
  return kind === "not" && peek(reader, 1).kind === "in" ? "not in" : kind;
}

/** Reads an expression whose operators bind at least as tightly as `least`. */
function readExpression(reader: Reader, least = 1): Expression {
  let left = readOperand(reader, least);
  for (;;) {
    const operator = operatorOf(reader);
    const level = levels.get(operator) ?? 0;
    if (operator === "-") throw fault(reader, says.subtraction);
    if (level < least) return left;
    reader.next += operator === "not in" ? 2 : 1;
    const right = readExpression(reader, level + 1);
    if (left.kind === "operation" && left.operator === operator && level !== comparison) left.operands.push(right);
    else {
      const kind = operator as Operation["operator"];
      left = { kind: "operation", operator: kind, operands: [left, right], at: left.at };
    }
    if (level === comparison && levels.get(operatorOf(reader)) === comparison) throw fault(reader, says.chain);
  }
}

function readOperand(reader: Reader, least: number): Expression {
  const { kind, at } = peek(reader);
  if (kind === "-" || (kind === "not" && least <= negation)) {
    return nested(reader, () => {
      take(reader);
      const of = readExpression(reader, kind === "-" ? sign : negation);
      const isNumber = kind === "-" && of.kind === "literal" && typeof of.value === "number";
      return isNumber
        ? { kind: "literal", value: 0 - Number(of.value), at }
        : { kind: "unary", operator: kind, of, at };
    });
  }
  return readSteps(reader, readPrimary(reader));
}

function readPrimary(reader: Reader): Expression {
  const { kind, value, at } = peek(reader);
  switch (kind) {
    case "string":
    case "number":
      take(reader);
      return { kind: "literal", value, at };
    case "format":
      return readFormat(reader);
    case "[":
      return readList(reader);
    case "{":
      return readDict(reader);
    case "(":
      return readParenthesized(reader);
    case "name":
      return readName(reader);
    default:
      throw expected(reader, "a value or a call");
  }
}

/** Reads a constant, a variable, or a call: names with dots between them count as its function's only before a `(`. Of those
 * names one is a word that Starlark reserves, `dns_records.import`. */
function readName(reader: Reader): Expression {
  const { text, at: place } = peek(reader);
  const constant = constants.get(text);
  if (constant !== undefined) {
    take(reader);
    return { kind: "literal", value: constant, at: place };
  }
  const start = reader.next;
  const parts = [takeName(reader)];
  while (at(reader, ".") && /^(?:name|reserved)$/.test(peek(reader, 1).kind)) {
    take(reader);
    parts.push(at(reader, "reserved") ? take(reader).text : takeName(reader));
  }
  if (at(reader, "(")) {
    const name = parts.join(".");
    return name === "len" || name === "range" ? readBuiltin(reader, name, place) : readCall(reader, name, place);
  }
  reader.next = start + 1;
  return { kind: "name", name: text, at: place };
}

/** Reads the members and indexes after a value. */
function readSteps(reader: Reader, of: Expression): Expression {
  const steps: Step[] = [];
  while (at(reader, ".", "[")) {
    const { kind, at: place } = peek(reader);
    if (kind === "[") {
      steps.push({ kind: "index", index: readIndex(reader), at: place });
      continue;
    }
    take(reader);
    const { kind: word, text, at: named } = peek(reader);
    if (word !== "name" && /^[a-z]+$/.test(text)) throw fault(reader, says.word(text));
    steps.push({ kind: "member", name: takeName(reader), at: named });
  }
  if (at(reader, "(")) {
    const last = steps.at(-1);
    throw fault(reader, last?.kind === "member" ? methodHintOf(last.name, "x") : says.notCallable);
  }
  return steps.length > 0 ? { kind: "path", of, steps, at: of.at } : of;
}

function readBuiltin(reader: Reader, kind: "len" | "range", place: Position): Expression {
  const items: Expression[] = [];
  readBracketed(reader, ")", () => {
    items.push(readExpression(reader));
    if (at(reader, "for")) throw fault(reader, says.generator);
  });
  const [of] = items;
  if (!of || items.length > 1) throw new LanguageError(place, says.one(kind));
  return { kind, of, at: place };
}

function readCall(reader: Reader, name: string, at: Position): Expression {
  reader.calls += 1;
  if (reader.calls > callLimit) throw new LanguageError(at, says.calls(callLimit), { code: "too_many_calls" });
  const args: Argument[] = [];
  const known = new Set<string>();
  readBracketed(reader, ")", () => {
    const { kind, text, at } = peek(reader);
    const following = peek(reader, 1).kind;
    if (kind === "name" && following === ":") throw fault(reader, says.arrow(clip(text)));
    const argument = kind === "name" && following === "=" ? takeName(reader) : "";
    if (known.has(argument)) throw new LanguageError(at, says.twice(clip(argument)));
    if (argument !== "") {
      known.add(argument);
      take(reader);
    } else if (!/^(name|string|format|number|not|[[{(-])$/.test(kind)) throw expected(reader, "`name=value` or `)`");
    args.push({ name: argument, value: readExpression(reader), at });
    if (peek(reader).kind === "for") throw fault(reader, builtinHintOf(name) ?? says.generator);
  });
  return { kind: "call", name, args, at };
}

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
