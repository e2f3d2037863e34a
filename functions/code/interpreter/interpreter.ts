import {
  type Access,
  type Call,
  type Comprehension,
  type Expression,
  type ForClause,
  type Name,
  type Operation,
  type Path,
  type Position,
  callsAfter,
  callsIn,
  describeExpression,
  expressionsIn,
  leastCallsAfter,
} from "../language/ast.ts";
import { LanguageError } from "../language/errors.ts";
import { callLimit, valueLimitBytes } from "../language/limits.ts";
import { calculate } from "./arithmetic.ts";
import { type Budget, requireSize, useSteps } from "./budget.ts";
import { evaluateBuiltin } from "./builtin.ts";
import { builtinMethods, builtins } from "./builtins.ts";
import { sliceOf } from "./texts.ts";
import {
  UnknownOperand,
  applyUnary,
  cannotIndex,
  compare,
  dictKey,
  dictOf,
  formatValue,
  isPartlyUnknown,
  isPageValue,
  pageHasNoIndex,
  isTrue,
  itemOf,
  memberOf,
  typeError,
  typeOf,
  unknownValue,
} from "./values.ts";

/**
 * The message for a comprehension that makes at least `each` calls for each of `count` items, although the program has
 * only `left` calls left. The message says how to go on with the remaining items.
 */
export function tooManyCalls(over: Expression, count: number, each: number, left: number = callLimit): string {
  const [most, of] = [Math.floor(left / each), describeExpression(over)];
  const name = /^the |^\[/.test(of) ? "xs" : of;
  const slices = `take \`${name}[0:${most}]\` here, and go on with \`${name}[${most}:]\` in the next program`;
  return `A program makes ${callLimit} calls at most, and these ${count} items need ${count * each}${left < callLimit ? `, with ${left} left` : ""}: filter them with \`if\`, or ${most > 0 ? slices : "go over them in the next program"}.`;
}

/** The message for a call when the program has no calls left. */
export const noCallsLeft = `A program makes ${callLimit} calls at most: send the remaining calls as the next program.`;

/**
 * A request that an evaluation yields to its driver: to make a call (`call`), or to run the rounds of a comprehension
 * (`each`). The driver returns the answer of the call, or the results of the rounds in order.
 */
export type Effect =
  | {
      kind: "call";
      call: Call;
      args: ReadonlyMap<string, unknown>;
      /** The index of the item in each `for` around the call, outermost first. */
      path: readonly number[];
      /** Whether an unknown value decides if the call is made. */
      isUnsure: boolean;
    }
  /** `calls` has the calls in the program's text that a round may make. */
  | { kind: "each"; runs: Evaluation<Items>[]; calls: readonly Call[] };
/** The items of a comprehension; `unknownValue` if their number is unknown. */
export type Items = unknown[] | typeof unknownValue;
export type Evaluation<T = unknown> = Generator<Effect, T, unknown>;

/** The variables that an expression can read, and the state of its evaluation. */
export type Scope = {
  variables: ReadonlyMap<string, unknown>;
  /** The loop variables of the innermost `for`. `outer` is the scope around this `for`. */
  loop?: { names: readonly string[]; values: readonly unknown[]; index: number; outer: Scope };
  budget: Budget;
  /** Whether calls may be answered with `unknownValue`. */
  mayBeUnknown?: boolean;
  /** Whether an unknown value decides if the expression is evaluated. */
  isUnsure?: boolean;
};

const unsure = (scope: Scope): Scope => ({ ...scope, isUnsure: true });

/** The index of the item in each surrounding `for`, outermost first. */
function loopIndexes(scope: Scope): number[] {
  const path: number[] = [];
  for (let { loop } = scope; loop; { loop } = loop.outer) path.push(loop.index);
  return path.toReversed();
}

/**
 * Evaluates a checked expression. The evaluation does not make calls: it yields each call to its driver. Throws
 * LanguageError if an operation does not fit its values, or if a limit is exceeded.
 */
export const evaluate = (node: Expression, scope: Scope): Evaluation =>
  scope.mayBeUnknown ? evaluateGuarded(node, scope) : evaluateNode(node, scope);

/**
 * The steps that an error in an unsure part takes. The error is dropped, but its message is made first, and the search
 * for similar names for the message can take a millisecond.
 */
const unsureErrorSteps = 500;

/**
 * Evaluates an expression whose calls may be answered with `unknownValue`. The result of an operation on an unknown
 * value is unknown too. If an unknown value decides which of several parts is evaluated, every one of these parts is
 * evaluated as unsure: the part's calls are marked, and an error makes the part's value unknown. Of these errors, only
 * `too_much_work` ends the whole evaluation.
 */
function* evaluateGuarded(node: Expression, scope: Scope): Evaluation {
  try {
    return yield* evaluateNode(node, scope);
  } catch (error) {
    if (error instanceof UnknownOperand) return unknownValue;
    const isCaught = scope.isUnsure && error instanceof LanguageError && error.diagnostic.code !== "too_much_work";
    if (!isCaught) throw error;
    useSteps(scope.budget, unsureErrorSteps, node.at);
    return unknownValue;
  }
}

function* evaluateNode(node: Expression, scope: Scope): Evaluation {
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
    case "conditional": {
      const test = yield* evaluate(node.test, scope);
      if (test !== unknownValue) return yield* evaluate(isTrue(test) ? node.value : node.other, scope);
      yield* evaluateAll([node.value, node.other], unsure(scope));
      return unknownValue;
    }
    case "format":
      return yield* evaluateFormat(node, scope);
    case "comprehension":
      return requireSize(yield* evaluateComprehension(node, 0, scope), scope.budget, node.at);
    case "builtin": {
      const builtin = builtins.get(node.name);
      if (!builtin) throw new Error(`${node.name} is no builtin`);
      return evaluateBuiltin(builtin, node, yield* evaluateArguments(node, scope), scope.budget);
    }
    default:
      return yield* evaluateCall(node, scope);
  }
}

