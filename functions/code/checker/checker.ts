import type { CodeFunction } from "../catalogue/function.ts";
import { type Builtin, type BuiltinArguments, checkBuiltin } from "../interpreter/builtin.ts";
import { builtinMethods, builtins } from "../interpreter/builtins.ts";
import { noCallsLeft, tooManyCalls } from "../interpreter/interpreter.ts";
import {
  type AccessResult,
  type StaticType,
  commonType,
  elementType,
  isPage,
  itemType,
  listType,
  plainType,
  sliceType,
  wrongType,
} from "../interpreter/types.ts";
import { cannotIndex, typeOf } from "../interpreter/values.ts";
import {
  type Access,
  type Call,
  type Comprehension,
  type Expression,
  type ForClause,
  type Name,
  type Operation,
  type Path,
  type Program,
  type Statement,
  callsIn,
  describeExpression,
  leadingMembers,
  leastCallsAfter,
  literalKey,
  subexpressions,
} from "../language/ast.ts";
import { type Diagnostic, DiagnosticList } from "../language/errors.ts";
import { callLimit, scoreLimit } from "../language/limits.ts";
import { clip } from "../language/messages.ts";
import { closestName } from "../language/spelling.ts";
import { literalValue } from "./arguments.ts";
import { CallChecker } from "./calls.ts";
import { type CallCost, howToLowerScore, costliestOf, scoreOf } from "./cost.ts";
import { OperatorChecker, accessType, neverEqual, operationType } from "./operations.ts";
import { type LoopVariables, ConditionScope, type CheckerContext, Variables } from "./scope.ts";
import { invalidAccess, noVariable } from "./unknown-names.ts";

/** Checks the statements of a program in order, and collects their mistakes and the costs of their calls. */
class Checker {
  readonly diagnostics = new DiagnosticList();
  /** Whether the program reads a variable that neither an earlier line nor the session in `context` has. */
  readsUnassigned = false;
  /** The cost of each call checked so far. */
  readonly costs: CallCost[] = [];
  /** The calls that are left of `callLimit` after those that are certainly made before the current expression. */
  #callsLeft = callLimit;
  readonly #context: CheckerContext;
  readonly #variables: Variables;
  readonly #conditions = new ConditionScope();
  readonly #calls: CallChecker;
  readonly #operators: OperatorChecker;
  /**
   * The variables that the current statement reads. Each has the index of the statement that assigned the variable, or
   * undefined for a variable of the session.
   */
  #needs = new Map<string, number | undefined>();

  constructor(context: CheckerContext) {
    this.#context = context;
    this.#variables = new Variables(context, this.#conditions);
    this.#operators = new OperatorChecker(this.#conditions, this.diagnostics);
    this.#calls = new CallChecker(context, this.#variables, this.diagnostics);
  }

  /**
   * The account id of each call. A call has no entry if it names no account, or if its account is known only during the
   * run.
   */
  get accounts(): ReadonlyMap<Call, string> {
    return this.#calls.accounts;
  }

  /**
   * Checks a statement. Returns the variables that the statement reads. Each has the index of the statement that
   * assigned the variable, or undefined for a variable of the session.
   */
  statement({ target, value }: Statement, index: number): Map<string, number | undefined> {
    this.#needs = new Map();
    const type = this.#typeOf(value, new Map(), 1);
    if (target !== undefined) {
      const { value: known, unknown } = literalValue(value);
      this.#variables.assign(target, { statement: index, type }, unknown.length === 0 ? known : undefined);
    }
    return this.#needs;
  }

