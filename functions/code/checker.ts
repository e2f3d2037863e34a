import { InvalidInput, type ValidationError } from "../../shared/errors.ts";
import { parseInput, type ParsedInput } from "../../shared/input.ts";
import { isDict, rawInput, signatureOf, type Catalogue, type CodeFunction } from "./catalogue.ts";
import { clip, type Mistake } from "./mistake.ts";
import { nearest } from "./nearest.ts";
import type { Call, Member, Program } from "./syntax.ts";
import { positionIn, valueOf } from "./value.ts";

export const scoreLimit = 1000;

/** A call whose function exists. */
export type ResolvedCall = { call: Call; fn: CodeFunction };
/** Every mistake in a program; when there is none, `calls` may run. */
export type Checked = { calls: ResolvedCall[]; mistakes: Mistake[]; score: number };

/**
 * Checks every call of a program, runs none: its function, the names of its arguments, their values by the
 * function's own schemas. The score counts 1 for a call and `page_size` / 25 for a list, but at least 1.
 */
export function check(program: Program, catalogue: Catalogue): Checked {
  const checked: Checked = { calls: [], mistakes: [], score: 0 };
  let units = 0;
  for (const call of program.statements) {
    const fn = catalogue.get(call.name);
    if (fn) {
      const { mistakes, input } = checkArguments(call, fn);
      checked.mistakes.push(...mistakes);
      checked.calls.push({ call, fn });
      units += input ? unitsOf(input) : 0;
    } else checked.mistakes.push(unknownFunction(call, catalogue));
  }
  if (checked.mistakes.length > 0) return checked;
  checked.score = units / listUnit;
  const [first] = checked.calls;
  if (checked.score > scoreLimit && first) {
    checked.mistakes.push({
      code: "score_too_high",
      message: `The program's complexity score is ${checked.score}; ${scoreLimit} is the most. Ask for fewer or smaller pages.`,
      at: first.call.at,
    });
  }
  return checked;
}

/** The score is summed in parts of 1/25, so that adding up stays exact. */
const listUnit = 25;

function unitsOf({ query }: ParsedInput): number {
  const pageSize = query["page_size"];
  return typeof pageSize === "number" ? Math.max(listUnit, pageSize) : listUnit;
}

function checkArguments(call: Call, fn: CodeFunction): { mistakes: Mistake[]; input?: ParsedInput } {
  const mistakes = call.args
    .filter(({ name }) => !fn.places.has(name))
    .map((argument) => unknownArgument(argument, fn));
  const values = new Map(call.args.map(({ name, value }) => [name, valueOf(value)]));
  try {
    checkPayload(fn, values);
    const input = parseInput(fn.route, rawInput(fn, values));
    return { mistakes, input };
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    return { mistakes: [...mistakes, ...error.errors.map((found) => invalidArgument(inPayload(fn, found), call))] };
  }
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
  if (folded(payload["account_id"]) !== folded(values.get("account_id"))) {
    throw wrong(["account_id"], "It differs from the argument account_id", "value_error");
  }
}

/** The place of an error in the body, where a program sees the body as one argument. */
function inPayload({ route }: CodeFunction, error: ValidationError): ValidationError {
  const [part = "", ...path] = error.loc;
  return route.codeArguments === "payload" && part === "body" ? { ...error, loc: [part, "payload", ...path] } : error;
}

function invalidArgument(error: ValidationError, call: Call): Mistake {
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

function unknownArgument({ name, at }: Member, fn: CodeFunction): Mistake {
  const meant = nearest(name, fn.places.keys());
  const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
  const message = `${fn.route.name} has no argument ${clip(name)}.${hint}`;
  return { code: "unknown_argument", message, at, function: fn.route.name };
}

/** Names the function that was probably meant, else those of the namespace that was, else all. */
function unknownFunction({ name, at }: Call, catalogue: Catalogue): Mistake {
  const mistake = { code: "unknown_function", at };
  const sentence = `There is no function ${clip(name)}.`;
  const meant = nearest(name, catalogue.keys());
  if (meant !== undefined) return { ...mistake, message: `${sentence} Did you mean ${meant}?`, function: meant };
  const names = [...catalogue.keys()];
  const namespace = nearest(namespaceOf(name), new Set(names.map(namespaceOf)));
  const among = [...catalogue.values()].filter(({ route }) => namespaceOf(route.name) === namespace);
  return {
    ...mistake,
    message:
      among.length > 0
        ? `${sentence} Those of ${namespace} are: ${among.map((fn) => signatureOf(fn)).join(", ")}.`
        : `${sentence} The functions are: ${names.join(", ")}.`,
  };
}

const namespaceOf = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf(".")));
