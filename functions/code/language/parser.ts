import type { Access, Argument, Clause, Dict, Expression, Operation, Program, Statement } from "./ast.ts";
import { LanguageError } from "./errors.ts";
import { hintOf, isDictComprehension, proseHintOf, signHintOf, statementHintOf, unknownMethod } from "./hints.ts";
import { type Token, tokenize } from "./lexer.ts";
import { callLimit, clauseLimit, nestingLimit } from "./limits.ts";
import { clip, messages } from "./messages.ts";
import { checkKey, constants } from "./names.ts";

/** The names of the builtins, and the hints for builtins of Python that the language does not have. */
export type BuiltinNames = {
  functions: Pick<ReadonlyMap<string, unknown>, "has">;
  /** The methods, each with the least number of values that the method needs. */
  methods: ReadonlyMap<string, { least: number }>;
  missing: ReadonlyMap<string, string>;
};

/** The state of the parser: the tokens, the index of the next token, and the counts that are limited. */
type Parser = {
  tokens: readonly Token[];
  next: number;
  depth: number;
  calls: number;
  builtins: BuiltinNames;
};

const end: Token = { kind: "", text: "", value: "", at: { line: 1, column: 1 } };
const peek = ({ tokens, next }: Parser, ahead = 0): Token => tokens[next + ahead] ?? end;

/** Whether the next token is of one of these kinds. */
const isNext = (parser: Parser, ...kinds: string[]): boolean => kinds.includes(peek(parser).kind);

function next(parser: Parser): Token {
  const token = peek(parser);
  parser.next += 1;
  return token;
}

/** Takes the next token if it has this kind. Returns whether it took the token. */
function accept(parser: Parser, kind: string): boolean {
  const found = isNext(parser, kind);
  if (found) next(parser);
  return found;
}

/** A syntax error at the next token. */
const syntaxError = (parser: Parser, message: string): LanguageError => new LanguageError(peek(parser).at, message);

/** A syntax error that names the expected and the found token. */
function expected(parser: Parser, what: string): LanguageError {
  const { kind, text } = peek(parser);
  const names = new Map([
    ["", text === "}" ? "the `}` of the f-string" : "the end of the program"],
    ["\n", "the end of the line"],
  ]);
  const before = parser.tokens.slice(0, parser.next).map((token) => token.kind);
  const hint = /^(?:\*|\/\/|%)$/.test(kind) ? signHintOf(kind, before) : hintOf(text);
  return syntaxError(parser, messages.expected(what, names.get(kind) ?? `\`${clip(text)}\``, hint));
}

const tooDeep = (parser: Parser): LanguageError =>
  new LanguageError(peek(parser).at, messages.nesting(nestingLimit), { code: "nesting_too_deep" });

/** Runs `read` one nesting level deeper; throws `nesting_too_deep` beyond the limit. */
function nested<T>(parser: Parser, read: () => T): T {
  parser.depth += 1;
  if (parser.depth > nestingLimit) throw tooDeep(parser);
  const value = read();
  parser.depth -= 1;
  return value;
}

/** Reads a bracketed, comma-separated list up to `close`. A trailing comma is allowed. */
function parseBracketed(parser: Parser, close: string, readItem: () => void): void {
  const { text, at: opened } = peek(parser);
  nested(parser, () => {
    next(parser);
    while (!isNext(parser, close)) {
      readItem();
      if (!accept(parser, ",") && !isNext(parser, close)) {
        const opening = `the \`${text}\` of line ${opened.line}, column ${opened.column}`;
        throw expected(parser, `\`,\` or \`${close}\` after ${opening}`);
      }
    }
    next(parser);
  });
}

/** Takes a name. Throws for another token, a constant or a forbidden name. */
function takeName(parser: Parser): string {
  if (!isNext(parser, "name")) throw expected(parser, "a name");
  const { text, at: position } = next(parser);
  if (constants.has(text)) {
    parser.next -= 1;
    throw syntaxError(parser, messages.constant(text));
  }
  checkKey(text, position);
  return text;
}

/** Reads an f-string. Each value is parsed from its own tokens. */
function parseFormat(parser: Parser): Expression {
  const { parts = [], at: position } = next(parser);
  const { tokens, next: resumeAt } = parser;
  const values = parts.map((part) => {
    if (typeof part === "string") return part;
    Object.assign(parser, { tokens: part, next: 0 });
    const value = nested(parser, () => parseExpression(parser));
    if (!isNext(parser, "")) throw expected(parser, "`}` after the value of the f-string");
    return value;
  });
  Object.assign(parser, { tokens, next: resumeAt });
  return { kind: "format", parts: values, at: position };
}

