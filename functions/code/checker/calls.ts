import { type CodeFunction, pageSizeOf, unitsOf } from "../catalogue/function.ts";
import { itemLimit } from "../interpreter/interpreter.ts";
import { type Call, type Comprehension, type Expression, callsAfter } from "../language/ast.ts";
import type { Diagnostic } from "../language/errors.ts";
import { checkArguments, typeMismatch, unfitArgument } from "./arguments.ts";
import type { DiagnosticList } from "./diagnostics.ts";
import type { CheckerContext, ConstantLookup, LoopVariables, Variables } from "./scope.ts";
import { type StaticType, outputOf } from "./types.ts";
import { unknownFunction } from "./unknown-names.ts";

/** Why a function may not be called in this program, where it is not the function's own. */
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

/** What a call answers, and how much it counts. */
type Inspected = { shape: StaticType; units: number };

/** Looks at the calls of a program, and notes what is wrong with them. */
export class CallChecker {
  /** The accounts that calls are about, as far as that is known. */
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

  /** `shapeOf` looks at the arguments. */
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

  /** The function a call names, if it may be called here. */
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

/** More than any program could go over; products of it are still numbers. */
const mostItems = 1_000_000_000;

/**
 * How many items a comprehension goes over at most: `over` as far as it is known, else the limit of what calls. Of a range
 * `count` is how far it counts.
 */
export function maxItems(over: Expression, { most }: StaticType, count: number | undefined): number {
  if (over.kind !== "range") return most ?? itemLimit;
  return count === undefined ? itemLimit : Math.min(mostItems, Math.max(0, Math.ceil(count)));
}

/** Whether a clause calls for more items than it may, whatever the run brings: where that is known, and without a filter. */
export function callsForTooMany(node: Comprehension, place: number, count: number | undefined): boolean {
  const [clause, next] = node.clauses.slice(place, place + 2);
  if (clause?.kind !== "for" || next?.kind === "if") return false;
  const { over } = clause;
  const items = over.kind === "list" ? over.items.length : over.kind === "range" ? (count ?? 0) : 0;
  return items > itemLimit && callsAfter(node, place).length > 0;
}
