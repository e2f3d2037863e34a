import type { Text } from "@codemirror/state";
import type { SyntaxNode } from "@lezer/common";

/** A parameter of a function, with its type as a signature writes it: `string`, `"a" or "b"`. */
export type Parameter = { name: string; type: string; required: boolean; description: string };

/** A function that a program can call. `answer` is the number of the shape of its result. */
export type FunctionEntry = { name: string; summary: string; parameters: Parameter[]; answer: number };

/**
 * The part of a value's type that completion needs: the members of a dict, or of a list's items. Shapes refer to each
 * other by number.
 */
export type Shape = { members: Record<string, number> } | { items: number };

/**
 * A builtin of the language. `form` shows how a program calls it. `of` is the type that has a method; null for a
 * function.
 */
export type BuiltinEntry = { name: string; form: string; of: "string" | "list" | "dict" | null };

/** The content of `/docs/functions.json`. Shape 0 is `null`: any value without known members. */
export type Catalogue = { functions: FunctionEntry[]; builtins: BuiltinEntry[]; shapes: (Shape | null)[] };

/** The deepest nesting of expressions that is followed. Deeper values have no known shape. */
const depthLimit = 100;

/** The shape of a value, or of a list that the program makes. */
type KnownShape = Shape | { each: KnownShape } | undefined;

/** A member of a value: `kind` is empty if it is unknown. */
export type Member = { name: string; kind: "dict" | "list" | "" };

/** The text of a node. */
export const sourceOf = (doc: Text, { from, to }: { from: number; to: number }): string => doc.sliceString(from, to);

/** The functions of the catalogue by name, and the shapes of the values in one program. */
export class ValueShapes {
  readonly functions: ReadonlyMap<string, FunctionEntry>;
  readonly #builtins: readonly BuiltinEntry[];
  readonly #shapes: Catalogue["shapes"];

  constructor({ functions, builtins, shapes }: Catalogue) {
    this.functions = new Map(functions.map((one) => [one.name, one]));
    this.#builtins = builtins;
    this.#shapes = shapes;
  }

  /** The function that a `Call` or its `Arguments` names; undefined when there is no such function. */
  calledBy(doc: Text, node: SyntaxNode): FunctionEntry | undefined {
    const callee = (node.name === "Arguments" ? node.parent : node)?.firstChild;
    return callee ? this.functions.get(sourceOf(doc, callee).replaceAll(/\s/g, "")) : undefined;
  }

  /** The members of the value of an expression; empty when they are unknown. */
  membersOf(doc: Text, expression: SyntaxNode): Member[] {
    const shape = this.#shapeOf(doc, expression, 0);
    if (!shape || !("members" in shape)) return [];
    return Object.entries(shape.members).map(([name, number]) => {
      const member = this.#shapes[number];
      return { name, kind: !member ? "" : "members" in member ? "dict" : "list" };
    });
  }

  /**
   * The built-in functions. With an expression: the methods of its value. A value of unknown shape counts as a text.
   */
  builtins(doc: Text, expression?: SyntaxNode): readonly BuiltinEntry[] {
    const shape = expression && this.#shapeOf(doc, expression, 0);
    const type = shape ? ("members" in shape ? "dict" : "list") : "string";
    return this.#builtins.filter(({ of }) => of === (expression ? type : null));
  }

  #shapeOf(doc: Text, node: SyntaxNode | null, depth: number): KnownShape {
    if (!node || depth > depthLimit) return undefined;
    const shapeOf = (inner: SyntaxNode | null): KnownShape => this.#shapeOf(doc, inner, depth + 1);
    switch (node.name) {
      case "Variable":
        return this.#variable(doc, node, depth);
      case "Call":
        if (/^(?:sorted|reversed|list)$/.test(sourceOf(doc, node.firstChild ?? node))) {
          return shapeOf(node.getChild("Arguments")?.firstChild?.nextSibling ?? null);
        }
        return this.#shapes[this.calledBy(doc, node)?.answer ?? 0] ?? undefined;
      case "Member": {
        const name = node.getChild("MemberName");
        return name ? this.#member(shapeOf(node.firstChild), sourceOf(doc, name)) : undefined;
      }
      case "Index": {
        const index = node.getChild("BracketL")?.nextSibling;
        const of = shapeOf(node.firstChild);
        return index?.name === "String" ? this.#member(of, sourceOf(doc, index).slice(1, -1)) : this.#item(of);
      }
      case "Slice":
        return shapeOf(node.firstChild);
      case "Conditional":
        return shapeOf(node.firstChild) ?? shapeOf(node.lastChild);
      case "List":
      case "Comprehension":
        return { each: shapeOf(node.firstChild?.nextSibling ?? null) };
      case "Parenthesized":
        return shapeOf(node.firstChild?.nextSibling ?? null);
      default:
        return undefined;
    }
  }

  #member(shape: KnownShape, name: string): KnownShape {
    return (shape && "members" in shape && this.#shapes[shape.members[name] ?? 0]) || undefined;
  }

  #item(shape: KnownShape): KnownShape {
    if (!shape || "members" in shape) return undefined;
    return "each" in shape ? shape.each : (this.#shapes[shape.items] ?? undefined);
  }

  /** A variable holds an item of the loop that binds it, or the value of the last assignment before it. */
  #variable(doc: Text, node: SyntaxNode, depth: number): KnownShape {
    const name = sourceOf(doc, node);
    const clause = loopsAround(node).find((loop) => namesBoundBy(doc, loop).includes(name));
    if (clause) {
      const isItem = namesBoundBy(doc, clause).length === 1;
      return isItem ? this.#item(this.#shapeOf(doc, clause.lastChild, depth + 1)) : undefined;
    }
    const assignment = assignmentsBefore(node, node.from).find((one) => namesBoundBy(doc, one).includes(name));
    return this.#shapeOf(doc, assignment?.lastChild ?? null, depth + 1);
  }
}

/** The names that a loop or an assignment gives values. Several names unpack each item. */
const namesBoundBy = (doc: Text, node: SyntaxNode): string[] =>
  node.getChildren("VariableDefinition").map((definition) => sourceOf(doc, definition));

/**
 * The loops whose variables a node can use, the innermost first. A clause can use the variables of earlier clauses. The
 * element of a comprehension can use the variables of all clauses.
 */
function loopsAround(node: SyntaxNode): SyntaxNode[] {
  const loops: SyntaxNode[] = [];
  for (let inner = node, outer = node.parent; outer; inner = outer, outer = outer.parent) {
    if (outer.name !== "Comprehension") continue;
    const isElement = !inner.name.endsWith("Clause");
    loops.push(
      ...outer
        .getChildren("ForClause")
        .filter((loop) => isElement || loop.to <= inner.from)
        .toReversed(),
    );
  }
  return loops;
}

/** The assignments that end before a position, the last first. */
function assignmentsBefore(node: SyntaxNode, position: number): SyntaxNode[] {
  let program = node;
  while (program.parent) program = program.parent;
  const assignments: SyntaxNode[] = [];
  for (let one = program.childBefore(position); one; one = one.prevSibling)
    if (one.name === "Assignment" && one.to < position && one.lastChild?.name !== "=") assignments.push(one);
  return assignments;
}

/** The names of the variables that can be used at a position in a node. */
export function variablesAt(doc: Text, node: SyntaxNode, position: number): Set<string> {
  const binding = [...loopsAround(node), ...assignmentsBefore(node, position)];
  return new Set(binding.flatMap((one) => namesBoundBy(doc, one)));
}