/** Reads one expression in parentheses. */
function parseParenthesized(parser: Parser): Expression {
  const { line, column } = peek(parser).at;
  return nested(parser, () => {
    next(parser);
    if (isNext(parser, ")")) throw syntaxError(parser, messages.tuple);
    const value = parseExpression(parser);
    if (isNext(parser, ",")) throw syntaxError(parser, messages.tuple);
    if (isNext(parser, "for")) throw syntaxError(parser, messages.generator);
    if (!accept(parser, ")")) throw expected(parser, `\`)\` after the \`(\` of line ${line}, column ${column}`);
    return value;
  });
}

/** Reads an index or a slice in brackets. */
function parseIndex(parser: Parser): Access {
  const { at } = peek(parser);
  const bounds: (Expression | undefined)[] = [];
  const readBound = () => bounds.push(isNext(parser, ":", "]") ? undefined : parseExpression(parser));
  parseBracketed(parser, "]", () => {
    if (bounds.length > 0) throw syntaxError(parser, messages.twoIndexes);
    readBound();
    if (accept(parser, ":")) readBound();
    if (isNext(parser, ":")) throw syntaxError(parser, messages.step);
  });
  const [index, to] = bounds;
  if (bounds.length > 1) return { kind: "slice", from: index, to, at };
  if (!index) throw syntaxError(parser, messages.noIndex);
  if (index.kind === "literal") checkKey(String(index.value), index.at);
  return { kind: "index", index, at };
}

/** Reads a list or a comprehension. */
function parseList(parser: Parser): Expression {
  const position = peek(parser).at;
  const items: Expression[] = [];
  const clauses: Clause[] = [];
  parseBracketed(parser, "]", () => {
    items.push(parseExpression(parser));
    if (!isNext(parser, "for")) return;
    if (items.length > 1) throw syntaxError(parser, messages.twoElements);
    clauses.push(...parseClauses(parser));
    if (!isNext(parser, "]")) throw expected(parser, "`]` after the comprehension");
  });
  const [element] = items;
  return element && clauses.length > 0
    ? { kind: "comprehension", element, clauses, at: position }
    : { kind: "list", items, at: position };
}

function parseClauses(parser: Parser): Clause[] {
  const clauses: Clause[] = [];
  while (isNext(parser, "for", "if")) {
    if (clauses.length >= clauseLimit) throw syntaxError(parser, messages.clauses(clauseLimit));
    const { kind, at: position } = next(parser);
    if (kind === "if") clauses.push({ kind, test: parseOperation(parser), at: position });
    else {
      const names = [takeName(parser)];
      while (accept(parser, ",")) names.push(takeName(parser));
      if (!accept(parser, "in")) throw expected(parser, "`in` after the name of a `for`");
      clauses.push({ kind: "for", names, over: parseOperation(parser), at: position });
    }
  }
  return clauses;
}

/** Reads a dict. A literal key may occur only once. */
function parseDict(parser: Parser): Expression {
  const position = peek(parser).at;
  const members: Dict["members"] = [];
  const keys = new Set<string>();
  parseBracketed(parser, "}", () => {
    const { kind, text } = peek(parser);
    if (kind === "name" && /^[:=]$/.test(peek(parser, 1).kind)) {
      const isComprehension = isDictComprehension(parser.tokens.slice(parser.next));
      throw syntaxError(parser, isComprehension ? messages.dictComprehension : messages.keyQuotes(clip(text)));
    }
    const key = parseExpression(parser);
    if (isNext(parser, ",", "}")) throw syntaxError(parser, messages.set);
    if (key.kind === "literal") {
      if (typeof key.value !== "string") throw new LanguageError(key.at, messages.keyNotText);
      checkKey(key.value, key.at);
      if (keys.has(key.value)) throw new LanguageError(key.at, messages.keyTwice(key.value));
      keys.add(key.value);
    }
    if (!accept(parser, ":")) throw expected(parser, `\`:\` after ${clip(text)}`);
    members.push({ key, value: parseExpression(parser) });
    if (isNext(parser, "for")) throw syntaxError(parser, messages.dictComprehension);
  });
  return { kind: "dict", members, at: position };
}

/**
 * The precedence of operators, as in Starlark: operators of a higher level bind more tightly. `levels` has the
 * operators between two operands, from level 1. The level of `not` (`negation`) is between `and` and the comparisons.
 * The level of a `-` before one operand (`sign`) is above all others. Comparisons do not chain.
 */
const [negation, comparison, sign] = [3, 4, 7];
const levels = new Map(
  ["or", "and", "(not)", "== != < <= > >= in not_in", "+ -", "* // %"].flatMap((signs, level) =>
    signs.split(" ").map((sign) => [sign.replace("_", " "), level + 1] as const),
  ),
);