function* evaluateCall(node: Call, scope: Scope): Evaluation {
  const args = new Map<string, unknown>();
  for (const { name, value } of node.args) args.set(name, yield* evaluate(value, scope));
  scope.budget.calls -= 1;
  if (scope.budget.calls < 0) {
    throw new LanguageError(node.at, noCallsLeft, { code: "too_many_calls" });
  }
  return yield { kind: "call", call: node, args, path: loopIndexes(scope), isUnsure: scope.isUnsure ?? false };
}

const evaluateArguments = ({ args }: Pick<Call, "args">, scope: Scope): Evaluation<unknown[]> =>
  evaluateAll(
    args.map(({ value }) => value),
    scope,
  );

function* evaluateAll(nodes: readonly Expression[], scope: Scope): Evaluation<unknown[]> {
  const values: unknown[] = [];
  for (const node of nodes) values.push(yield* evaluate(node, scope));
  return values;
}

/**
 * The value of a variable. A variable of the innermost `for` with this name hides all others. Uses a step for every 16
 * names of `for` clauses that the search goes through.
 */
function lookUp({ name, at }: Name, scope: Scope): unknown {
  let compared = 0;
  for (let { loop } = scope; loop; { loop } = loop.outer) {
    const index = loop.names.lastIndexOf(name);
    compared += loop.names.length;
    if (index < 0) continue;
    useSteps(scope.budget, compared >> 4, at);
    return loop.values[index];
  }
  useSteps(scope.budget, compared >> 4, at);
  return scope.variables.get(name);
}

function* evaluateDict(node: Extract<Expression, { kind: "dict" }>, scope: Scope): Evaluation {
  const members = new Map<string, unknown>();
  let isKnown = true;
  for (const { key: keyNode, value } of node.members) {
    const key = yield* evaluate(keyNode, scope);
    isKnown &&= key !== unknownValue;
    const name = isKnown ? dictKey(key, members, keyNode.at) : "";
    members.set(name, yield* evaluate(value, scope));
  }
  useSteps(scope.budget, members.size, node.at);
  return isKnown ? requireSize(dictOf(members), scope.budget, node.at) : unknownValue;
}

