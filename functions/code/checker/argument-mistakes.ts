import type { ValidationError } from "../../../shared/errors.ts";
import type { CodeFunction } from "../catalogue/code-function.ts";
import { parametersOf } from "../catalogue/signature.ts";
import type { Mistake } from "../language/mistake.ts";
import { nearest } from "../language/nearest.ts";
import { clip } from "../language/sentences.ts";
import type { Argument, Call, Expression } from "../language/syntax.ts";
import { written } from "../language/walk.ts";
import { mendingOf, type Misfit } from "./fit.ts";
import { partIn, positionIn, type Literal } from "./literal-arguments.ts";

/** What a call is given, as far as it is known, and where that is written. */
type Given = { values: ReadonlyMap<string, unknown>; literals?: ReadonlyMap<string, Literal> };

/** The mistakes of arguments that their function does not take; what is missing beside each other is one of them. */
export function invalidArguments(
  errors: readonly ValidationError[],
  call: Call,
  fn: CodeFunction,
  given: Given,
): Mistake[] {
  const groups = Map.groupBy(errors, (error) => {
    if (error.type !== "missing") return error;
    return error.loc.length === 2 ? "" : JSON.stringify(error.loc.slice(0, -1));
  });
  return [...groups.values()].map((group) => invalidArgument(group, call, fn, given));
}

const shownNames = 20;

/** One mistake, shown where the value is written. */
function invalidArgument(
  errors: readonly ValidationError[],
  call: Call,
  fn: CodeFunction,
  { values, literals }: Given,
): Mistake {
  const [{ loc: [, name = "", ...path], msg, type } = noError] = errors;
  const mistake = { function: call.name, detail: errors };
  const argument = call.args.find((given) => given.name === name);
  const names = errors.slice(0, shownNames).map(({ loc }) => clip(String(loc.at(-1))));
  if (type === "missing" && !argument) {
    const message = `${call.name} needs the ${names.length > 1 ? "arguments" : "argument"} ${names.join(", ")}.`;
    return { ...mistake, code: "missing_argument", message, at: call.at };
  }
  const at = literals?.get(String(name))?.placeOf(path) ?? (argument ? positionIn(argument.value, path) : call.at);
  const where = argument && at.line < argument.at.line ? ` (line ${argument.at.line})` : "";
  const isNone = path.length === 0 && values.get(String(name)) === null;
  const mayBeLeftOut = isNone && parametersOf(fn).some((one) => one.name === name && !one.required);
  const of = (path: readonly (string | number)[]) =>
    `${call.name} does not take this ${shownPath([name, ...path])}${where}`;
  const message = mayBeLeftOut
    ? `${call.name} does not take None as ${name}${where}: leave the argument out.`
    : names.length > 1
      ? `${of(path.slice(0, -1))}: it lacks ${names.join(", ")}.`
      : `${of(path)}: ${ended(clip(msg, 300))}`;
  return { ...mistake, code: "invalid_argument", message, at };
}

const noError: ValidationError = { loc: [], msg: "", type: "" };
const ended = (sentence: string): string => (/[.?!]$/.test(sentence) ? sentence : `${sentence}.`);

const shownPath = ([name = "", ...path]: readonly (string | number)[]): string =>
  [name, ...path.map((step) => (typeof step === "number" ? `[${step}]` : `.${clip(step)}`))].join("");

/** The mistake of an argument whose value only the run knows, but of what type it is. */
export function unfitArgument(call: Call, value: Expression, misfit: Misfit): Mistake {
  const [name = "", ...path] = misfit.path;
  const part = partIn(value, path);
  const of = written(part);
  const mending = /^(?:name|path|call)$/.test(part.kind) ? mendingOf(misfit, of) : "";
  const wanted = `it takes a ${misfit.wanted.join(" or ")}`;
  return {
    code: "invalid_argument",
    message: `${call.name} does not take this ${shownPath([name, ...path])}: ${wanted}, and ${of} is a ${misfit.is}.${mending}`,
    at: positionIn(value, path),
    function: call.name,
  };
}

/** A value without a name: the name that stands at its place is the one that is most likely meant. */
export function positional({ at }: Argument, place: number, fn: CodeFunction): Mistake {
  const name = [...fn.places.keys()][place];
  const hint = name === undefined ? "It takes no more arguments." : `Write \`${name}=…\`.`;
  const message = `${fn.route.name} takes its arguments by name, as \`name=value\`. ${hint}`;
  return { code: "positional_argument", message, at, function: fn.route.name };
}

export function unknownArgument({ name, at }: Argument, fn: CodeFunction): Mistake {
  const meant = nearest(name, fn.places.keys()) ?? nearest(snake(name), fn.places.keys());
  const takes = fn.places.size === 0 ? " It takes no arguments." : ` It takes ${[...fn.places.keys()].join(", ")}.`;
  const hint = meant === undefined ? takes : ` Did you mean ${meant}?`;
  const message = `${fn.route.name} has no argument ${clip(name)}.${hint}`;
  return { code: "unknown_argument", message, at, function: fn.route.name };
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
