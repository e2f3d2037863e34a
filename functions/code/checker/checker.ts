import { type CodeFunction, scoreLimit, scoreUnit } from "../catalogue/function.ts";
import { itemLimit, tooManyItems } from "../interpreter/interpreter.ts";
import { typeOf } from "../interpreter/values.ts";
import {
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
  partsOf,
  written,
} from "../language/ast.ts";
import type { Diagnostic } from "../language/errors.ts";
import { clip } from "../language/messages.ts";
import { CallChecker, callsForTooMany, maxItems } from "./calls.ts";
import { DiagnosticList } from "./diagnostics.ts";
import { OperatorChecker, operationShape, stepOf } from "./operations.ts";
import { type LoopVariables, ConditionScope, ConstantLookup, type CheckerContext, Variables } from "./scope.ts";
import { type StaticType, isPage, itemShape, listShape, shapeOfType } from "./types.ts";
import { invalidAccess, noVariable } from "./unknown-names.ts";

const misplacedRange = "range(n) stands only after the `in` of a comprehension.";

/** Checks the statements of a program in order, and collects their mistakes and their score. */
class Checker {
  readonly complaints = new DiagnosticList();
  /** The highest score, in units, that the calls checked so far can reach. */
  units = 0;
  readonly #surroundings: CheckerContext;
  readonly #variables: Variables;
  readonly #guards = new ConditionScope();
  readonly #known: ConstantLookup;
  readonly #calls: CallChecker;
  readonly #operands: OperatorChecker;
  #needs = new Map<string, number | undefined>();

  constructor(surroundings: CheckerContext) {
    this.#surroundings = surroundings;
    this.#variables = new Variables(surroundings);
    this.#known = new ConstantLookup(this.#variables, this.#guards);
    this.#operands = new OperatorChecker(this.#known, this.#guards, this.complaints);
    this.#calls = new CallChecker(surroundings, this.#variables, this.#known, this.complaints);
  }

  /** The account of each call, where it is known before the run. */
  get accounts(): ReadonlyMap<Call, string> {
    return this.#calls.accounts;
  }

  /** Checks a statement. Returns the variables it reads, each with the index of the statement that assigned it. */
  statement({ target, value }: Statement, place: number): Map<string, number | undefined> {
    this.#needs = new Map();
    const shape = this.#shapeOf(value, new Map(), 1);
    if (target !== undefined) this.#variables.assign(target, value, { place, shape });
    return this.#needs;
  }

  #shapeOf(node: Expression, bound: LoopVariables, factor: number): StaticType {
    switch (node.kind) {
      case "name":
        return this.#variable(node, bound);
      case "path":
        return this.#follow(node, bound, factor);
      case "comprehension":
        return this.#comprehension(node, bound, factor);
      case "range":
        this.complaints.add("misplaced_range", node.at, () => misplacedRange);
        return {};
      case "list":
        return listShape(
          node.items.map((item) => this.#shapeOf(item, bound, factor)),
          this.#variables.budget,
        );
      case "dict":
        return this.#operands.dict(node, bound, (part) => this.#shapeOf(part, bound, factor));
      case "operation":
        return this.#operation(node, bound, factor);
      case "call":
        return this.#call(node, bound, factor);
      case "literal":
        return shapeOfType(typeOf(node.value));
      case "format":
        for (const part of partsOf(node)) this.#shapeOf(part, bound, factor);
        return shapeOfType("string");
      default:
        return this.#operands.operand(node, this.#shapeOf(node.of, bound, factor));
    }
  }

