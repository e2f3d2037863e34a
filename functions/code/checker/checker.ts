import { type CodeFunction, scoreUnit } from "../catalogue/function.ts";
import { builtins, checkBuiltin } from "../interpreter/builtins.ts";
import { tooManyItems } from "../interpreter/interpreter.ts";
import { type StaticType, isPage, itemType, listType, plainType } from "../interpreter/types.ts";
import { typeOf } from "../interpreter/values.ts";
import {
  type BuiltinCall,
  type Call,
  type Comprehension,
  type Expression,
  type Name,
  type Operation,
  type Path,
  type Program,
  type Statement,
  callsIn,
  leadingMembers,
  literalKey,
  subexpressions,
  describeExpression,
} from "../language/ast.ts";
import type { Diagnostic } from "../language/errors.ts";
import { itemLimit, scoreLimit } from "../language/limits.ts";
import { clip } from "../language/messages.ts";
import { formOf } from "../language/parser.ts";
import { CallChecker, callsForTooMany } from "./calls.ts";
import { DiagnosticList } from "./diagnostics.ts";
import { OperatorChecker, operationType, accessType } from "./operations.ts";
import { type LoopVariables, ConditionScope, type CheckerContext, Variables } from "./scope.ts";
import { invalidAccess, noVariable } from "./unknown-names.ts";

/** Checks the statements of a program in order, and collects their mistakes and their score. */
class Checker {
  readonly diagnostics = new DiagnosticList();
  /** The highest score, in units, that the calls checked so far can reach. */
  units = 0;
  readonly #context: CheckerContext;
  readonly #variables: Variables;
  readonly #conditions = new ConditionScope();
  readonly #calls: CallChecker;
  readonly #operators: OperatorChecker;
  #needs = new Map<string, number | undefined>();

  constructor(context: CheckerContext) {
    this.#context = context;
    this.#variables = new Variables(context, this.#conditions);
    this.#operators = new OperatorChecker(this.#conditions, this.diagnostics);
    this.#calls = new CallChecker(context, this.#variables, this.diagnostics);
  }

  /** The account of each call, where it is known before the run. */
  get accounts(): ReadonlyMap<Call, string> {
    return this.#calls.accounts;
  }

  /** Checks a statement. Returns the variables it reads, each with the index of the statement that assigned it. */
  statement({ target, value }: Statement, index: number): Map<string, number | undefined> {
    this.#needs = new Map();
    const type = this.#typeOf(value, new Map(), 1);
    if (target !== undefined) this.#variables.assign(target, value, { statement: index, type });
    return this.#needs;
  }

  #typeOf(node: Expression, loops: LoopVariables, factor: number): StaticType {
    switch (node.kind) {
      case "name":
        return this.#variable(node, loops);
      case "path":
        return this.#path(node, loops, factor);
      case "comprehension":
        return this.#comprehension(node, loops, factor);
      case "builtin":
        return this.#builtin(node, loops, factor);
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
    return type;
  }