function* evaluateFormat(node: Extract<Expression, { kind: "format" }>, scope: Scope): Evaluation {
  let text = "";
  let isKnown = true;
  for (const part of node.parts) {
    if (typeof part === "string") text += part;
    else {
      const value = yield* evaluate(part, scope);
      isKnown &&= !(scope.mayBeUnknown && isPartlyUnknown(value));
      if (isKnown) text += formatValue(value, scope.budget, part.at);
    }
    // `requireSize` then refuses the text.
    if (text.length > valueLimitBytes) break;
  }
  return isKnown ? requireSize(text, scope.budget, node.at) : unknownValue;
}

function* evaluatePath(node: Path, scope: Scope): Evaluation {
  let value = yield* evaluate(node.of, scope);
  for (const [index, step] of node.accesses.entries()) {
    useSteps(scope.budget, 1, step.at);
    if (value === unknownValue) yield* evaluateAll(expressionsIn(step), scope);
    else value = yield* evaluateAccess(value, step, () => describeExpression(node, index), scope);
  }
  return value;
}

function* evaluateAccess(value: unknown, step: Access, of: () => string, scope: Scope): Evaluation {
  const { budget } = scope;
  switch (step.kind) {
    case "member":
      return memberOf(value, step.name, of, step.at);
    case "index":
      return itemOf(value, yield* evaluate(step.index, scope), of, budget, step.at);
    case "slice": {
      const bounds = [yield* evaluateBound(step.from, scope), yield* evaluateBound(step.to, scope)] as const;
      if (typeof value === "string" || Array.isArray(value)) {
        return requireSize(sliceOf(value, bounds, budget, step.at), budget, step.at);
      }
      const message = `Only a list or a text can be sliced, and ${of()} is a ${typeOf(value)}.`;
      throw typeError(step.at, isPageValue(value) ? pageHasNoIndex(of()) : message);
    }
    default: {
      const method = builtinMethods.get(step.name);
      if (!method) throw new Error(`${step.name} is no method`);
      const call = { args: step.args, at: step.at, receiver: of };
      return evaluateBuiltin(method, call, [value, ...(yield* evaluateArguments(step, scope))], budget);
    }
  }
}

/** The bound of a slice. Undefined for a missing bound and for None, which mean the same. */
function* evaluateBound(node: Expression | undefined, scope: Scope): Evaluation<number | undefined> {
  const bound = node && (yield* evaluate(node, scope));
  if (!node || bound === null || bound === undefined) return undefined;
  if (Number.isInteger(bound)) return Number(bound);
  throw typeError(node.at, cannotIndex(typeof bound === "number" ? String(bound) : `a ${typeOf(bound)}`));
}

function* evaluateOperation({ operator, operands, at }: Operation, scope: Scope): Evaluation {
  const isChoice = operator === "and" || operator === "or";
  let value: unknown;
  // The operands are not copied, because `and` and `or` may evaluate only the first of thousands of operands.
  for (const [index, operand] of operands.entries()) {
    if (isChoice && index > 0) {
      if (value === unknownValue) {
        yield* evaluateAll(operands.slice(index), unsure(scope));
        return unknownValue;
      }
      if (isTrue(value) === (operator === "or")) return value;
    }
    const right = yield* evaluate(operand, scope);
    if (isChoice || index === 0) value = right;
    else {
      const isUnknown = value === unknownValue || right === unknownValue;
      value = isUnknown ? unknownValue : operate(operator, value, right, scope.budget, at);
    }
  }
  return value;
}

function operate(
  operator: Exclude<Operation["operator"], "and" | "or">,
  left: unknown,
  right: unknown,
  budget: Budget,
  at: Position,
): unknown {
  switch (operator) {
    case "+":
    case "-":
    case "*":
    case "//":
    case "%":
      return calculate(operator, left, right, budget, at);
    default:
      return compare(operator, left, right, budget, at);
  }
}

