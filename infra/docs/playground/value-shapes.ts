import type { Text } from "@codemirror/state";
import type { SyntaxNode } from "@lezer/common";

/** A parameter of a function. `type` is written as in a signature, such as `string` or `"a" or "b"`. */
export type Parameter = { name: string; type: string; required: boolean; description: string };

/** A function that a program can call. `answer` is the index of its result's shape in `Catalogue.shapes`. */
export type FunctionEntry = { name: string; summary: string; parameters: Parameter[]; answer: number };

/**
 * The part of a value's type that completion needs: the members of a dict, or the items of a list. Each number is the
 * index of a shape in `Catalogue.shapes`.
 */
export type Shape = { members: Record<string, number> } | { items: number };

/**
 * A builtin of the language. `form` is its signature. `of` is the type to which a method belongs, or null for a
 * function.
 */
export type BuiltinEntry = { name: string; form: string; of: "string" | "list" | "dict" | null };

/**
 * The content of `/docs/functions.json`. The shape 0 is `null`, and stands for all values without known members or
 * items.
 */
export type Catalogue = { functions: FunctionEntry[]; builtins: BuiltinEntry[]; shapes: (Shape | null)[] };

/** The deepest nesting of expressions for which the shape of a value is computed. */
const depthLimit = 100;

/** The shape of a value. `each` is the shape of the items of a list that the program makes. */
type KnownShape = Shape | { each: KnownShape } | undefined;

/** The type of a value with a known shape. */
const typeOfShape = (shape: NonNullable<KnownShape>): "dict" | "list" => ("members" in shape ? "dict" : "list");

/** A member of a value. `kind` is empty if the member's type is unknown. */
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

  /** The function of a `Call` node or of its `Arguments`. Undefined if the catalogue has no such function. */
  calledBy(doc: Text, node: SyntaxNode): FunctionEntry | undefined {
    const callee = (node.name === "Arguments" ? node.parent : node)?.firstChild;
    return callee ? this.functions.get(sourceOf(doc, callee).replaceAll(/\s/g, "")) : undefined;
  }

  /** The members of an expression's value. Empty if they are unknown. */
  membersOf(doc: Text, expression: SyntaxNode): Member[] {
    const shape = this.#shapeOf(doc, expression, 0);
    if (!shape || !("members" in shape)) return [];
    return Object.entries(shape.members).map(([name, number]) => {
      const member = this.#shapes[number];
      return { name, kind: member ? typeOfShape(member) : "" };
    });
  }

  /**
   * The built-in functions. With an expression, the methods of its value instead. A value of unknown shape counts as a
   * string.
   */
  builtins(doc: Text, expression?: SyntaxNode): readonly BuiltinEntry[] {
    const shape = expression && this.#shapeOf(doc, expression, 0);
    const type = shape ? typeOfShape(shape) : "string";
    return this.#builtins.filter(({ of }) => of === (expression ? type : null));
  }

  #shapeOf(doc: Text, node: SyntaxNode | null, depth: number): KnownShape {
    if (!node || depth > depthLimit) return undefined;
    const shapeOf = (inner: SyntaxNode | null): KnownShape => this.#shapeOf(doc, inner, depth + 1);
    switch (node.name) {
      case "Variable":
        return this.#variable(doc, node, depth);
      case "Call":
        // These builtins return the items of their first argument.
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
    if (!shape || !("members" in shape)) return undefined;
    return this.#shapes[shape.members[name] ?? 0] ?? undefined;
  }

  #item(shape: KnownShape): KnownShape {
    if (!shape || "members" in shape) return undefined;
    return "each" in shape ? shape.each : (this.#shapes[shape.items] ?? undefined);
  }

  /**
   * The shape of the variable at `node`. If a `for` clause binds the variable, its value is an item of the list after
   * `in`. The shape is unknown if the clause binds several names. If no clause binds the variable, its value is the
   * value of the last assignment before `node`.
   */
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

/** The names of the variables to which a loop or an assignment gives values. */
const namesBoundBy = (doc: Text, node: SyntaxNode): string[] =>
  node.getChildren("VariableDefinition").map((definition) => sourceOf(doc, definition));

/**
 * The `for` clauses whose variables a node can use, the innermost first. A clause can use the variables of earlier
 * clauses. The element of a comprehension can use the variables of all clauses.
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

/** The assignments that end before a position, the latest first. */
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
