import {
  type CodeFunction,
  largestPage,
  outputSchemaOf,
  pageSizeOf,
  scoreUnit,
  unitsOf,
} from "../catalogue/function.ts";
import type { StaticType } from "../interpreter/types.ts";
import { unknownValue } from "../interpreter/values.ts";
import type { Call, Expression } from "../language/ast.ts";
import type { Diagnostic, DiagnosticList } from "../language/errors.ts";
import { checkArguments, mismatchedArgument } from "./arguments.ts";
import type { CheckerContext, LoopVariables, Variables } from "./scope.ts";
import { unknownFunction } from "./unknown-names.ts";

/** The reasons why this program may not call a function. They do not depend on the arguments. */
function callRestrictions(
  { name, at }: Call,
  { route, usesSession }: CodeFunction,
  context: CheckerContext,
): Diagnostic[] {
  const diagnostics: Diagnostic[] = [];
  if (context.readOnly && route.access === "write") {
    const message = `A program in service_query may only read, and ${name} changes something: send the program by service_execute.`;
    diagnostics.push({ code: "read_only", message, at });
  }
  if (usesSession && !context.session) {
    diagnostics.push({ code: "no_session", message: `${name} needs a session: send a session_id.`, at });
  }
  return diagnostics;
}

/** The type of a function's result, from its output schema. */
function outputType(fn: CodeFunction): StaticType {
  const schema = outputSchemaOf(fn);
  return { schema, definitions: schema.$defs ?? {} };
}

/**
 * The type of a call's result, and the call's score in units: `units` for a run, `dryUnits` for a dry run. A dry run
 * does not make writes, so each write has the least score there, which is 1.
 */
type CheckedResult = { type: StaticType; units: number; dryUnits: number };

/** Checks the calls of a program and collects their diagnostics. */
export class CallChecker {
  /**
   * The account id of each call. A call has no entry if it names no account, or if its account is known only during the
   * run.
   */
  readonly accounts = new Map<Call, string>();
  readonly #context: CheckerContext;
  readonly #variables: Variables;
  readonly #diagnostics: DiagnosticList;

  constructor(context: CheckerContext, variables: Variables, diagnostics: DiagnosticList) {
    this.#context = context;
    this.#variables = variables;
    this.#diagnostics = diagnostics;
  }

  /** Checks a call and its arguments. `typeOf` checks the expression of an argument. */
  check(call: Call, loops: LoopVariables, typeOf: (value: Expression) => StaticType): CheckedResult {
    const fn = this.#functionOf(call, loops);
    const { diagnostics, values } = fn
      ? checkArguments(call, fn, (node) => this.#variables.known(node, loops))
      : { diagnostics: [], values: new Map<string, unknown>() };
    this.#diagnostics.diagnostics.push(...diagnostics);
    for (const argument of call.args) {
      const type = typeOf(argument.value);
      const isUnknown = fn && values.get(argument.name) === unknownValue;
      const mismatch = isUnknown ? mismatchedArgument(call, argument, fn, type) : undefined;
      if (mismatch) this.#diagnostics.diagnostics.push(mismatch);
    }
    if (!fn) return { type: {}, units: 0, dryUnits: 0 };
    const account = values.get("account_id");
    if (typeof account === "string") this.accounts.set(call, account.toLowerCase());
    const requested = values.get("page_size");
    const pageSize = pageSizeOf(fn, requested === unknownValue ? largestPage : requested);
    const type = { ...outputType(fn), ...(pageSize === undefined ? {} : { pageSize }) };
    const units = unitsOf(fn, pageSize);
    return { type, units, dryUnits: fn.route.access === "write" ? scoreUnit : units };
  }

  /** Finds the function of a call; reports an unknown function or a forbidden call. */
  #functionOf(call: Call, loops: LoopVariables): CodeFunction | undefined {
    const { catalogue } = this.#context;
    const fn = catalogue.get(call.name);
    if (fn) {
      this.#diagnostics.diagnostics.push(...callRestrictions(call, fn, this.#context));
      return fn;
    }
    const isVariable = (name: string) => loops.has(name) || this.#variables.get(name) !== undefined;
    // If the list already has many mistakes, it does not keep the message of another mistake. The search for
    // suggestions, which takes long, is then not needed.
    if (this.#diagnostics.isDetailed) this.#diagnostics.diagnostics.push(unknownFunction(call, catalogue, isVariable));
    else this.#diagnostics.add("unknown_function", call.at, () => "");
    return undefined;
  }
}