  #operation(node: Operation, bound: LoopVariables, factor: number): StaticType {
    const { operator, operands, at } = node;
    const isChoice = operator === "and" || operator === "or";
    this.#guards.note(node);
    const shapes = operands.map((operand, place) => {
      if (isChoice && place > 0) this.#guards.enter(operands[place - 1]);
      return this.#shapeOf(operand, bound, factor);
    });
    if (isChoice) this.#guards.leave(operands.length - 1);
    const { shape, wrong } = operationShape(operator, shapes, {
      budget: this.#variables.budget,
      isCertain: this.#guards.isCertain,
    });
    if (wrong !== undefined) this.complaints.add("type_error", at, () => wrong);
    return shape;
  }

  #call(call: Call, bound: LoopVariables, factor: number): StaticType {
    const { shape, units } = this.#calls.inspect(call, bound, (value) => this.#shapeOf(value, bound, factor));
    this.units += factor * units;
    return shape;
  }

  #variable({ name, at }: Name, bound: LoopVariables, members: readonly string[] = []): StaticType {
    const shape = bound.get(name);
    if (shape) return shape;
    const variable = this.#variables.get(name);
    if (variable) {
      this.#needs.set(name, variable.place);
      return variable.shape;
    }
    const { session, catalogue } = this.#surroundings;
    this.complaints.add("unknown_variable", at, () => {
      const variables = [...bound.keys(), ...this.#variables.names()];
      return noVariable(name, members, { variables, gone: session?.get(name), catalogue });
    });
    return {};
  }

  #follow(node: Path, bound: LoopVariables, factor: number): StaticType {
    const { of, steps } = node;
    let shape =
      of.kind === "name" ? this.#variable(of, bound, leadingMembers(steps)) : this.#shapeOf(of, bound, factor);
    for (const [place, step] of steps.entries()) {
      const index = step.kind === "index" ? this.#shapeOf(step.index, bound, factor) : {};
      const key = this.#known.key(step, bound);
      const stepped = stepOf(shape, key, index);
      const isAllowed = "shape" in stepped || this.#guards.allow(stepped, shape, of, key);
      if (!isAllowed) {
        this.complaints.add("no_such_member", step.at, () => invalidAccess(stepped, key, written(node, place)));
      }
      shape = "shape" in stepped ? stepped.shape : {};
    }
    return shape;
  }

  #comprehension(node: Comprehension, outer: LoopVariables, outerFactor: number): StaticType {
    const bound = new Map(outer);
    let [factor, most] = [outerFactor, 1];
    for (const [place, clause] of node.clauses.entries()) {
      if (clause.kind === "if") {
        this.#shapeOf(clause.test, bound, factor);
        this.#guards.enter(clause.test);
        continue;
      }
      const { over } = clause;
      const shape = this.#shapeOf(over.kind === "range" ? over.of : over, bound, factor);
      const count = over.kind === "range" ? this.#operands.count(over, shape, bound) : undefined;
      bound.set(clause.name, over.kind === "range" ? shapeOfType("number") : this.#itemsOf(over, shape));
      const items = maxItems(over, shape, count);
      // The run rejects a comprehension that calls for more items than this, so the score counts no more.
      factor *= Math.min(items, itemLimit);
      most *= items;
      if (callsForTooMany(node, place, count)) {
        this.complaints.add("too_many_items", clause.at, () => tooManyItems(items));
      }
      this.#guards.enter();
    }
    const item = this.#shapeOf(node.element, bound, factor);
    this.#guards.leave(node.clauses.length);
    return { type: "list", most, item };
  }

  #itemsOf(over: Expression, shape: StaticType): StaticType {
    const stepped = itemShape(shape);
    if ("shape" in stepped) return stepped.shape;
    this.complaints.add("type_error", over.at, () => {
      const of = written(over);
      const hint = isPage(shape) ? `: its items are in ${of}.items` : "";
      const type = "type" in stepped ? stepped.type : "dict";
      return `A comprehension goes over a list, and ${of} is a ${type}${hint}.`;
    });
    return {};
  }
}

/** A call to a known function, with its index in the order of execution. */
export type Site = {
  index: number;
  call: Call;
  fn: CodeFunction;
  /** The account of the call, where it is known before the run. */
  account?: string | undefined;
};

/** A statement after checking. */
export type CheckedStatement = {
  statement: Statement;
  sites: Site[];
  /** The index of the statement that assigned each variable read here; undefined for variables of the session. */
  needs: Map<string, number | undefined>;
  /** Whether the statement contains a call that writes. */
  writes: boolean;
};

/** The result of checking a program. The steps may run only when there are no mistakes. */
export type Checked = { steps: CheckedStatement[]; sites: Map<Call, Site>; mistakes: Diagnostic[]; score: number };

/**
 * Checks a program without running it:
 * - the functions it calls
 * - their arguments, as far as they are known
 * - its variables and the members it reads from results
 * - its complexity score
 */
export function check({ statements }: Program, surroundings: CheckerContext): Checked {
  const { catalogue } = surroundings;
  const inspection = new Checker(surroundings);
  const checked: Checked = { steps: [], sites: new Map(), mistakes: [], score: 0 };
  for (const [place, statement] of statements.entries()) {
    const calls = callsIn(statement.value);
    const sites = calls.flatMap((call): Site[] => {
      const fn = catalogue.get(call.name);
      if (!fn) return [];
      const site: Site = { index: checked.sites.size, call, fn };
      checked.sites.set(call, site);
      return [site];
    });
    if (calls.length === 0 && statement.target === undefined && place < statements.length - 1) {
      inspection.complaints.add("no_effect", statement.at, () => withoutEffect(statement));
    }
    const needs = inspection.statement(statement, place);
    for (const site of sites) site.account = inspection.accounts.get(site.call);
    const writes = sites.some(({ fn }) => fn.route.access === "write");
    checked.steps.push({ statement, sites, needs, writes });
  }
  return withScore(checked, inspection);
}

function withScore(checked: Checked, { complaints: { mistakes }, units }: Checker): Checked {
  const [first] = checked.sites.keys();
  const score = units / scoreUnit;
  if (mistakes.length > 0) return { ...checked, mistakes };
  if (score <= scoreLimit || !first) return { ...checked, score };
  const shown = Number.isFinite(score) ? score : "beyond all bounds";
  const message = `The program's complexity score is ${shown}; ${scoreLimit} is the most. Ask for fewer or smaller pages, or go over fewer items.`;
  return { ...checked, score, mistakes: [{ code: "score_too_high", message, at: first.at }] };
}

const withoutEffect = ({ value }: Statement): string =>
  `This line does nothing: give its value a name, \`x = ${value.kind === "name" ? clip(value.name) : "…"}\`, or put it last to have it answered as last_value.`;
