import { InvalidInput, type ValidationError } from "../../../shared/errors.ts";
import { parseInput, type RawInput } from "../../../shared/input.ts";
import { rawInput, type CodeFunction } from "../catalogue/code-function.ts";
import { isDict } from "../interpreter/value.ts";
import type { Mistake } from "../language/mistake.ts";
import type { Call } from "../language/syntax.ts";
import { invalidArguments, positional, unknownArgument } from "./argument-mistakes.ts";
import { literalOf, type ConstantOf, type Literal } from "./literal-arguments.ts";

/** What is known of the arguments of a call before it runs. */
type CheckedArguments = {
  mistakes: Mistake[];
  literals: ReadonlyMap<string, Literal>;
  /** The names of those that only the run knows whole, and of which nothing is wrong so far. */
  open: ReadonlySet<string>;
};

/** What is wrong with the arguments of a call as far as they are known before it runs; `constantOf` knows variables. */
export function checkArguments(call: Call, fn: CodeFunction, constantOf?: ConstantOf): CheckedArguments {
  const mistakes = call.args.flatMap((given, place) =>
    fn.places.has(given.name) ? [] : [given.name === "" ? positional(given, place, fn) : unknownArgument(given, fn)],
  );
  if (call.args.some(({ name }) => name === "")) return { mistakes, literals: new Map(), open: new Set() };
  const literals = new Map(call.args.map(({ name, value }) => [name, literalOf(value, constantOf)]));
  const values = new Map([...literals].map(([name, { value }]) => [name, value]));
  const unknown = [...literals].flatMap(([name, { unknown }]) => unknown.map((path) => [name, ...path]));
  const open = new Set(unknown.map(([name]) => String(name)));
  try {
    parse(fn, values);
  } catch (error) {
    if (error instanceof InvalidInput) {
      const errors = error.errors.map((found) => inPayload(fn, found)).filter((found) => isSure(found, unknown));
      for (const { loc } of errors) open.delete(String(loc[1]));
      mistakes.push(...invalidArguments(errors, call, fn, { values, literals }));
      return { mistakes, literals, open };
    }
    // A schema of ours that was not written for values nobody knows yet: the run will tell.
    if (unknown.length === 0) throw error;
  }
  return { mistakes, literals, open };
}

function parse(fn: CodeFunction, values: ReadonlyMap<string, unknown>): void {
  checkPayload(fn, values);
  parseInput(fn.route, rawInput(fn, values));
}

/** The input of a call whose values are all known; throws InvalidInput, its places being those of the program. */
export function inputOf(fn: CodeFunction, values: ReadonlyMap<string, unknown>): RawInput {
  checkPayload(fn, values);
  return rawInput(fn, values);
}

const starts = (long: readonly (string | number)[], short: readonly (string | number)[]): boolean =>
  short.every((step, index) => long[index] === step);

/** Whether an error would be one whatever the values are that are not known yet. */
function isSure({ loc, type }: ValidationError, unknown: readonly (string | number)[][]): boolean {
  const path = loc.slice(1);
  return !unknown.some((place) => starts(path, place) || (starts(place, path) && type === "value_error"));
}

const folded = (value: unknown): unknown => (typeof value === "string" ? value.toLowerCase() : value);

const wrong = (loc: string[], msg: string, type: string): InvalidInput =>
  new InvalidInput([{ loc: ["body", ...loc], msg, type }]);

/** A `payload` is a dict that names the same account as the call. */
function checkPayload({ route }: CodeFunction, values: ReadonlyMap<string, unknown>): void {
  if (route.codeArguments === "flat") return;
  const payload = values.get("payload");
  if (payload === undefined) throw wrong([], "This is required", "missing");
  if (!isDict(payload)) throw wrong([], "A dict is expected", "dict_type");
  if (payload["account_id"] === undefined) throw wrong(["account_id"], "This is required", "missing");
  if (typeof payload["account_id"] === "symbol" || typeof values.get("account_id") === "symbol") return;
  if (folded(payload["account_id"]) !== folded(values.get("account_id"))) {
    throw wrong(["account_id"], "It differs from the argument account_id", "value_error");
  }
}

/** The place of an error in the body, where a program sees the body as one argument. */
function inPayload({ route }: CodeFunction, error: ValidationError): ValidationError {
  const [part = "", ...path] = error.loc;
  return route.codeArguments === "payload" && part === "body" ? { ...error, loc: [part, "payload", ...path] } : error;
}

/** A call and what it was given. */
type Called = { call: Call; args: ReadonlyMap<string, unknown> };

/** The mistake of a call whose arguments were only known when it was made; whatever else is wrong with them is in it. */
export function invalidInput(error: InvalidInput, { call, args }: Called, fn: CodeFunction): Mistake {
  const errors = error.errors.map((found) => inPayload(fn, found));
  const [first] = errors;
  if (first?.type === "idempotency_key_reused") {
    const message = `${call.name}: an earlier run of this program made this call with other arguments, as what it read has changed since: send it as a new request.`;
    return { code: first.type, message, at: call.at, detail: error.errors };
  }
  const [mistake, ...also] = invalidArguments(errors, call, fn, { values: args });
  return {
    ...(mistake ?? { code: "invalid_argument", message: error.message, at: call.at }),
    detail: error.errors,
    also,
  };
}
