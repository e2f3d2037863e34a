import type { Catalogue } from "../catalogue/function.ts";
import type { Constant } from "../interpreter/values.ts";
import { type Expression, type Operation, type Access, literalKey, partsOf } from "../language/ast.ts";
import { type ConstantValue, foldConstant, foldArgument, stepInto } from "./constants.ts";
import type { Budget, StaticType, AccessResult } from "./types.ts";

/** The context in which a program is checked. */
export type CheckerContext = {
  catalogue: Catalogue;
  /**
   * The names of the session's variables, each with the reason if its value was dropped; undefined without a session.
   */
  session?: ReadonlyMap<string, string | undefined> | undefined;
  readOnly?: boolean | undefined;
};

/** The loop variables of the comprehensions around an expression. */
export type LoopVariables = ReadonlyMap<string, StaticType>;

type Variable = { place: number | undefined; shape: StaticType; constant?: ConstantValue | undefined };

/** The limits of constant tracking: the size of one constant, and the total size read. Beyond them the run decides. */
const [constantSize, budgetSize] = [2_000, 20_000];

/** The variables of a program at the current statement, with their known types and values. */
export class Variables {
  readonly budget: Budget = { left: budgetSize };
  readonly #variables = new Map<string, Variable>();

  constructor({ session }: CheckerContext) {
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

  /** Assigns an expression to a variable. */
  assign(name: string, value: Expression, variable: Omit<Variable, "constant">): void {
    const literal = foldArgument(value, (node) => this.known(node, new Map()));
    const isUnknown = literal.unknown.some((path) => path.length === 0);
    const constant = isUnknown || literal.size > constantSize ? undefined : literal;
    this.#variables.set(name, { ...variable, constant });
  }

  /** The known value of a variable or of a part of it. */
  known(node: Expression, bound: LoopVariables): ConstantValue | undefined {
    if (node.kind === "path") {
      let constant = this.known(node.of, bound);
      for (const step of node.steps) {
        const key = literalKey(step);
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

/**
 * The conditions and comprehensions around the current expression. Programs test for missing members before they read
 * them, so an access to a tested member is no mistake.
 */
export class ConditionScope {
  readonly #around: (readonly string[])[] = [];
  readonly #mentioned = new Map<string, number>();
  readonly #tested = new Set<string>();

  /** Whether the current expression is evaluated in every run. */
  get isCertain(): boolean {
    return this.#around.length === 0;
  }

  /** Enters a part that is evaluated only if `condition` allows or, without one, once for each item of a list. */
  enter(condition?: Expression): void {
    const names = condition ? namesIn(condition) : [];
    for (const name of names) this.#mentioned.set(name, (this.#mentioned.get(name) ?? 0) + 1);
    this.#around.push(names);
  }

  /** Leaves the `count` parts entered last. */
  leave(count: number): void {
    for (const names of this.#around.splice(this.#around.length - count)) {
      for (const name of names) this.#mentioned.set(name, (this.#mentioned.get(name) ?? 0) - 1);
    }
  }

  /** Records an `in` test for a literal key. */
  note({ operator, operands: [key] }: Operation): void {
    if (key?.kind !== "literal" || (operator !== "in" && operator !== "not in")) return;
    this.#tested.add(String(key.value));
  }

  /** Tells whether a surrounding condition mentions the variable of this expression. */
  mentions(node: Expression): boolean {
    const of = node.kind === "path" ? node.of : node;
    return of.kind === "name" && (this.#mentioned.get(of.name) ?? 0) > 0;
  }

  /** Tells whether an invalid access may be fine because a condition may keep it from being evaluated. */
  allow(stepped: AccessResult, shape: StaticType, of: Expression, key: string | number | undefined): boolean {
    if (shape.none || "length" in stepped) return !this.isCertain;
    if (shape.type !== undefined && "type" in stepped) return this.mentions(of);
    if (!shape.members || !("members" in stepped)) return false;
    return this.#tested.has(String(key)) || this.mentions(of);
  }
}

/** The variable names in an expression. */
function namesIn(node: Expression, names: string[] = []): string[] {
  if (node.kind === "name") names.push(node.name);
  else for (const part of partsOf(node)) namesIn(part, names);
  return names;
}

/** Looks up values that are known before the run. */
export class ConstantLookup {
  readonly #variables: Variables;
  readonly #guards: ConditionScope;

  constructor(variables: Variables, guards: ConditionScope) {
    this.#variables = variables;
    this.#guards = guards;
  }

  /** The known value of a variable or a part of it; undefined where a surrounding condition tests the variable. */
  literal(node: Expression, bound: LoopVariables): ConstantValue | undefined {
    return this.#guards.mentions(node) ? undefined : this.#variables.known(node, bound);
  }

  /** The value of an expression, if it is a single known value. */
  constant(node: Expression, bound: LoopVariables): Constant | undefined {
    return foldConstant(node, (part) => this.literal(part, bound));
  }

  /** The member name, key or index of an access, where it is known. */
  key(step: Access, bound: LoopVariables): string | number | undefined {
    if (step.kind === "member") return step.name;
    const key = this.constant(step.index, bound);
    return typeof key === "string" || typeof key === "number" ? key : undefined;
  }
}