/** Evaluates a comprehension from the clause at `clauseIndex` on. */
function* evaluateComprehension(node: Comprehension, clauseIndex: number, scope: Scope): Evaluation<Items> {
  const clause = node.clauses[clauseIndex];
  if (!clause) return [yield* evaluate(node.element, scope)];
  const value = yield* evaluate(clause.kind === "if" ? clause.test : clause.over, scope);
  if (value === unknownValue) return yield* evaluateUnsureRound(node, clauseIndex, scope);
  if (clause.kind === "if") return isTrue(value) ? yield* evaluateComprehension(node, clauseIndex + 1, scope) : [];
  const items = iterate(clause.over, value);
  useSteps(scope.budget, items.length, clause.at);
  const { names } = clause;
  const scopes = items.map((item, index): Scope => ({
    ...scope,
    loop: { names, values: names.length === 1 ? [item] : unpack(clause, item, scope), index, outer: scope },
  }));
  const calls = callsAfter(node, clauseIndex);
  if (calls.length > 0) return yield* evaluateCallingClause(node, clauseIndex, scopes, calls);
  const results: Items[] = [];
  for (const inner of scopes) results.push(yield* evaluateComprehension(node, clauseIndex + 1, inner));
  return join(results);
}

/**
 * Evaluates the rest of a comprehension once, after a clause whose value is unknown. The loop variables of this clause
 * and the items of the result are unknown.
 */
function* evaluateUnsureRound(node: Comprehension, clauseIndex: number, scope: Scope): Evaluation<Items> {
  const clause = node.clauses[clauseIndex];
  const names = clause?.kind === "for" ? clause.names : [];
  useSteps(scope.budget, names.length >> 4, node.at);
  const loop = { names, values: names.map(() => unknownValue), index: 0, outer: scope };
  yield* evaluateComprehension(node, clauseIndex + 1, unsure({ ...scope, ...(names.length > 0 ? { loop } : {}) }));
  return unknownValue;
}

/** Joins the items of several rounds. */
const join = (rounds: readonly Items[]): Items =>
  rounds.every((items) => items !== unknownValue) ? rounds.flat() : unknownValue;

/**
 * Evaluates a `for` clause of a comprehension that makes calls in later clauses or in its element. First evaluates the
 * conditions that directly follow the `for` and make no calls. Throws `too_many_calls` before the first call if the
 * remaining items need more calls than the program has left.
 */
function* evaluateCallingClause(
  node: Comprehension,
  clauseIndex: number,
  scopes: readonly Scope[],
  calls: readonly Call[],
): Evaluation<Items> {
  let [remaining, next] = [scopes, clauseIndex + 1];
  let isKnown = true;
  let clause = node.clauses[next];
  while (clause?.kind === "if" && callsIn(clause.test).length === 0) {
    const kept: Scope[] = [];
    for (const scope of remaining) {
      const test = yield* evaluate(clause.test, scope);
      isKnown &&= test !== unknownValue;
      if (test === unknownValue) kept.push(unsure(scope));
      else if (isTrue(test)) kept.push(scope);
    }
    remaining = kept;
    next += 1;
    clause = node.clauses[next];
  }
  const each = leastCallsAfter(node, next - 1);
  const [first] = remaining;
  const forClause = node.clauses[clauseIndex];
  if (first && forClause?.kind === "for" && remaining.length * each > first.budget.calls) {
    const message = tooManyCalls(forClause.over, remaining.length, each, first.budget.calls);
    throw new LanguageError(forClause.at, message, { code: "too_many_calls" });
  }
  const results = yield {
    kind: "each",
    runs: remaining.map((scope) => evaluateComprehension(node, next, scope)),
    calls,
  };
  return isKnown ? join(results as Items[]) : unknownValue;
}

/** The items of a list, or the keys of a dict. Throws `type_error` for any other value, and for a page. */
function iterate(node: Expression, value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  const isPage = isPageValue(value);
  if (typeOf(value) === "dict" && !isPage) return Object.keys(value as object);
  const hint = isPage ? `: its items are in ${describeExpression(node)}.items` : "";
  throw typeError(node.at, `A comprehension goes over a list, not a ${typeOf(value)}${hint}.`);
}

/** The values for the names of a `for` with several names. The item must be a list with one value for each name. */
function unpack({ names, over, at }: ForClause, item: unknown, { budget }: Scope): readonly unknown[] {
  if (item === unknownValue) {
    useSteps(budget, names.length >> 4, at);
    return names.map(() => unknownValue);
  }
  if (Array.isArray(item) && item.length === names.length) return item;
  const actual = Array.isArray(item) ? `a list of ${item.length}` : `a ${typeOf(item)}`;
  throw typeError(over.at, `The names ${names.join(", ")} take lists of ${names.length}, and an item is ${actual}.`);
}
