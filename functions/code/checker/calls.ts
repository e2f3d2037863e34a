import { type CodeFunction, pageSizeOf, unitsOf } from "../catalogue/function.ts";
import { itemLimit } from "../interpreter/interpreter.ts";
import { type Call, type Comprehension, type Expression, callsAfter } from "../language/ast.ts";
import type { Diagnostic } from "../language/errors.ts";
import { checkArguments, typeMismatch, unfitArgument } from "./arguments.ts";
import type { DiagnosticList } from "./diagnostics.ts";
import type { CheckerContext, ConstantLookup, LoopVariables, Variables } from "./scope.ts";
import { type StaticType, outputOf } from "./types.ts";
import { unknownFunction } from "./unknown-names.ts";

/** The reasons why this program may not call a function with any arguments. */
function callRestrictions(
  { name, at }: Call,
  { route, ofSession }: CodeFunction,
  around: CheckerContext,
): Diagnostic[] {
  const mistakes: Diagnostic[] = [];
  if (around.readOnly && route.access === "write") {
    const message = `This program may only read, and ${name} changes something: send it where programs may write.`;
    mistakes.push({ code: "read_only", message, at });
  }
  if (ofSession && !around.session) {
    mistakes.push({ code: "no_session", message: `${name} needs a session: send a session_id.`, at });
  }
  return mistakes;
}

/** The type of a call's result, and the call's score in units. */
type Inspected = { shape: StaticType; units: number };

/** Checks the calls of a program and collects their mistakes. */
export class CallChecker {
  /** The account of each call, where it is known before the run. */
  readonly accounts = new Map<Call, string>();
  readonly #surroundings: CheckerContext;
  readonly #variables: Variables;
  readonly #known: ConstantLookup;
  readonly #complaints: DiagnosticList;

  constructor(surroundings: CheckerContext, variables: Variables, known: ConstantLookup, complaints: DiagnosticList) {
    this.#surroundings = surroundings;
    this.#variables = variables;
    this.#known = known;
    this.#complaints = complaints;
  }

  /** Checks a call; `shapeOf` checks its arguments. */
  inspect(call: Call, bound: LoopVariables, shapeOf: (value: Expression) => StaticType): Inspected {
    const fn = this.#functionOf(call, bound);
    const checked = fn && checkArguments(call, fn, (node) => this.#known.literal(node, bound));
    for (const mistake of checked?.mistakes ?? []) this.#complaints.tell(mistake);
    for (const { name, value } of call.args) {
      const shape = shapeOf(value);
      if (fn && checked?.open.has(name)) {
        const misfit = typeMismatch(fn, name, shape, this.#variables.budget);
        if (misfit) this.#complaints.tell(unfitArgument(call, value, misfit));
      }
    }
    if (!fn) return { shape: {}, units: 0 };
    const account = checked?.literals.get("account_id");
    if (account?.unknown.length === 0 && typeof account.value === "string") {
      this.accounts.set(call, account.value.toLowerCase());
    }
    const pageSize = pageSizeOf(fn, checked?.literals.get("page_size"));
    const shape = { ...outputOf(fn.route), ...(pageSize === undefined ? {} : { pageSize }) };
    return { shape, units: unitsOf(fn, pageSize) };
  }

  /** Finds the function of a call; reports an unknown function or a forbidden call. */
  #functionOf(call: Call, bound: LoopVariables): CodeFunction | undefined {
    const { catalogue } = this.#surroundings;
    const fn = catalogue.get(call.name);
    if (fn) {
      this.#complaints.mistakes.push(...callRestrictions(call, fn, this.#surroundings));
      return fn;
    }
    const isVariable = (name: string) => bound.has(name) || this.#variables.get(name) !== undefined;
    if (this.#complaints.areMended) this.#complaints.mistakes.push(unknownFunction(call, catalogue, isVariable));
    else this.#complaints.add("unknown_function", call.at, () => "");
    return undefined;
  }
}

/** An upper bound for the items of a range: more than a program can iterate over, small enough to multiply. */
const mostItems = 1_000_000_000;

/**
 * The most items that a clause of a comprehension iterates over: the known length of `over`, or else the item limit for
 * calls. For a range, `count` is its known length.
 */
export function maxItems(over: Expression, { most }: StaticType, count: number | undefined): number {
  if (over.kind !== "range") return most ?? itemLimit;
  return count === undefined ? itemLimit : Math.min(mostItems, Math.max(0, Math.ceil(count)));
}

/**
 * Tells whether a clause certainly makes calls for more items than allowed: its length is known and no `if` filters it.
 */
export function callsForTooMany(node: Comprehension, place: number, count: number | undefined): boolean {
  const [clause, next] = node.clauses.slice(place, place + 2);
  if (clause?.kind !== "for" || next?.kind === "if") return false;
  const { over } = clause;
  const items = over.kind === "list" ? over.items.length : over.kind === "range" ? (count ?? 0) : 0;
  return items > itemLimit && callsAfter(node, place).length > 0;
}
