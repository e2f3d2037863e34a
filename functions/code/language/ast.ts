import { clip } from "./messages.ts";

/** A position in a program. Lines and columns count from 1; a column is one Unicode character. */
export type Position = { line: number; column: number };

type Node<Kind extends string, Members = unknown> = {
  kind: Kind;
  at: Position;
  /** The calls in the node; set by the first `callsIn`. */
  calls?: readonly Call[];
} & Members;

type Literal = Node<"literal", { value: string | number | boolean | null }>;
type List = Node<"list", { items: Expression[] }>;
/** The keys of a dict are expressions: most are literal texts. */
export type Dict = Node<"dict", { members: { key: Expression; value: Expression }[] }>;
export type Name = Node<"name", { name: string }>;
/** `of.name[index]`. All accesses are in one node, so that a long chain does not nest deeply. */
export type Path = Node<"path", { of: Expression; accesses: Access[] }>;
export type Access = Node<"member", { name: string }> | Node<"index", { index: Expression }>;
export type Unary = Node<"unary", { operator: "not" | "-"; of: Expression }>;
type Comparison = "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in";
/** A chain of one operator, in source order; a comparison has two operands. */
export type Operation = Node<"operation", { operator: "or" | "and" | "+" | Comparison; operands: Expression[] }>;
/** The texts and values of an f-string, in their order. */
type Format = Node<"format", { parts: (string | Expression)[] }>;
export type Clause = Node<"for", { name: string; over: Expression }> | Node<"if", { test: Expression }>;
export type Comprehension = Node<"comprehension", { element: Expression; clauses: Clause[] }>;

/** An argument of a call, positioned at its name. The checker refuses an argument without a name. */
export type Argument = { name: string; value: Expression; at: Position };
export type Call = Node<"call", { name: string; args: Argument[] }>;
/** A call of a function of the language. Its arguments are in the order of the parameters, each with its name. */
export type BuiltinCall = Node<"builtin", { name: string; args: Argument[] }>;

export type Expression =
  | Literal
  | List
  | Dict
  | Name
  | Path
  | Unary
  | Operation
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
      return [node.of, ...node.accesses.flatMap((step) => (step.kind === "index" ? [step.index] : []))];
    case "operation":
      return node.operands;
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

const none: readonly Call[] = [];

/** The calls in an expression, itself included, in the order in which they are made. */
export function callsIn(node: Expression): readonly Call[] {
  if (node.kind === "literal" || node.kind === "name") return none;
  if (node.calls) return node.calls;
  const inside = subexpressions(node).flatMap(callsIn);
  const calls = node.kind === "call" ? [...inside, node] : inside;
  node.calls = calls.length > 0 ? calls : none;
  return node.calls;
}

/** The calls made for each item of a comprehension's clause: in the clauses after it, and in the element. */
export const callsAfter = (node: Comprehension, clause: number): readonly Call[] =>
  callsIn(node).length === 0
    ? none
    : subexpressions(node)
        .slice(clause + 1)
        .flatMap(callsIn);

/** Names an expression in a message: its source, shortened. For a path only the first `steps` accesses are shown. */
export const describeExpression = (node: Expression, steps?: number): string => clip(fullDescription(node, steps));

function fullDescription(node: Expression, steps = Number.POSITIVE_INFINITY): string {
  switch (node.kind) {
    case "name":
      return node.name;
    case "call":
      return `${node.name}(…)`;
    case "path":
      return (
        fullDescription(node.of) +
        node.accesses
          .slice(0, steps)
          .map((step) => (step.kind === "member" ? `.${step.name}` : `[${describeIndex(step.index)}]`))
          .join("")
      );
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

const describeIndex = (index: Expression): string => (index.kind === "literal" ? JSON.stringify(index.value) : "…");

/** The literal key or index of an access; undefined if it is computed. */
export function literalKey(step: Access): string | number | undefined {
  if (step.kind === "member") return step.name;
  const value = step.index.kind === "literal" ? step.index.value : undefined;
  return typeof value === "string" || typeof value === "number" ? value : undefined;
}

/** The member names at the start of an access chain, up to the first index. */
export function leadingMembers(steps: readonly Access[]): string[] {
  const names: string[] = [];
  for (const step of steps) {
    if (step.kind !== "member") break;
    names.push(step.name);
  }
  return names;
}
