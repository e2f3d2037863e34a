import {
  type Call,
  type Comprehension,
  type Expression,
  type Name,
  type Operation,
  type Path,
  callsAfter,
  callsIn,
  describeExpression,
} from "../language/ast.ts";
import { LanguageError } from "../language/errors.ts";
import { itemLimit, valueLimitBytes } from "../language/limits.ts";
import { type StepBudget, requireSize, useSteps } from "./budget.ts";
import { evaluateBuiltin } from "./builtins.ts";
import { compare, dictOf, isTrue, itemOf, dictKey, memberOf, applyUnary, add, formatValue, typeOf } from "./values.ts";

export const tooManyItems = (count: number): string =>
  `A comprehension calls for ${itemLimit} items at most, and here are ${count}: filter them with \`if\`, or take smaller pages.`;

/** A request of an evaluation to its driver: the result of a call, or the results of several evaluations in order. */
export type Effect =
  | { kind: "call"; call: Call; args: ReadonlyMap<string, unknown>; path: readonly number[] }
  | { kind: "each"; runs: Evaluation<unknown[]>[]; calls: readonly Call[] };
export type Evaluation<T = unknown> = Generator<Effect, T, unknown>;

/**
 * The variables that an expression can read. `loop` links loop variables from the innermost comprehension outwards.
 */
export type Scope = {
  variables: ReadonlyMap<string, unknown>;
  loop?: { name: string; value: unknown; index: number; outer: Scope };
  budget: StepBudget;
};

/** The item index in each surrounding comprehension, outermost first. */
function loopIndexes(scope: Scope): number[] {
  const path: number[] = [];
  for (let { loop } = scope; loop; { loop } = loop.outer) path.push(loop.index);
  return path.toReversed();
}

/**
 * Evaluates a checked expression. It yields calls to its driver instead of making them. Throws LanguageError if an
 * operation does not fit its values.
 */
export function* evaluate(node: Expression, scope: Scope): Evaluation {
  useSteps(scope.budget, 1, node.at);
  switch (node.kind) {
    case "literal":
      return node.value;
    case "name":
      return lookUp(node, scope);
    case "list":
      return requireSize(yield* evaluateAll(node.items, scope), scope.budget, node.at);
    case "dict":
      return yield* evaluateDict(node, scope);
    case "path":
      return yield* evaluatePath(node, scope);
    case "unary":
      return applyUnary(node.operator, yield* evaluate(node.of, scope), node.at);
    case "operation":
      return yield* evaluateOperation(node, scope);
    case "format": {
      let text = "";
      for (const part of node.parts) {
        text += typeof part === "string" ? part : formatValue(yield* evaluate(part, scope), scope.budget, part.at);
        if (text.length > valueLimitBytes) break;
      }
      return requireSize(text, scope.budget, node.at);
    }
    case "comprehension":
      return requireSize(yield* evaluateComprehension(node, 0, scope), scope.budget, node.at);
    case "builtin": {
      const values = yield* evaluateAll(
        node.args.map(({ value }) => value),
        scope,
      );
      return evaluateBuiltin(node, values, scope.budget);
    }
    default: {
      const args = new Map<string, unknown>();
      for (const { name, value } of node.args) args.set(name, yield* evaluate(value, scope));
      return yield { kind: "call", call: node, args, path: loopIndexes(scope) };
    }
  }
}

function* evaluateAll(nodes: readonly Expression[], scope: Scope): Evaluation<unknown[]> {
  const values: unknown[] = [];
  for (const node of nodes) values.push(yield* evaluate(node, scope));
  return values;
}

function lookUp({ name, at }: Name, scope: Scope): unknown {
  let passed = 0;
  for (let { loop } = scope; loop; { loop } = loop.outer) {
    if (loop.name === name) return loop.value;
    passed += 1;
    if (passed % 16 === 0) useSteps(scope.budget, 1, at);
  }
  return scope.variables.get(name);
}

