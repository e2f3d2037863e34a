/** Where something stands in a program, both counted from 1; a column is one Unicode character. */
export type Position = { line: number; column: number };

type Node<Kind extends string, Members = unknown> = {
  kind: Kind;
  at: Position;
  /** The calls in it, once they were asked for (walk.ts). */
  calls?: readonly Call[];
} & Members;

export type Literal = Node<"literal", { value: string | number | boolean | null }>;
export type List = Node<"list", { items: Expression[] }>;
/** The keys of a dict are expressions: most are literal texts. */
export type Dict = Node<"dict", { members: { key: Expression; value: Expression }[] }>;
export type Name = Node<"name", { name: string }>;
/** `of.name[index]`: all the steps in one node, so that their number adds no depth. */
export type Path = Node<"path", { of: Expression; steps: Step[] }>;
export type Step = Node<"member", { name: string }> | Node<"index", { index: Expression }>;
export type Unary = Node<"unary", { operator: "not" | "-"; of: Expression }>;
export type Comparison = "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in";
/** A chain of one operator, in source order; a comparison has two operands. */
export type Operation = Node<"operation", { operator: "or" | "and" | "+" | Comparison; operands: Expression[] }>;
/** The texts and values of an f-string, in their order. */
export type Format = Node<"format", { parts: (string | Expression)[] }>;
export type Clause = Node<"for", { name: string; over: Expression }> | Node<"if", { test: Expression }>;
export type Comprehension = Node<"comprehension", { element: Expression; clauses: Clause[] }>;
/** `len(of)`; and `range(of)`, which stands only after the `in` of a comprehension. */
export type Builtin = Node<"len" | "range", { of: Expression }>;

/** An argument of a call, with its value; it stands where its name does. One without a name is refused by the checker. */
export type Argument = { name: string; value: Expression; at: Position };
export type Call = Node<"call", { name: string; args: Argument[] }>;

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
  | Builtin
  | Call;

/** `target = value`, or `value` alone. */
export type Statement = { target?: string; value: Expression; at: Position };

/** A parsed program. Its statements are in source order. */
export type Program = { statements: Statement[] };
