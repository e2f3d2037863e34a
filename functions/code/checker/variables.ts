import type { Catalogue } from "../catalogue/code-function.ts";
import type { Expression } from "../language/syntax.ts";
import { keyOf } from "../language/walk.ts";
import { literalOf, stepInto, type Literal } from "./literal-arguments.ts";
import type { Budget } from "./made-shapes.ts";
import type { Shape } from "./shape.ts";

/** What a program is checked against. */
export type Surroundings = {
  catalogue: Catalogue;
  /** The variables of the session, those that are no longer there with the reason; undefined without a session. */
  session?: ReadonlyMap<string, string | undefined> | undefined;
  readOnly?: boolean | undefined;
};

/** The names of comprehensions around an expression. */
export type Bound = ReadonlyMap<string, Shape>;

type Variable = { place: number | undefined; shape: Shape; constant?: Literal | undefined };

/** How much is looked at to know what variables hold: of one, and in all. What is beyond that is left to the run. */
const [constantSize, budgetSize] = [2_000, 20_000];

/** The variables of a program at one of its statements, with what is known of them. */
export class Variables {
  readonly budget: Budget = { left: budgetSize };
  readonly #variables = new Map<string, Variable>();

  constructor({ session }: Surroundings) {
    for (const [name, gone] of session ?? []) {
      if (gone === undefined) this.#variables.set(name, { place: undefined, shape: {} });
    }
  }

  get(name: string): Variable | undefined {
    return this.#variables.get(name);
  }

  names(): string[] {
    return [...this.#variables.keys()];
  }

  /** Gives a variable the value of an expression. */
  assign(name: string, value: Expression, variable: Omit<Variable, "constant">): void {
    const literal = literalOf(value, (node) => this.known(node, new Map()));
    const isUnknown = literal.unknown.some((path) => path.length === 0);
    const constant = isUnknown || literal.size > constantSize ? undefined : literal;
    this.#variables.set(name, { ...variable, constant });
  }

  /** What a variable, or a part of it, is known to hold. */
  known(node: Expression, bound: Bound): Literal | undefined {
    if (node.kind === "path") {
      let constant = this.known(node.of, bound);
      for (const step of node.steps) {
        const key = keyOf(step);
        constant = constant && key !== undefined ? stepInto(constant, key) : undefined;
        if (!constant) return undefined;
      }
      return constant;
    }
    const constant =
      node.kind === "name" && !bound.has(node.name) ? this.#variables.get(node.name)?.constant : undefined;
    if (!constant || constant.size > this.budget.left) return undefined;
    this.budget.left -= constant.size;
    return constant;
  }
}