  /**
   * Checks an expression and returns its type. `factor` is the most times that a run can evaluate the expression, if a
   * list of unknown length counts as `callLimit` items.
   */
  #typeOf(node: Expression, loops: LoopVariables, factor: number): StaticType {
    switch (node.kind) {
      case "name":
        return this.#variable(node, loops);
      case "path":
        return this.#path(node, loops, factor);
      case "comprehension":
        return this.#comprehension(node, loops, factor);
      case "builtin":
        return this.#builtin(builtins.get(node.name), node, loops, factor);
      case "list":
        return listType(node.items.map((item) => this.#typeOf(item, loops, factor)));
      case "dict":
        return this.#operators.dict(node, (part) => this.#typeOf(part, loops, factor));
      case "operation":
        return this.#operation(node, loops, factor);
      case "call":
        return this.#call(node, loops, factor);
      case "literal":
        return plainType(typeOf(node.value));
      case "conditional":
        return this.#conditional(node, loops, factor);
      case "format":
        for (const part of subexpressions(node)) this.#typeOf(part, loops, factor);
        return plainType("string");
      default:
        return this.#operators.unary(node, this.#typeOf(node.of, loops, factor));
    }
  }

  #operation(node: Operation, loops: LoopVariables, factor: number): StaticType {
    const { operator, operands, at } = node;
    const isChoice = operator === "and" || operator === "or";
    this.#conditions.note(node);
    const types = operands.map((operand, index) => {
      if (isChoice && index > 0) this.#conditions.enter(operands[index - 1]);
      return this.#typeOf(operand, loops, factor);
    });
    if (isChoice) this.#conditions.leave(operands.length - 1);
    const { type, wrong } = operationType(operator, types, this.#conditions.isCertain);
    if (wrong !== undefined) this.diagnostics.add("type_error", at, () => wrong);
    const asksForEqualValues = operator === "==" || operator === "!=" || operator === "in" || operator === "not in";
    if (asksForEqualValues) this.#comparison(node, types, loops);
    return type;
  }

  /** Reports a literal that is compared with a value that can never equal the literal. */
  #comparison({ operator, operands }: Operation, types: readonly StaticType[], loops: LoopVariables): void {
    const [left, right] = operands;
    const [leftType = {}, rightType = {}] = types;
    if (!left || !right) return;
    const compare = (source: Expression, type: StaticType, literal: Expression): void => {
      const message = neverEqual(describeExpression(source), type, this.#variables.literal(literal, loops));
      if (message !== undefined) this.diagnostics.add("unknown_value", literal.at, () => message);
    };
    const isSearch = operator.endsWith("in");
    if (!isSearch) {
      compare(left, leftType, right);
      compare(right, rightType, left);
      return;
    }
    if (right.kind === "list") for (const item of right.items) compare(left, leftType, item);
    const items = itemType(rightType);
    compare(right, "type" in items ? items.type : {}, left);
  }

  #conditional(
    { test, value, other }: Extract<Expression, { kind: "conditional" }>,
    loops: LoopVariables,
    factor: number,
  ): StaticType {
    this.#typeOf(test, loops, factor);
    this.#conditions.enter(test);
    const types = [value, other].map((part) => this.#typeOf(part, loops, factor)) as [StaticType, StaticType];
    this.#conditions.leave(1);
    return commonType(...types);
  }

  /** Checks a call of a builtin. For a method, `receiver` is the type of the value before the dot. */
  #builtin(
    builtin: Builtin | undefined,
    call: BuiltinArguments,
    loops: LoopVariables,
    factor: number,
    receiver?: StaticType,
  ): StaticType {
    if (!builtin) return {};
    const args = call.args.map(({ value }) => ({
      type: this.#typeOf(value, loops, factor),
      literal: this.#variables.literal(value, loops),
    }));
    if (receiver) args.unshift({ type: receiver, literal: undefined });
    const result = checkBuiltin(builtin, call, args);
    if (!("message" in result)) return result;
    const types = args.map(({ type }) => type);
    this.#operators.report(result.code, result.at, types, result.message);
    return {};
  }

  #call(call: Call, loops: LoopVariables, factor: number): StaticType {
    const { type, units, dryUnits } = this.#calls.check(call, loops, (value) => this.#typeOf(value, loops, factor));
    this.costs.push({ call, units, dryUnits, times: factor });
    if (this.#conditions.isCertain) this.#useCalls(1, call, () => noCallsLeft);
    return type;
  }

