import { pageSizeOf, unitsOf } from "../catalogue/cost.ts";
import type { CodeFunction } from "../catalogue/function.ts";
import type { Call, Expression } from "../language/ast.ts";
import type { Mistake } from "../language/errors.ts";
import { checkArguments, misfitOf, unfitArgument } from "./arguments.ts";
import type { Complaints } from "./diagnostics.ts";
import type { Bound, Known, Surroundings, Variables } from "./scope.ts";
import { type Shape, outputOf } from "./types.ts";
import { unknownFunction } from "./unknown-names.ts";

/** Why a function may not be called in this program, where it is not the function's own. */
function whyNot({ name, at }: Call, { route, ofSession }: CodeFunction, around: Surroundings): Mistake[] {
  const mistakes: Mistake[] = [];
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
type Inspected = { shape: Shape; units: number };

/** Looks at the calls of a program, and notes what is wrong with them. */
export class CallInspection {
  /** The accounts that calls are about, as far as that is known. */
  readonly accounts = new Map<Call, string>();
  readonly #surroundings: Surroundings;
  readonly #variables: Variables;
  readonly #known: Known;
  readonly #complaints: Complaints;

  constructor(surroundings: Surroundings, variables: Variables, known: Known, complaints: Complaints) {
    this.#surroundings = surroundings;
    this.#variables = variables;
    this.#known = known;
    this.#complaints = complaints;
  }

  /** `shapeOf` looks at the arguments. */
  inspect(call: Call, bound: Bound, shapeOf: (value: Expression) => Shape): Inspected {
    const fn = this.#functionOf(call, bound);
    const checked = fn && checkArguments(call, fn, (node) => this.#known.literal(node, bound));
    for (const mistake of checked?.mistakes ?? []) this.#complaints.tell(mistake);
    for (const { name, value } of call.args) {
      const shape = shapeOf(value);
      if (fn && checked?.open.has(name)) {
        const misfit = misfitOf(fn, name, shape, this.#variables.budget);
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
  #functionOf(call: Call, bound: Bound): CodeFunction | undefined {
    const { catalogue } = this.#surroundings;
    const fn = catalogue.get(call.name);
    if (fn) {
      this.#complaints.mistakes.push(...whyNot(call, fn, this.#surroundings));
      return fn;
    }
    const isVariable = (name: string) => bound.has(name) || this.#variables.get(name) !== undefined;
    if (this.#complaints.areMended) this.#complaints.mistakes.push(unknownFunction(call, catalogue, isVariable));
    else this.#complaints.add("unknown_function", call.at, () => "");
    return undefined;
  }
}
