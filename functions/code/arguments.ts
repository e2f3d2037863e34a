import { InvalidInput, type ValidationError } from "../../shared/errors.ts";
import { parseInput, type RawInput } from "../../shared/input.ts";
import { rawInput, type CodeFunction } from "./code-function.ts";
import { literalOf, positionIn } from "./literal-arguments.ts";
import { clip, type Mistake } from "./mistake.ts";
import { nearest } from "./nearest.ts";
import type { Argument, Call } from "./syntax.ts";
import { isDict } from "./value.ts";

/** What is wrong with the arguments of a call as far as they are known before it runs. */
export function checkArguments(call: Call, fn: CodeFunction): Mistake[] {
  const mistakes = call.args.flatMap((given, place) =>
    fn.places.has(given.name) ? [] : [given.name === "" ? positional(given, place, fn) : unknownArgument(given, fn)],
  );
  if (call.args.some(({ name }) => name === "")) return mistakes;
  const literals = new Map(call.args.map(({ name, value }) => [name, literalOf(value)]));
  const values = new Map([...literals].map(([name, { value }]) => [name, value]));
  const unknown = [...literals].flatMap(([name, { unknown }]) => unknown.map((path) => [name, ...path]));
  try {
    parse(fn, values);
  } catch (error) {
    if (error instanceof InvalidInput) {
      const errors = error.errors.map((found) => inPayload(fn, found)).filter((found) => isSure(found, unknown));
      return [...mistakes, ...errors.map((found) => invalidArgument(found, call))];
    }
    // A schema of ours that was not written for values nobody knows yet: the run will tell.
    if (unknown.length === 0) throw error;
  }
  return mistakes;
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

/** The mistake of an argument that its function does not take, or that is missing. */
export function invalidArgument(error: ValidationError, call: Call): Mistake {
  const [, name = "", ...path] = error.loc;
  const argument = call.args.find((given) => given.name === name);
  const shown = [name, ...path.map((step) => (typeof step === "number" ? `[${step}]` : `.${clip(step)}`))].join("");
  const missing = error.type === "missing" && !argument;
  return {
    code: missing ? "missing_argument" : "invalid_argument",
    message: missing
      ? `${call.name} needs the argument ${name}.`
      : `${call.name} does not take this ${shown}: ${error.msg}.`,
    at: argument ? positionIn(argument.value, path) : call.at,
    function: call.name,
    detail: [error],
  };
}

/** The mistake of a call whose arguments were only known when it was made. */
export function invalidInput(error: InvalidInput, call: Call, fn: CodeFunction): Mistake {
  const [first] = error.errors.map((found) => inPayload(fn, found));
  if (first?.type === "idempotency_key_reused") {
    const message = `${call.name}: an earlier run of this program made this call with other arguments, as what it read has changed since: send it as a new request.`;
    return { code: first.type, message, at: call.at, detail: error.errors };
  }
  const mistake = first && invalidArgument(first, call);
  return { ...(mistake ?? { code: "invalid_argument", message: error.message, at: call.at }), detail: error.errors };
}

/** A value without a name: the name that stands at its place is the one that is most likely meant. */
function positional({ at }: Argument, place: number, fn: CodeFunction): Mistake {
  const name = [...fn.places.keys()][place];
  const hint = name === undefined ? "It takes no more arguments." : `Write \`${name}=…\`.`;
  const message = `${fn.route.name} takes its arguments by name, as \`name=value\`. ${hint}`;
  return { code: "positional_argument", message, at, function: fn.route.name };
}

function unknownArgument({ name, at }: Argument, fn: CodeFunction): Mistake {
  const meant = nearest(name, fn.places.keys()) ?? nearest(snake(name), fn.places.keys());
  const takes = fn.places.size === 0 ? " It takes no arguments." : ` It takes ${[...fn.places.keys()].join(", ")}.`;
  const hint = meant === undefined ? takes : ` Did you mean ${meant}?`;
  const message = `${fn.route.name} has no argument ${clip(name)}.${hint}`;
  return { code: "unknown_argument", message, at, function: fn.route.name };
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