function operatorOf(parser: Parser): string {
  const { kind } = peek(parser);
  return kind === "not" && peek(parser, 1).kind === "in" ? "not in" : kind;
}

/** Reads an expression, which may be `x if test else y`. */
function parseExpression(parser: Parser): Expression {
  const value = parseOperation(parser);
  if (!accept(parser, "if")) return value;
  const test = parseOperation(parser);
  if (!isNext(parser, "else")) throw syntaxError(parser, messages.otherwise);
  return nested(parser, () => {
    next(parser);
    return { kind: "conditional", test, value, other: parseExpression(parser), at: value.at };
  });
}

/** Reads an expression whose operators bind at least as tightly as `least`. */
function parseOperation(parser: Parser, least = 1): Expression {
  let left = parseOperand(parser, least);
  // If the operator changes within one level, as in `a + b - c`, the operation so far becomes the left operand. The
  // nesting grows by one each time.
  for (let depth = parser.depth; ; depth += 1) {
    const operator = operatorOf(parser);
    const level = levels.get(operator) ?? 0;
    if (level < least) return left;
    parser.next += operator === "not in" ? 2 : 1;
    const right = parseOperation(parser, level + 1);
    if (left.kind === "operation" && left.operator === operator && level !== comparison) {
      left.operands.push(right);
      depth -= 1;
    } else {
      if (depth > nestingLimit) throw tooDeep(parser);
      const kind = operator as Operation["operator"];
      left = { kind: "operation", operator: kind, operands: [left, right], at: left.at };
    }
    if (level === comparison && levels.get(operatorOf(parser)) === comparison)
      throw syntaxError(parser, messages.chain);
  }
}

function parseOperand(parser: Parser, least: number): Expression {
  const { kind, at } = peek(parser);
  if (kind === "-" || (kind === "not" && least <= negation)) {
    return nested(parser, () => {
      next(parser);
      const of = parseOperation(parser, kind === "-" ? sign : negation);
      const isNumber = kind === "-" && of.kind === "literal" && typeof of.value === "number";
      return isNumber
        ? { kind: "literal", value: 0 - Number(of.value), at }
        : { kind: "unary", operator: kind, of, at };
    });
  }
  return parseAccesses(parser, parsePrimary(parser));
}

function parsePrimary(parser: Parser): Expression {
  const { kind, value, at } = peek(parser);
  switch (kind) {
    case "string":
    case "number":
      next(parser);
      return { kind: "literal", value, at };
    case "format":
      return parseFormat(parser);
    case "[":
      return parseList(parser);
    case "{":
      return parseDict(parser);
    case "(":
      return parseParenthesized(parser);
    case "name":
      return parseName(parser);
    default:
      throw expected(parser, "a value or a call");
  }
}

/**
 * Reads a constant, a variable or a call. A dotted name before a `(` is the name of a function, unless `isMethod` says
 * that the call is a method call. The parts after the first may be reserved words, as in `dns_records.import`.
 */
function parseName(parser: Parser): Expression {
  const { text, at: position } = peek(parser);
  const constant = constants.get(text);
  if (constant !== undefined) {
    next(parser);
    return { kind: "literal", value: constant, at: position };
  }
  const start = parser.next;
  const parts = [takeName(parser)];
  while (isNext(parser, ".") && /^(?:name|reserved)$/.test(peek(parser, 1).kind)) {
    next(parser);
    parts.push(isNext(parser, "reserved") ? next(parser).text : takeName(parser));
  }
  if (isNext(parser, "(") && (parts.length === 1 || !isMethod(parser, parts.at(-1)))) {
    const name = parts.join(".");
    if (parser.builtins.functions.has(name)) {
      return { kind: "builtin", name, args: parseArguments(parser), at: position };
    }
    parser.calls += 1;
    if (parser.calls > callLimit) {
      throw new LanguageError(position, messages.calls(callLimit), { code: "too_many_calls" });
    }
    return { kind: "call", name, args: parseArguments(parser, parser.builtins.missing.get(name)), at: position };
  }
  parser.next = start + 1;
  return { kind: "name", name: text, at: position };
}

/**
 * Whether a call is a method call. `name` is the last part of the dotted name, and the next token is the `(` of the
 * call.
 * - The first argument of a method has no name. The first argument of a function has a name.
 * - A call without arguments is a method call only if the method needs no values: `x.get()` calls a function.
 */
function isMethod(parser: Parser, name = ""): boolean {
  const least = parser.builtins.methods.get(name)?.least;
  const [first, second] = [peek(parser, 1).kind, peek(parser, 2).kind];
  if (first === ")") return least === 0;
  const isNamed = first === "name" && second === "=";
  return least !== undefined && !isNamed;
}