function* evaluateDict(node: Extract<Expression, { kind: "dict" }>, scope: Scope): Evaluation {
  const members = new Map<string, unknown>();
  for (const { key: keyNode, value } of node.members) {
    const key = yield* evaluate(keyNode, scope);
    members.set(dictKey(key, members, keyNode.at), yield* evaluate(value, scope));
  }
  useSteps(scope.budget, members.size, node.at);
  return requireSize(dictOf(members), scope.budget, node.at);
}

function* evaluatePath(node: Path, scope: Scope): Evaluation {
  let value = yield* evaluate(node.of, scope);
  for (const [index, step] of node.accesses.entries()) {
    useSteps(scope.budget, 1, step.at);
    const of = () => describeExpression(node, index);
    value =
      step.kind === "member"
        ? memberOf(value, step.name, of, step.at)
        : itemOf(value, yield* evaluate(step.index, scope), of, step.at);
  }
  return value;
}

function* evaluateOperation({ operator, operands, at }: Operation, scope: Scope): Evaluation {
  const [first, ...others] = operands;
  let value = first && (yield* evaluate(first, scope));
  for (const other of others) {
    if (operator === "and" ? !isTrue(value) : operator === "or" && isTrue(value)) return value;
    const right = yield* evaluate(other, scope);
    if (operator === "and" || operator === "or") value = right;
    else
      value =
        operator === "+" ? add(value, right, scope.budget, at) : compare(operator, value, right, scope.budget, at);
  }
  return value;
}

/** Evaluates a comprehension from clause `place` on. */
function* evaluateComprehension(node: Comprehension, place: number, scope: Scope): Evaluation<unknown[]> {
  const clause = node.clauses[place];
  if (!clause) return [yield* evaluate(node.element, scope)];
  if (clause.kind === "if") {
    return isTrue(yield* evaluate(clause.test, scope)) ? yield* evaluateComprehension(node, place + 1, scope) : [];
  }
  const items = yield* evaluate(clause.over, scope);
  if (!Array.isArray(items)) throw notIterable(clause.over, items);
  useSteps(scope.budget, items.length, clause.at);
  const scopes = items.map((value: unknown, index): Scope => ({
    ...scope,
    loop: { name: clause.name, value, index, outer: scope },
  }));
  const calls = callsAfter(node, place);
  if (calls.length > 0) return yield* evaluateCallingClause(node, place, scopes, calls);
  const results: unknown[] = [];
  for (const inner of scopes) {
    for (const result of yield* evaluateComprehension(node, place + 1, inner)) results.push(result);
  }
  return results;
}

/**
 * Evaluates a clause whose later parts make calls. Conditions without calls are evaluated first: items they filter out
 * do not count against the item limit.
 */
function* evaluateCallingClause(
  node: Comprehension,
  place: number,
  scopes: readonly Scope[],
  calls: readonly Call[],
): Evaluation<unknown[]> {
  let [left, next] = [scopes, place + 1];
  for (let clause = node.clauses[next]; clause?.kind === "if" && callsIn(clause.test).length === 0;) {
    const kept: Scope[] = [];
    for (const scope of left) if (isTrue(yield* evaluate(clause.test, scope))) kept.push(scope);
    left = kept;
    next += 1;
    clause = node.clauses[next];
  }
  if (left.length > itemLimit) {
    const at = node.clauses[place]?.at ?? node.at;
    throw new LanguageError(at, tooManyItems(left.length), { code: "too_many_items" });
  }
  const results = yield { kind: "each", runs: left.map((scope) => evaluateComprehension(node, next, scope)), calls };
  return (results as unknown[][]).flat();
}

function notIterable(node: Expression, value: unknown): LanguageError {
  const isPage = typeOf(value) === "dict" && Object.hasOwn(value as object, "items");
  const hint = isPage ? `: its items are in ${describeExpression(node)}.items` : "";
  return new LanguageError(node.at, `A comprehension goes over a list, not a ${typeOf(value)}${hint}.`, {
    code: "type_error",
  });
}
