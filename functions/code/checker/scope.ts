import type { Catalogue } from "../catalogue/function.ts";
import type { InvalidAccess, StaticType } from "../interpreter/types.ts";
import type { Constant } from "../interpreter/values.ts";
import { type Expression, type Operation, subexpressions } from "../language/ast.ts";

/** The context in which a program is checked. */
export type CheckerContext = {
  catalogue: Catalogue;
  /**
   * The session's variables, each with its type, or with the reason why its value was dropped. Undefined without a
   * session.
   */
  session?: ReadonlyMap<string, { type: StaticType } | { gone: string }> | undefined;
  /** Whether a call that writes is a mistake. */
  readOnly?: boolean | undefined;
};

/** The loop variables of the comprehensions around an expression. */
export type LoopVariables = ReadonlyMap<string, StaticType>;

/**
 * A variable: its type, the index of the statement that assigned it, and its value if the program's text shows it. The
 * index is undefined for a variable of the session.
 */
type Variable = { statement: number | undefined; type: StaticType; known?: unknown };

/**
 * The longest value that the checker remembers for a variable, in characters of JSON. A program can pass one variable
 * to thousands of arguments, and each argument is validated. With long values, this validation would take too long.
 */
const knownChars = 256;
/** The largest number of values in a list or dict that the checker remembers. `isSmall` estimates the number. */
const knownParts = 16;

/** Whether a value is so small that the checker remembers it. */
function isSmall(value: unknown): boolean {
  const text = JSON.stringify(value);
  const parts = typeof value === "object" ? (text.match(/[[{,]/g) ?? []) : [];
  return text.length <= knownChars && parts.length <= knownParts;
}

/** The variables of a program at the current statement. */
export class Variables {
  readonly #variables = new Map<string, Variable>();
  readonly #conditions: ConditionScope;

  constructor({ session }: CheckerContext, conditions: ConditionScope) {
    this.#conditions = conditions;
    for (const [name, kept] of session ?? []) {
      if ("type" in kept) this.#variables.set(name, { statement: undefined, type: kept.type });
    }
  }

  get(name: string): Variable | undefined {
    return this.#variables.get(name);
  }

  names(): string[] {
    return [...this.#variables.keys()];
  }

  /** Assigns a value to a variable. `known` is the value, or undefined if only a run shows it. */
  assign(name: string, variable: Omit<Variable, "known">, known: unknown): void {
    this.#variables.set(name, known !== undefined && isSmall(known) ? { ...variable, known } : variable);
  }

  /**
   * The value of a literal, or of a variable whose value the program's text shows. Undefined if the value is unknown,
   * or if a surrounding condition mentions the variable: a run may then skip the expression for this value.
   */
  known(node: Expression, loops: LoopVariables): unknown {
    if (node.kind === "literal") return node.value;
    if (node.kind !== "name" || loops.has(node.name) || this.#conditions.mentions(node)) return undefined;
    return this.#variables.get(node.name)?.known;
  }

  /**
   * The value of a literal, or of a variable for which `known` returns a text or a number. Undefined in all other
   * cases.
   */
  literal(node: Expression, loops: LoopVariables): Constant | undefined {
    if (node.kind === "literal") return node.value;
    const known = this.known(node, loops);
    return typeof known === "string" || typeof known === "number" ? known : undefined;
  }
}

/**
 * The conditions and comprehensions around the current expression. A program may test whether a member exists before it
 * reads the member, so an access to a tested member is no mistake.
 */
export class ConditionScope {
  /** For each surrounding condition, the variables in the condition. A comprehension has an empty entry. */
  readonly #around: (readonly string[])[] = [];
  /** How often each variable occurs in the surrounding conditions. */
  readonly #mentioned = new Map<string, number>();
  /** The keys that the program tests with `in`. */
  readonly #tested = new Set<string>();

  /** Whether the current expression is evaluated in every run. */
  get isCertain(): boolean {
    return this.#around.length === 0;
  }

  /**
   * Enters a part of an expression that is evaluated only if `condition` allows it. Without `condition`, the part is
   * evaluated once for each item of a list.
   */
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

  /**
   * Tells whether a condition may prevent the evaluation of an invalid access. `type` is the type of the accessed
   * value, and `of` is the expression at the start of the access chain.
   */
  mayPrevent(access: InvalidAccess, type: StaticType, of: Expression, key: string | number | undefined): boolean {
    if (type.none) return !this.isCertain;
    if (type.type !== undefined && "typeName" in access) return this.mentions(of);
    // If the program did not make the value, the value is an answer. An answer has only the members of its schema, so
    // no condition makes the access valid.
    if (!type.members || !("members" in access)) return false;
    return this.#tested.has(String(key)) || this.mentions(of);
  }
}

/** The variable names in an expression. */
function namesIn(node: Expression, names: string[] = []): string[] {
  if (node.kind === "name") names.push(node.name);
  else for (const part of subexpressions(node)) namesIn(part, names);
  return names;
}