/** Reads the members, indexes, slices and method calls after a value. */
function parseAccesses(parser: Parser, of: Expression): Expression {
  const accesses: Access[] = [];
  while (isNext(parser, ".", "[")) {
    if (isNext(parser, "[")) {
      accesses.push(parseIndex(parser));
      continue;
    }
    next(parser);
    const { kind: word, text, at } = peek(parser);
    if (word !== "name" && /^[a-z]+$/.test(text)) throw syntaxError(parser, messages.word(text));
    const name = takeName(parser);
    if (!isNext(parser, "(")) accesses.push({ kind: "member", name, at });
    else if (parser.builtins.methods.has(name))
      accesses.push({ kind: "method", name, args: parseArguments(parser), at });
    else throw unknownMethod(peek(parser).at, name, parser.builtins.methods.keys());
  }
  if (isNext(parser, "(")) throw syntaxError(parser, messages.notCallable);
  return accesses.length > 0 ? { kind: "path", of, accesses, at: of.at } : of;
}

/**
 * Reads the arguments of a call. A name may occur only once. `generatorHint` is the message for a `for` in an argument.
 */
function parseArguments(parser: Parser, generatorHint: string = messages.generator): Argument[] {
  const args: Argument[] = [];
  const names = new Set<string>();
  parseBracketed(parser, ")", () => {
    const { kind, text, at } = peek(parser);
    const following = peek(parser, 1).kind;
    if (kind === "name" && following === ":") throw syntaxError(parser, messages.arrow(clip(text)));
    const argument = kind === "name" && following === "=" ? takeName(parser) : "";
    if (names.has(argument)) throw new LanguageError(at, messages.twice(clip(argument)));
    if (argument !== "") {
      names.add(argument);
      next(parser);
    } else if (!/^(name|string|format|number|not|[[{(-])$/.test(kind)) throw expected(parser, "`name=value` or `)`");
    args.push({ name: argument, value: parseExpression(parser), at });
    if (isNext(parser, "for")) throw syntaxError(parser, generatorHint);
  });
  return args;
}

/**
 * Parses a program of assignments and expressions. The whole program may be indented. Without its indentation, a
 * program is valid Starlark, except for f-strings, the constants `true`, `false` and `null`, reserved words in the
 * names of functions, and a Markdown fence around the program. Throws LanguageError at the first mistake.
 */
export function parse(source: string, builtins: BuiltinNames): Program {
  try {
    return parseStatements(source, builtins);
  } catch (error) {
    const prose = proseHintOf(source, builtins.missing);
    if (prose === undefined) throw error;
    const before = /^\s*/.exec(source)?.[0].split(/\r\n|\r|\n/) ?? [];
    throw new LanguageError({ line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }, prose);
  }
}

function parseStatements(source: string, builtins: BuiltinNames): Program {
  const parser: Parser = { tokens: tokenize(source), next: 0, depth: 0, calls: 0, builtins };
  const statements: Statement[] = [];
  skipLineEnds(parser);
  const { column } = peek(parser).at;
  while (!isNext(parser, "")) {
    if (peek(parser).at.column !== column) throw syntaxError(parser, messages.indentation);
    do statements.push(parseStatement(parser));
    while (accept(parser, ";") && !isNext(parser, "\n", ""));
    if (!isNext(parser, "\n", "")) throw expected(parser, "the end of the line or `;`");
    skipLineEnds(parser);
  }
  if (statements.length === 0) throw syntaxError(parser, messages.nothing);
  return { statements };
}

function skipLineEnds(parser: Parser): void {
  while (accept(parser, "\n"));
}

function parseStatement(parser: Parser): Statement {
  const { kind, text, at: position } = peek(parser);
  const following = peek(parser, 1).kind;
  // In `let = 1`, the word is a variable. In `let x = 1`, the word begins a statement of another language.
  const mayBeVariable = kind === "name" && following !== "name";
  const statementHint = mayBeVariable ? undefined : statementHintOf(text);
  const hint = kind === "reserved" ? hintOf(text) : statementHint;
  if (hint !== undefined) throw syntaxError(parser, hint);
  if (kind === "name" && following === "=") {
    const target = takeName(parser);
    next(parser);
    return { target, value: parseExpression(parser), at: position };
  }
  const value = parseExpression(parser);
  const wrong = new Map([
    ["=", messages.target],
    [",", messages.unpacking],
    [":", messages.colon],
  ]).get(peek(parser).kind);
  if (wrong) throw syntaxError(parser, wrong);
  return { value, at: position };
}
