import {
  type Call,
  type Comprehension,
  type Expression,
  type Name,
  type Operation,
  type Path,
  callsAfter,
  callsIn,
  written,
} from "../language/ast.ts";
import { LanguageError } from "../language/errors.ts";
import { type StepBudget, requireSize, useSteps, valueLimitBytes } from "./budget.ts";
import {
  compare,
  dictOf,
  isTrue,
  itemOf,
  dictKey,
  lengthOf,
  memberOf,
  negated,
  sumOf,
  textOf,
  typeOf,
} from "./values.ts";

export const itemLimit = 60;

export const tooManyItems = (count: number): string =>
  `A comprehension calls for ${itemLimit} items at most, and here are ${count}: filter them with \`if\`, or take smaller pages.`;

/** A request of an evaluation to its driver: the result of a call, or the results of several evaluations in order. */
export type Effect =
  | { kind: "call"; call: Call; args: ReadonlyMap<string, unknown>; path: readonly number[] }
  | { kind: "each"; runs: Evaluation<unknown[]>[]; calls: readonly Call[] };
export type Evaluation<T = unknown> = Generator<Effect, T, unknown>;

/**
 * The variables that an expression can read. `bound` links loop variables from the innermost comprehension outwards.
 */
export type Scope = {
  variables: ReadonlyMap<string, unknown>;
  bound?: { name: string; value: unknown; index: number; outer: Scope };
  work: StepBudget;
};

/** The item index in each surrounding comprehension, outermost first. */
function pathOf(scope: Scope): number[] {
  const path: number[] = [];
  for (let { bound } = scope; bound; { bound } = bound.outer) path.push(bound.index);
  return path.toReversed();
}

/**
 * Evaluates a checked expression. It yields calls to its driver instead of making them. Throws LanguageError if an
 * operation does not fit its values.
 */
export function* evaluate(node: Expression, scope: Scope): Evaluation {
  useSteps(scope.work, 1, node.at);
  switch (node.kind) {
    case "literal":
      return node.value;
    case "name":
      return lookUp(node, scope);
    case "list":
      return requireSize(yield* evaluateAll(node.items, scope), scope.work, node.at);
    case "dict":
      return yield* makeDict(node, scope);
    case "path":
      return yield* follow(node, scope);
    case "unary":
      return negated(node.operator, yield* evaluate(node.of, scope), node.at);
    case "operation":
      return yield* operate(node, scope);
    case "format": {
      let text = "";
      for (const part of node.parts) {
        text += typeof part === "string" ? part : textOf(yield* evaluate(part, scope), scope.work, part.at);
        if (text.length > valueLimitBytes) break;
      }
      return requireSize(text, scope.work, node.at);
    }
    case "comprehension":
      return requireSize(yield* comprehend(node, 0, scope), scope.work, node.at);
    case "len":
      return lengthOf(yield* evaluate(node.of, scope), scope.work, node.at);
    case "range":
      return yield* count(node.of, scope);
    default: {
      const args = new Map<string, unknown>();
      for (const { name, value } of node.args) args.set(name, yield* evaluate(value, scope));
      return yield { kind: "call", call: node, args, path: pathOf(scope) };
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
  for (let { bound } = scope; bound; { bound } = bound.outer) {
    if (bound.name === name) return bound.value;
    passed += 1;
    if (passed % 16 === 0) useSteps(scope.work, 1, at);
  }
  return scope.variables.get(name);
}

function* makeDict(node: Extract<Expression, { kind: "dict" }>, scope: Scope): Evaluation {
  const members = new Map<string, unknown>();
  for (const { key: keyNode, value } of node.members) {
    const key = yield* evaluate(keyNode, scope);
    members.set(dictKey(key, members, keyNode.at), yield* evaluate(value, scope));
  }
  useSteps(scope.work, members.size, node.at);
  return requireSize(dictOf(members), scope.work, node.at);
}

function* follow(node: Path, scope: Scope): Evaluation {
  let value = yield* evaluate(node.of, scope);
  for (const [index, step] of node.steps.entries()) {
    useSteps(scope.work, 1, step.at);
    const of = () => written(node, index);
    value =
      step.kind === "member"
        ? memberOf(value, step.name, of, step.at)
        : itemOf(value, yield* evaluate(step.index, scope), of, step.at);
  }
  return value;
}

function* operate({ operator, operands, at }: Operation, scope: Scope): Evaluation {
  const [first, ...others] = operands;
  let value = first && (yield* evaluate(first, scope));
  for (const other of others) {
    if (operator === "and" ? !isTrue(value) : operator === "or" && isTrue(value)) return value;
    const right = yield* evaluate(other, scope);
    if (operator === "and" || operator === "or") value = right;
    else
      value = operator === "+" ? sumOf(value, right, scope.work, at) : compare(operator, value, right, scope.work, at);
  }
  return value;
}

/** The message for an invalid argument of `range`. */
export const noRange = (given: string | number): string => `range takes a whole number, not ${given}.`;

function* count(node: Expression, scope: Scope): Evaluation<number[]> {
  const length = yield* evaluate(node, scope);
  if (typeof length !== "number" || !Number.isInteger(length)) {
    throw new LanguageError(node.at, noRange(typeof length === "number" ? length : `a ${typeOf(length)}`), {
      code: "type_error",
    });
  }
  useSteps(scope.work, Math.max(0, length), node.at);
  return Array.from({ length: Math.max(0, length) }, (_, index) => index);
}

/** Evaluates a comprehension from clause `place` on. */
function* comprehend(node: Comprehension, place: number, scope: Scope): Evaluation<unknown[]> {
  const clause = node.clauses[place];
  if (!clause) return [yield* evaluate(node.element, scope)];
  if (clause.kind === "if") {
    return isTrue(yield* evaluate(clause.test, scope)) ? yield* comprehend(node, place + 1, scope) : [];
  }
  const items = yield* evaluate(clause.over, scope);
  if (!Array.isArray(items)) throw notIterable(clause.over, items);
  useSteps(scope.work, items.length, clause.at);
  const scopes = items.map((value: unknown, index): Scope => ({
    ...scope,
    bound: { name: clause.name, value, index, outer: scope },
  }));
  const calls = callsAfter(node, place);
  if (calls.length > 0) return yield* comprehendCalls(node, place, scopes, calls);
  const results: unknown[] = [];
  for (const inner of scopes) {
    for (const result of yield* comprehend(node, place + 1, inner)) results.push(result);
  }
  return results;
}

/**
 * Evaluates a clause whose later parts make calls. Conditions without calls are evaluated first: items they filter out
 * do not count against the item limit.
 */
function* comprehendCalls(
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
  const results = yield { kind: "each", runs: left.map((scope) => comprehend(node, next, scope)), calls };
  return (results as unknown[][]).flat();
}

function notIterable(node: Expression, value: unknown): LanguageError {
  const isPage = typeOf(value) === "dict" && Object.hasOwn(value as object, "items");
  const hint = isPage ? `: its items are in ${written(node)}.items` : "";
  return new LanguageError(node.at, `A comprehension goes over a list, not a ${typeOf(value)}${hint}.`, {
    code: "type_error",
  });
}
