import { clip } from "./messages.ts";

/** A position in a program. Lines and columns count from 1; a column is one Unicode character. */
export type Position = { line: number; column: number };

type Node<Kind extends string, Members = unknown> = {
  kind: Kind;
  at: Position;
  /** The calls in the node. `callsIn` stores them here when it first finds them. */
  calls?: readonly Call[];
  /**
   * The number of calls that every evaluation of the node makes. The function `leastCalls` stores the number here when
   * it first counts the calls.
   */
  leastCalls?: number;
} & Members;

type Literal = Node<"literal", { value: string | number | boolean | null }>;
type List = Node<"list", { items: Expression[] }>;
/** The keys of a dict are expressions: most are literal texts. */
export type Dict = Node<"dict", { members: { key: Expression; value: Expression }[] }>;
export type Name = Node<"name", { name: string }>;
/** `of.name[index].method()`. All accesses are in one node, so that a long chain does not nest deeply. */
export type Path = Node<"path", { of: Expression; accesses: Access[] }>;
export type Access =
  | Node<"member", { name: string }>
  | Node<"index", { index: Expression }>
  | Node<"slice", { from?: Expression | undefined; to?: Expression | undefined }>
  | Method;
/** A call of a method of the language, positioned at the method's name. */
export type Method = Node<"method", { name: string; args: Argument[] }>;
export type Unary = Node<"unary", { operator: "not" | "-"; of: Expression }>;
export type Comparison = "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in";
export type Arithmetic = "+" | "-" | "*" | "//" | "%";
/** Operands that one operator joins, in source order. A comparison has two operands. */
export type Operation = Node<"operation", { operator: "or" | "and" | Arithmetic | Comparison; operands: Expression[] }>;
/** `value if test else other` */
type Conditional = Node<"conditional", { test: Expression; value: Expression; other: Expression }>;
/** The texts and values of an f-string, in their order. */
type Format = Node<"format", { parts: (string | Expression)[] }>;
/** A `for` with several names unpacks each item, which is a list. */
export type ForClause = Node<"for", { names: string[]; over: Expression }>;
export type Clause = ForClause | Node<"if", { test: Expression }>;
export type Comprehension = Node<
  "comprehension",
  {
    element: Expression;
    clauses: Clause[];
    /** The calls after each clause. The function `callsAfter` stores them here when it first finds them. */
    callsAfter?: readonly (readonly Call[])[];
  }
>;

/**
 * An argument, positioned at its name. The name is empty if the program gives only a value. Only builtins and methods
 * take such an argument.
 */
export type Argument = { name: string; value: Expression; at: Position };
/** A call of a function of the API. */
export type Call = Node<"call", { name: string; args: Argument[] }>;
/** A call of a function of the language. */
export type BuiltinCall = Node<"builtin", { name: string; args: Argument[] }>;

export type Expression =
  | Literal
  | List
  | Dict
  | Name
  | Path
  | Unary
  | Operation
  | Conditional
  | Format
  | Comprehension
  | BuiltinCall
  | Call;

/** `target = value`, or `value` alone. */
export type Statement = { target?: string; value: Expression; at: Position };

/** A parsed program. Its statements are in source order. */
export type Program = { statements: Statement[] };

/** The direct child expressions of an expression, in the order of evaluation. */
export function subexpressions(node: Expression): Expression[] {
  switch (node.kind) {
    case "literal":
    case "name":
      return [];
    case "list":
      return node.items;
    case "dict":
      return node.members.flatMap(({ key, value }) => [key, value]);
    case "path":
      return [node.of, ...node.accesses.flatMap(expressionsIn)];
    case "operation":
      return node.operands;
    case "conditional":
      return [node.test, node.value, node.other];
    case "format":
      return node.parts.filter((part) => typeof part !== "string");
    case "comprehension":
      return [...node.clauses.map((clause) => (clause.kind === "for" ? clause.over : clause.test)), node.element];
    case "call":
    case "builtin":
      return node.args.map(({ value }) => value);
    default:
      return [node.of];
  }
}