  /** Counts calls that are certainly made. If too few calls are left, reports this at `node`, and only once. */
  #useCalls(count: number, { at }: Pick<Expression, "at">, message: (left: number) => string): void {
    const left = this.#callsLeft;
    this.#callsLeft = count > left ? Number.POSITIVE_INFINITY : left - count;
    if (count > left) this.diagnostics.add("too_many_calls", at, () => message(left));
  }

  #variable({ name, at }: Name, loops: LoopVariables, members: readonly string[] = []): StaticType {
    const type = loops.get(name);
    if (type) return type;
    const variable = this.#variables.get(name);
    if (variable) {
      this.#needs.set(name, variable.statement);
      return variable.type;
    }
    const { session, catalogue } = this.#context;
    this.readsUnassigned = true;
    this.diagnostics.add("unknown_variable", at, () => {
      const variables = [...loops.keys(), ...this.#variables.names()];
      const kept = session?.get(name);
      return noVariable(name, members, { variables, gone: kept && "gone" in kept ? kept.gone : undefined, catalogue });
    });
    return {};
  }

  #path(node: Path, loops: LoopVariables, factor: number): StaticType {
    const { of, accesses } = node;
    const called = this.#calledFunction(node, loops);
    if (called) return this.#call(called, loops, factor);
    let type =
      of.kind === "name" ? this.#variable(of, loops, leadingMembers(accesses)) : this.#typeOf(of, loops, factor);
    for (const [count, access] of accesses.entries()) {
      const accessed = type;
      const result = this.#access(type, access, () => describeExpression(node, count), loops, factor);
      const key = literalKey(access);
      if (!("type" in result) && !this.#conditions.mayPrevent(result, type, of, key)) {
        this.diagnostics.add("no_such_member", access.at, () =>
          invalidAccess(result, accessed, key, describeExpression(node, count)),
        );
      }
      type = "type" in result ? result.type : {};
    }
    return type;
  }

  /**
   * Reads a method call on an unknown variable, such as `mailboxes.get("id")`, as the function call that was probably
   * meant. Returns undefined for any other path, and if the variable's name is not similar to the first part of a
   * function's name.
   */
  #calledFunction({ of, accesses, at }: Path, loops: LoopVariables): Call | undefined {
    if (of.kind !== "name" || loops.has(of.name) || this.#variables.get(of.name)) return undefined;
    const members = leadingMembers(accesses);
    const method = accesses[members.length - 1];
    if (method?.kind !== "method") return undefined;
    const families = new Set([...this.#context.catalogue.keys()].map((name) => name.split(".")[0] ?? ""));
    if (closestName(of.name, families) === undefined) return undefined;
    this.readsUnassigned = true;
    return { kind: "call", name: [of.name, ...members].join("."), args: method.args, at };
  }

  #access(type: StaticType, access: Access, of: () => string, loops: LoopVariables, factor: number): AccessResult {
    switch (access.kind) {
      case "member":
        return accessType(type, access.name, {});
      case "index":
        return accessType(type, literalKey(access), this.#typeOf(access.index, loops, factor));
      case "slice":
        return this.#slice(type, access, loops, factor);
      default:
        return {
          type: this.#builtin(
            builtinMethods.get(access.name),
            { args: access.args, at: access.at, receiver: of },
            loops,
            factor,
            type,
          ),
        };
    }
  }

  #slice(
    type: StaticType,
    { from, to }: Extract<Access, { kind: "slice" }>,
    loops: LoopVariables,
    factor: number,
  ): AccessResult {
    const [start, end] = [from, to].map((bound) => {
      if (!bound) return undefined;
      const found = wrongType(this.#typeOf(bound, loops, factor), ["number", "null"]);
      if (found) this.diagnostics.add("type_error", bound.at, () => cannotIndex(`a ${found}`));
      const value = this.#variables.literal(bound, loops);
      return typeof value === "number" ? value : null;
    });
    const found = wrongType(type, ["list", "string"]);
    return found ? { typeName: found } : { type: sliceType(type, start, end) };
  }

  #comprehension(node: Comprehension, outer: LoopVariables, outerFactor: number): StaticType {
    const loops = new Map(outer);
    let factor = outerFactor;
    const { isCertain } = this.#conditions;
    const callsLeft = this.#callsLeft;
    // A run may skip this comprehension, so only the calls of the comprehension itself count.
    if (!isCertain) this.#callsLeft = callLimit;
    let mostItems: number | undefined = 1;
    // The number of rounds that every evaluation of the comprehension makes; undefined if the number is not known.
    let certainRounds: number | undefined = 1;
    for (const [index, clause] of node.clauses.entries()) {
      if (clause.kind === "if") {
        this.#typeOf(clause.test, loops, factor);
        this.#conditions.enter(clause.test);
        certainRounds = undefined;
        continue;
      }
      const type = this.#typeOf(clause.over, loops, factor);
      this.#bindItems(clause, type, loops);
      // A list of unknown length counts as `callLimit` items, because a run makes at most `callLimit` calls.
      const items = type.most ?? callLimit;
      factor *= items;
      mostItems = mostItems === undefined || type.most === undefined ? undefined : mostItems * items;
      // A list in a variable does not make the number of rounds certain, even if its length is known: a condition
      // around the comprehension may test the length, and skip the comprehension.
      const isWrittenHere = clause.over.kind === "list" || clause.over.kind === "builtin";
      certainRounds = certainRounds !== undefined && type.isExact && isWrittenHere ? certainRounds * items : undefined;
      if (certainRounds !== undefined) {
        const [rounds, each] = [certainRounds, leastCallsAfter(node, index)];
        this.#useCalls(rounds * each, clause, (left) => tooManyCalls(clause.over, rounds, each, left));
      }
      this.#conditions.enter();
    }
    const item = this.#typeOf(node.element, loops, factor);
    this.#conditions.leave(node.clauses.length);
    if (!isCertain) this.#callsLeft = callsLeft;
    return { type: "list", item, ...(mostItems === undefined ? {} : { most: mostItems }) };
  }

  /** Adds the variables of a `for` to `loops`, each with its type. */
  #bindItems({ names, over }: ForClause, type: StaticType, loops: Map<string, StaticType>): void {
    const item = this.#itemsOf(over, type);
    const parts = names.length === 1 ? [item] : names.map((_, index) => partOf(item, index));
    for (const [index, name] of names.entries()) loops.set(name, parts[index] ?? {});
    if (names.length > 1 && item.parts && item.parts.length !== names.length) {
      const message = `An item has ${item.parts.length} values, and the \`for\` takes ${names.length}.`;
      this.diagnostics.add("type_error", over.at, () => message);
    }
  }

  #itemsOf(over: Expression, type: StaticType): StaticType {
    const items = elementType(type);
    if ("type" in items) return items.type;
    this.diagnostics.add("type_error", over.at, () => {
      const of = describeExpression(over);
      const hint = isPage(type) ? `: its items are in ${of}.items` : "";
      const name = "typeName" in items ? items.typeName : "dict";
      return `A comprehension goes over a list, and ${of} is a ${name}${hint}.`;
    });
    return {};
  }
}