  #builtin({ name, args, at }: BuiltinCall, loops: LoopVariables, factor: number, isAfterIn = false): StaticType {
    const builtin = builtins.get(name);
    if (!builtin) return {};
    if (builtin.onlyAfterIn && !isAfterIn) {
      const message = `${formOf(builtin)} stands only after the \`in\` of a comprehension.`;
      this.diagnostics.add(`misplaced_${name}`, at, () => message);
      return {};
    }
    const given = args.map(({ value }) => ({
      type: this.#typeOf(value, loops, factor),
      literal: this.#variables.literal(value, loops),
    }));
    const result = checkBuiltin(builtin, given);
    if (!("message" in result)) return result;
    const place = args[result.index]?.value.at ?? at;
    const types = given.map(({ type }) => type);
    this.#operators.report(result.code, place, types, result.message);
    return {};
  }

  #call(call: Call, loops: LoopVariables, factor: number): StaticType {
    const { type, units } = this.#calls.check(call, loops, (value) => this.#typeOf(value, loops, factor));
    this.units += factor * units;
    return type;
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
    this.diagnostics.add("unknown_variable", at, () => {
      const variables = [...loops.keys(), ...this.#variables.names()];
      return noVariable(name, members, { variables, gone: session?.get(name), catalogue });
    });
    return {};
  }

  #path(node: Path, loops: LoopVariables, factor: number): StaticType {
    const { of, accesses } = node;
    let type =
      of.kind === "name" ? this.#variable(of, loops, leadingMembers(accesses)) : this.#typeOf(of, loops, factor);
    for (const [count, access] of accesses.entries()) {
      const index = access.kind === "index" ? this.#typeOf(access.index, loops, factor) : {};
      const key = literalKey(access);
      const result = accessType(type, key, index);
      if (!("type" in result) && !this.#conditions.allow(result, type, of, key)) {
        this.diagnostics.add("no_such_member", access.at, () =>
          invalidAccess(result, key, describeExpression(node, count)),
        );
      }
      type = "type" in result ? result.type : {};
    }
    return type;
  }

  #comprehension(node: Comprehension, outer: LoopVariables, outerFactor: number): StaticType {
    const loops = new Map(outer);
    let [factor, most] = [outerFactor, 1];
    for (const [index, clause] of node.clauses.entries()) {
      if (clause.kind === "if") {
        this.#typeOf(clause.test, loops, factor);
        this.#conditions.enter(clause.test);
        continue;
      }
      const { over } = clause;
      const type =
        over.kind === "builtin" ? this.#builtin(over, loops, factor, true) : this.#typeOf(over, loops, factor);
      loops.set(clause.name, this.#itemsOf(over, type));
      const items = type.most ?? itemLimit;
      // The run rejects a comprehension that calls for more items than this, so the score counts no more.
      factor *= Math.min(items, itemLimit);
      most *= items;
      if (callsForTooMany(node, index, type)) {
        this.diagnostics.add("too_many_items", clause.at, () => tooManyItems(items));
      }
      this.#conditions.enter();
    }
    const item = this.#typeOf(node.element, loops, factor);
    this.#conditions.leave(node.clauses.length);
    return { type: "list", most, item };
  }

  #itemsOf(over: Expression, type: StaticType): StaticType {
    const items = itemType(type);
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

/** A call to a known function, with its index in the order of execution. */
export type CheckedCall = {
  index: number;
  call: Call;
  fn: CodeFunction;
  /** The account of the call, where it is known before the run. */
  account?: string | undefined;
};

/** A statement after checking. */
export type CheckedStatement = {
  statement: Statement;
  calls: CheckedCall[];
  /** The index of the statement that assigned each variable read here; undefined for variables of the session. */
  needs: Map<string, number | undefined>;
  /** Whether the statement contains a call that writes. */
  writes: boolean;
};

/** The result of checking a program. The steps may run only when there are no mistakes. */
export type Checked = {
  steps: CheckedStatement[];
  calls: Map<Call, CheckedCall>;
  diagnostics: Diagnostic[];
  score: number;
};

/**
 * Checks a program without running it:
 * - the functions it calls
 * - their arguments, as far as they are known
 * - its variables and the members it reads from results
 * - its complexity score
 */
export function check({ statements }: Program, context: CheckerContext): Checked {
  const { catalogue } = context;
  const checker = new Checker(context);
  const checked: Checked = { steps: [], calls: new Map(), diagnostics: [], score: 0 };
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
    const needs = checker.statement(statement, index);
    for (const checkedCall of checkedCalls) checkedCall.account = checker.accounts.get(checkedCall.call);
    const writes = checkedCalls.some(({ fn }) => fn.route.access === "write");
    checked.steps.push({ statement, calls: checkedCalls, needs, writes });
  }
  return withScore(checked, checker);
}

function withScore(checked: Checked, { diagnostics: { diagnostics }, units }: Checker): Checked {
  const [first] = checked.calls.keys();
  const score = units / scoreUnit;
  if (diagnostics.length > 0) return { ...checked, diagnostics };
  if (score <= scoreLimit || !first) return { ...checked, score };
  const shown = Number.isFinite(score) ? score : "beyond all bounds";
  const message = `The program's complexity score is ${shown}; ${scoreLimit} is the most. Ask for fewer or smaller pages, or go over fewer items.`;
  return { ...checked, score, diagnostics: [{ code: "score_too_high", message, at: first.at }] };
}

const withoutEffect = ({ value }: Statement): string =>
  `This line does nothing: give its value a name, \`x = ${value.kind === "name" ? clip(value.name) : "…"}\`, or put it last to have it answered as last_value.`;