/** The expressions in an access, in the order of evaluation. */
export function expressionsIn(access: Access): Expression[] {
  if (access.kind === "index") return [access.index];
  if (access.kind === "method") return access.args.map(({ value }) => value);
  return access.kind === "slice" ? [access.from, access.to].filter((bound) => bound !== undefined) : [];
}

const none: readonly Call[] = [];

/** The calls in an expression, in the order in which they are made. A call contains itself. */
export function callsIn(node: Expression): readonly Call[] {
  if (node.kind === "literal" || node.kind === "name") return none;
  if (node.calls) return node.calls;
  const inside = subexpressions(node).flatMap(callsIn);
  const calls = node.kind === "call" ? [...inside, node] : inside;
  node.calls = calls.length > 0 ? calls : none;
  return node.calls;
}

/**
 * The calls that a comprehension can make for each item of its clause at index `clause`. These calls are in later
 * clauses and in the element.
 */
export function callsAfter(node: Comprehension, clause: number): readonly Call[] {
  if (callsIn(node).length === 0) return none;
  if (!node.callsAfter) {
    const parts = subexpressions(node);
    node.callsAfter = node.clauses.map((_, index) => parts.slice(index + 1).flatMap(callsIn));
  }
  return node.callsAfter[clause] ?? none;
}

/**
 * The number of calls that every evaluation of an expression makes. Calls that depend on a condition, or on the length
 * of a list, do not count.
 */
export function leastCalls(node: Expression): number {
  if (callsIn(node).length === 0) return 0;
  if (node.leastCalls !== undefined) return node.leastCalls;
  const parts = subexpressions(node);
  const isChoice = node.kind === "operation" && (node.operator === "and" || node.operator === "or");
  const certain = isChoice || node.kind === "conditional" || node.kind === "comprehension" ? parts.slice(0, 1) : parts;
  node.leastCalls = certain.reduce((sum, part) => sum + leastCalls(part), node.kind === "call" ? 1 : 0);
  return node.leastCalls;
}

/** The least number of calls that a comprehension makes for each item of its clause at index `clause`. */
export function leastCallsAfter(node: Comprehension, clause: number): number {
  const next = subexpressions(node)[clause + 1];
  return next ? leastCalls(next) : 0;
}

/**
 * Names an expression in a message, such as `page.items`, `f(…)` or `the list`. Of a path, only the first `accessCount`
 * accesses are shown. The default is all accesses.
 */
export const describeExpression = (node: Expression, accessCount?: number): string =>
  clip(fullDescription(node, accessCount));

function fullDescription(node: Expression, accessCount = Number.POSITIVE_INFINITY): string {
  switch (node.kind) {
    case "name":
      return node.name;
    case "call":
      return `${node.name}(…)`;
    case "path":
      return fullDescription(node.of) + node.accesses.slice(0, accessCount).map(describeAccess).join("");
    case "comprehension":
      return "[…]";
    case "list":
      return "the list";
    case "dict":
      return "the dict";
    default:
      return "the value";
  }
}

function describeAccess(access: Access): string {
  if (access.kind === "member") return `.${access.name}`;
  if (access.kind === "method") return `.${access.name}(…)`;
  if (access.kind === "slice") return "[…:…]";
  return `[${access.index.kind === "literal" ? JSON.stringify(access.index.value) : "…"}]`;
}

/** The literal key or index of an access; undefined if the access has none. */
export function literalKey(access: Access): string | number | undefined {
  if (access.kind === "member") return access.name;
  if (access.kind !== "index") return undefined;
  const value = access.index.kind === "literal" ? access.index.value : undefined;
  return typeof value === "string" || typeof value === "number" ? value : undefined;
}

/** The names at the start of an access chain, before the first index or slice. The name of a method ends the list. */
export function leadingMembers(accesses: readonly Access[]): string[] {
  const names: string[] = [];
  for (const access of accesses) {
    if (access.kind !== "member" && access.kind !== "method") break;
    names.push(access.name);
    if (access.kind === "method") break;
  }
  return names;
}