const partOf = (type: StaticType, index: number): StaticType => {
  const part = itemType(type, index);
  return "type" in part ? part.type : {};
};

/** A call to a known function, with its index in the order of execution. */
export type CheckedCall = {
  index: number;
  call: Call;
  fn: CodeFunction;
  /**
   * The id of the call's account. Undefined if the call names no account, or if its account is known only during the
   * run.
   */
  account?: string | undefined;
};

/** A statement after checking. */
export type CheckedStatement = {
  statement: Statement;
  calls: CheckedCall[];
  /**
   * The variables that the statement reads. Each has the index of the statement that assigned the variable, or
   * undefined for a variable of the session.
   */
  needs: Map<string, number | undefined>;
  /** Whether the statement contains a call that writes. */
  writes: boolean;
  /** The most calls that a run of the statement makes, if a list of unknown length counts as `callLimit` items. */
  mostCalls: number;
};

/** The result of checking a program. Its steps may run only if `diagnostics` is empty. */
export type Checked = {
  steps: CheckedStatement[];
  calls: Map<Call, CheckedCall>;
  diagnostics: Diagnostic[];
  /** The complexity score. 0 if the program has a mistake, unless the only mistake is that the score is too high. */
  score: number;
  /** The score of a dry run of the program. A dry run makes no writes. 0 if the program has a mistake. */
  dryScore: number;
  /** Whether the program reads a variable that neither an earlier line nor the session of the check has. */
  readsUnassigned?: boolean;
  /** The call that would have the highest score if it were the only call of the program. */
  costliest?: CallCost | undefined;
};

/**
 * Checks a program without running it:
 * - the functions it calls
 * - their arguments, as far as they are known
 * - its variables and the members it reads from results
 * - the types of its values
 * - lines without an effect
 * - its complexity score
 */
export function check({ statements }: Program, context: CheckerContext): Checked {
  const { catalogue } = context;
  const checker = new Checker(context);
  const checked: Checked = { steps: [], calls: new Map(), diagnostics: [], score: 0, dryScore: 0 };
  for (const [index, statement] of statements.entries()) {
    const calls = callsIn(statement.value);
    const checkedCalls = calls.flatMap((call): CheckedCall[] => {
      const fn = catalogue.get(call.name);
      if (!fn) return [];
      const checkedCall: CheckedCall = { index: checked.calls.size, call, fn };
      checked.calls.set(call, checkedCall);
      return [checkedCall];
    });
    if (calls.length === 0 && statement.target === undefined && index < statements.length - 1) {
      checker.diagnostics.add("no_effect", statement.at, () => withoutEffect(statement));
    }
    const before = checker.costs.length;
    const needs = checker.statement(statement, index);
    const mostCalls = checker.costs.slice(before).reduce((sum, { times }) => sum + times, 0);
    for (const checkedCall of checkedCalls) checkedCall.account = checker.accounts.get(checkedCall.call);
    const writes = checkedCalls.some(({ fn }) => fn.route.access === "write");
    checked.steps.push({ statement, calls: checkedCalls, needs, writes, mostCalls });
  }
  const { readsUnassigned, costs } = checker;
  return withScore({ ...checked, readsUnassigned, costliest: costliestOf(costs) }, checker);
}

function withScore(checked: Checked, checker: Checker): Checked {
  const { diagnostics } = checker.diagnostics;
  const [first] = checked.calls.keys();
  const score = scoreOf(checker.costs, "units");
  if (diagnostics.length > 0) return { ...checked, diagnostics };
  const { costliest } = checked;
  if (score <= scoreLimit || !first || !costliest)
    return { ...checked, score, dryScore: scoreOf(checker.costs, "dryUnits") };
  const message = `The program's complexity score is ${score}; ${scoreLimit} is the most. To lower it: ${howToLowerScore(costliest)}`;
  return { ...checked, score, diagnostics: [{ code: "score_too_high", message, at: first.at }] };
}

const withoutEffect = ({ value }: Statement): string =>
  `This line does nothing. Give its value a name, \`x = ${value.kind === "name" ? clip(value.name) : "…"}\`, or make it the last line, so that its value is last_value.`;
