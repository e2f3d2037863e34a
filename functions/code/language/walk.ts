import { clip } from "./sentences.ts";
import type { Call, Comprehension, Expression, Step } from "./syntax.ts";

/** The expressions right inside of one, in the order in which they are evaluated. */
export function partsOf(node: Expression): Expression[] {
  switch (node.kind) {
    case "literal":
    case "name":
      return [];
    case "list":
      return node.items;
    case "dict":
      return node.members.flatMap(({ key, value }) => [key, value]);
    case "path":
      return [node.of, ...node.steps.flatMap((step) => (step.kind === "index" ? [step.index] : []))];
    case "operation":
      return node.operands;
    case "format":
      return node.parts.filter((part) => typeof part !== "string");
    case "comprehension":
      return [...node.clauses.map((clause) => (clause.kind === "for" ? clause.over : clause.test)), node.element];
    case "call":
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
  const inside = partsOf(node).flatMap(callsIn);
  const calls = node.kind === "call" ? [...inside, node] : inside;
  node.calls = calls.length > 0 ? calls : none;
  return node.calls;
}

/** The calls made for each item of a comprehension's clause: in the clauses after it, and in the element. */
export const callsAfter = (node: Comprehension, clause: number): readonly Call[] =>
  callsIn(node).length === 0
    ? none
    : partsOf(node)
        .slice(clause + 1)
        .flatMap(callsIn);

/** How a message calls an expression: as it is written, shortened; of a path as many `steps`. */
export const written = (node: Expression, steps?: number): string => clip(whole(node, steps));

function whole(node: Expression, steps = Number.POSITIVE_INFINITY): string {
  switch (node.kind) {
    case "name":
      return node.name;
    case "call":
      return `${node.name}(…)`;
    case "path":
      return (
        whole(node.of) +
        node.steps
          .slice(0, steps)
          .map((step) => (step.kind === "member" ? `.${step.name}` : `[${shortly(step.index)}]`))
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

const shortly = (index: Expression): string => (index.kind === "literal" ? JSON.stringify(index.value) : "…");

/** What a step asks for, if it says so itself. */
export function keyOf(step: Step): string | number | undefined {
  if (step.kind === "member") return step.name;
  const value = step.index.kind === "literal" ? step.index.value : undefined;
  return typeof value === "string" || typeof value === "number" ? value : undefined;
}

/** The members that are read of a name one after another, before anything else is. */
export function leadingMembers(steps: readonly Step[]): string[] {
  const names: string[] = [];
  for (const step of steps) {
    if (step.kind !== "member") break;
    names.push(step.name);
  }
  return names;
}
