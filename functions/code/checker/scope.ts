import type { Catalogue } from "../catalogue/function.ts";
import type { Constant } from "../interpreter/values.ts";
import { type Expression, type Operation, type Access, literalKey, partsOf } from "../language/ast.ts";
import { type ConstantValue, foldConstant, foldArgument, stepInto } from "./constants.ts";
import type { Budget, StaticType, AccessResult } from "./types.ts";

/** What a program is checked against. */
export type CheckerContext = {
  catalogue: Catalogue;
  /** The variables of the session, those that are no longer there with the reason; undefined without a session. */
  session?: ReadonlyMap<string, string | undefined> | undefined;
  readOnly?: boolean | undefined;
};

/** The names of comprehensions around an expression. */
export type LoopVariables = ReadonlyMap<string, StaticType>;

type Variable = { place: number | undefined; shape: StaticType; constant?: ConstantValue | undefined };

/** How much is looked at to know what variables hold: of one, and in all. What is beyond that is left to the run. */
const [constantSize, budgetSize] = [2_000, 20_000];

/** The variables of a program at one of its statements, with what is known of them. */
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

  /** Gives a variable the value of an expression. */
  assign(name: string, value: Expression, variable: Omit<Variable, "constant">): void {
    const literal = foldArgument(value, (node) => this.known(node, new Map()));
    const isUnknown = literal.unknown.some((path) => path.length === 0);
    const constant = isUnknown || literal.size > constantSize ? undefined : literal;
    this.#variables.set(name, { ...variable, constant });
  }

  /** What a variable, or a part of it, is known to hold. */
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
 * What decides whether a part of a program is evaluated: conditions and comprehensions around it. Programs ask first for
 * what may not be there, so what they asked about is not held against them.
 */
export class ConditionScope {
  readonly #around: (readonly string[])[] = [];
  readonly #mentioned = new Map<string, number>();
  readonly #tested = new Set<string>();

  /** Whether what stands here is evaluated, whatever the run brings. */
  get isCertain(): boolean {
    return this.#around.length === 0;
  }

  /** Enters what is evaluated only as a condition says; without one, as often as a list has items. */
  enter(condition?: Expression): void {
    const names = condition ? namesIn(condition) : [];
    for (const name of names) this.#mentioned.set(name, (this.#mentioned.get(name) ?? 0) + 1);
    this.#around.push(names);
  }

  /** Leaves the last `count` of what was entered. */
  leave(count: number): void {
    for (const names of this.#around.splice(this.#around.length - count)) {
      for (const name of names) this.#mentioned.set(name, (this.#mentioned.get(name) ?? 0) - 1);
    }
  }

  /** Notes that the program asks whether a key is in something. */
  note({ operator, operands: [key] }: Operation): void {
    if (key?.kind !== "literal" || (operator !== "in" && operator !== "not in")) return;
    this.#tested.add(String(key.value));
  }

  /** Whether a condition around this looks at a variable. */
  mentions(node: Expression): boolean {
    const of = node.kind === "path" ? node.of : node;
    return of.kind === "name" && (this.#mentioned.get(of.name) ?? 0) > 0;
  }

  /** Whether a step that cannot be made into a value of this shape may never be asked for. */
  allow(stepped: AccessResult, shape: StaticType, of: Expression, key: string | number | undefined): boolean {
    if (shape.none || "length" in stepped) return !this.isCertain;
    if (shape.type !== undefined && "type" in stepped) return this.mentions(of);
    if (!shape.members || !("members" in stepped)) return false;
    return this.#tested.has(String(key)) || this.mentions(of);
  }
}

/** The names in an expression. */
function namesIn(node: Expression, names: string[] = []): string[] {
  if (node.kind === "name") names.push(node.name);
  else for (const part of partsOf(node)) namesIn(part, names);
  return names;
}

/** What is known of a program's values before it runs. */
export class ConstantLookup {
  readonly #variables: Variables;
  readonly #guards: ConditionScope;

  constructor(variables: Variables, guards: ConditionScope) {
    this.#variables = variables;
    this.#guards = guards;
  }

  /** What a variable, or a part of it, holds; nothing where a condition around this asks about it. */
  literal(node: Expression, bound: LoopVariables): ConstantValue | undefined {
    return this.#guards.mentions(node) ? undefined : this.#variables.known(node, bound);
  }

  /** What an expression is, where that is one value. */
  constant(node: Expression, bound: LoopVariables): Constant | undefined {
    return foldConstant(node, (part) => this.literal(part, bound));
  }

  /** What a step asks for. */
  key(step: Access, bound: LoopVariables): string | number | undefined {
    if (step.kind === "member") return step.name;
    const key = this.constant(step.index, bound);
    return typeof key === "string" || typeof key === "number" ? key : undefined;
  }
}
