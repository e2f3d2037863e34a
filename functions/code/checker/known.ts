import type { Constant } from "../interpreter/value.ts";
import type { Expression, Step } from "../language/syntax.ts";
import { constantIn } from "./constants.ts";
import type { Guards } from "./guards.ts";
import type { Literal } from "./literal-arguments.ts";
import type { Bound, Variables } from "./variables.ts";

/** What is known of a program's values before it runs. */
export class Known {
  readonly #variables: Variables;
  readonly #guards: Guards;

  constructor(variables: Variables, guards: Guards) {
    this.#variables = variables;
    this.#guards = guards;
  }

  /** What a variable, or a part of it, holds; nothing where a condition around this asks about it. */
  literal(node: Expression, bound: Bound): Literal | undefined {
    return this.#guards.mentions(node) ? undefined : this.#variables.known(node, bound);
  }

  /** What an expression is, where that is one value. */
  constant(node: Expression, bound: Bound): Constant | undefined {
    return constantIn(node, (part) => this.literal(part, bound));
  }

  /** What a step asks for. */
  key(step: Step, bound: Bound): string | number | undefined {
    if (step.kind === "member") return step.name;
    const key = this.constant(step.index, bound);
    return typeof key === "string" || typeof key === "number" ? key : undefined;
  }
}
