import * as z from "zod";

import { InvalidInput, type ValidationError } from "../../../shared/core/errors.ts";
import { type RawInput, parseInput } from "../../../shared/http/input.ts";
import { type CodeFunction, argumentsIn, parts, rawInput } from "../catalogue/function.ts";
import { parametersOf } from "../catalogue/signature.ts";
import { isDict } from "../interpreter/values.ts";
import { type Argument, type Call, type Expression, written } from "../language/ast.ts";
import type { Diagnostic } from "../language/errors.ts";
import { clip } from "../language/messages.ts";
import { closestName } from "../language/spelling.ts";
import { type ConstantValue, type ValueOf, foldArgument, partIn, positionIn } from "./constants.ts";
import { type Budget, type Schema, type StaticType, type TypeName, memberShape, typesIn, typesOf } from "./types.ts";

/** A value of a wrong type: its path, its type, and the types allowed there. */
type Misfit = { path: (string | number)[]; is: TypeName; wanted: TypeName[]; shape: StaticType };

type Parameters = { properties: Record<string, Schema | boolean>; definitions: Record<string, Schema> };
const known = new WeakMap<CodeFunction, Parameters>();

function parameterTypes(fn: CodeFunction): Parameters {
  const found = known.get(fn);
  if (found) return found;
  const all = z.object(Object.assign({}, ...parts.map((part) => argumentsIn(fn.route, part))));
  const { properties = {}, $defs = {} } = all.toJSONSchema({ io: "input", unrepresentable: "any" });
  const parameters = { properties, definitions: $defs };
  known.set(fn, parameters);
  return parameters;
}

/**
 * Finds the first part of an argument whose type the function never takes; undefined when the argument may be valid.
 */
export function typeMismatch(fn: CodeFunction, name: string, shape: StaticType, budget: Budget): Misfit | undefined {
  const { properties, definitions } = parameterTypes(fn);
  const find = (
    shape: StaticType,
    schema: Schema | boolean | undefined,
    path: (string | number)[],
  ): Misfit | undefined => {
    budget.left -= 1;
    if (typeof schema !== "object" || budget.left < 0) return undefined;
    const inner = schema.$ref === undefined ? schema : definitions[schema.$ref.replace("#/$defs/", "")];
    const wanted = inner && typesIn(inner, definitions);
    const types = typesOf(shape);
    if (!inner || !wanted || !types) return undefined;
    if ([...types].every((type) => !wanted.has(type)) && !mayBothBeNull(shape, inner)) {
      const [is = "null"] = types;
      return { path, is, wanted: [...wanted], shape };
    }
    for (const [key, member] of shape.members ?? []) {
      const misfit = find(member, inner.properties?.[key], [...path, key]);
      if (misfit) return misfit;
    }
    const items = Array.isArray(inner.items) ? undefined : inner.items;
    for (const [index, item] of (shape.items ?? (shape.item ? [shape.item] : [])).entries()) {
      const misfit = find(item, items, [...path, index]);
      if (misfit) return misfit;
    }
    return undefined;
  };
  return find(shape, properties[name], [name]);
}

const isNullable = (schema: Schema | undefined): boolean => {
  const choices = schema?.anyOf ?? schema?.oneOf ?? [];
  return schema?.type === "null" || choices.some((choice) => typeof choice === "object" && choice.type === "null");
};
/** A nullable result may be passed to a nullable parameter. */
const mayBothBeNull = ({ schema }: StaticType, wanted: Schema): boolean => isNullable(schema) && isNullable(wanted);

/** Suggests a fix for a wrong type, as a sentence to append. `of` is the value's name in the program. */
function suggestionFor({ is, wanted, shape }: Misfit, of: string): string {
  if (!wanted.includes("string")) return "";
  if (is === "number" || is === "boolean") return ` Write f"{${of}}".`;
  const member = is === "dict" ? memberShape(shape, "id") : undefined;
  const isText = member && "shape" in member && typesOf(member.shape)?.has("string");
  return isText ? ` Did you mean ${of}.id?` : "";
}

/** The known argument values of a call, and the literals with their positions. */
type Given = { values: ReadonlyMap<string, unknown>; literals?: ReadonlyMap<string, ConstantValue> };

/** Turns validation errors into diagnostics. Errors about missing members of the same object become one diagnostic. */
function invalidArguments(
  errors: readonly ValidationError[],
  call: Call,
  fn: CodeFunction,
  given: Given,
): Diagnostic[] {
  const groups = Map.groupBy(errors, (error) => {
    if (error.type !== "missing") return error;
    return error.loc.length === 2 ? "" : JSON.stringify(error.loc.slice(0, -1));
  });
  return [...groups.values()].map((group) => invalidArgument(group, call, fn, given));
}

const shownNames = 20;

/** Builds one diagnostic, positioned at the value. */
function invalidArgument(
  errors: readonly ValidationError[],
  call: Call,
  fn: CodeFunction,
  { values, literals }: Given,
): Diagnostic {
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

/** The diagnostic for an argument whose value is unknown before the run but whose type is wrong. */
export function unfitArgument(call: Call, value: Expression, misfit: Misfit): Diagnostic {
  const [name = "", ...path] = misfit.path;
  const part = partIn(value, path);
  const of = written(part);
  const mending = /^(?:name|path|call)$/.test(part.kind) ? suggestionFor(misfit, of) : "";
  const wanted = `it takes a ${misfit.wanted.join(" or ")}`;
  return {
    code: "invalid_argument",
    message: `${call.name} does not take this ${shownPath([name, ...path])}: ${wanted}, and ${of} is a ${misfit.is}.${mending}`,
    at: positionIn(value, path),
    function: call.name,
  };
}

/** The diagnostic for an argument without a name. It suggests the parameter at the same position. */
function positional({ at }: Argument, place: number, fn: CodeFunction): Diagnostic {
  const name = [...fn.places.keys()][place];
  const hint = name === undefined ? "It takes no more arguments." : `Write \`${name}=…\`.`;
  const message = `${fn.route.name} takes its arguments by name, as \`name=value\`. ${hint}`;
  return { code: "positional_argument", message, at, function: fn.route.name };
}

function unknownArgument({ name, at }: Argument, fn: CodeFunction): Diagnostic {
  const meant = closestName(name, fn.places.keys()) ?? closestName(snake(name), fn.places.keys());
  const takes = fn.places.size === 0 ? " It takes no arguments." : ` It takes ${[...fn.places.keys()].join(", ")}.`;
  const hint = meant === undefined ? takes : ` Did you mean ${meant}?`;
  const message = `${fn.route.name} has no argument ${clip(name)}.${hint}`;
  return { code: "unknown_argument", message, at, function: fn.route.name };
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The result of checking a call's arguments before the run. */
type CheckedArguments = {
  mistakes: Diagnostic[];
  literals: ReadonlyMap<string, ConstantValue>;
  /** The names of arguments whose value is partly unknown before the run, and which have no error so far. */
  open: ReadonlySet<string>;
};

/** Checks the arguments of a call as far as they are known before the run. `constantOf` looks up variables. */
export function checkArguments(call: Call, fn: CodeFunction, constantOf?: ValueOf): CheckedArguments {
  const mistakes = call.args.flatMap((given, place) =>
    fn.places.has(given.name) ? [] : [given.name === "" ? positional(given, place, fn) : unknownArgument(given, fn)],
  );
  if (call.args.some(({ name }) => name === "")) return { mistakes, literals: new Map(), open: new Set() };
  const literals = new Map(call.args.map(({ name, value }) => [name, foldArgument(value, constantOf)]));
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
    // Some schemas throw on placeholders for unknown values. The run validates those arguments.
    if (unknown.length === 0) throw error;
  }
  return { mistakes, literals, open };
}

function parse(fn: CodeFunction, values: ReadonlyMap<string, unknown>): void {
  checkPayload(fn, values);
  parseInput(fn.route, rawInput(fn, values));
}

/** The input of a call whose values are all known. Throws InvalidInput, with places as the program writes them. */
export function inputOf(fn: CodeFunction, values: ReadonlyMap<string, unknown>): RawInput {
  checkPayload(fn, values);
  return rawInput(fn, values);
}

const starts = (long: readonly (string | number)[], short: readonly (string | number)[]): boolean =>
  short.every((step, index) => long[index] === step);

/** Tells whether an error is certain, no matter which values the unknown parts take. */
function isSure({ loc, type }: ValidationError, unknown: readonly (string | number)[][]): boolean {
  const path = loc.slice(1);
  return !unknown.some((place) => starts(path, place) || (starts(place, path) && type === "value_error"));
}

const folded = (value: unknown): unknown => (typeof value === "string" ? value.toLowerCase() : value);

const wrong = (loc: string[], msg: string, type: string): InvalidInput =>
  new InvalidInput([{ loc: ["body", ...loc], msg, type }]);

/** Requires `payload` to be a dict with the same account as the call. */
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

/** Moves an error of the body to the `payload` argument, if the function takes its body as one. */
function inPayload({ route }: CodeFunction, error: ValidationError): ValidationError {
  const [part = "", ...path] = error.loc;
  return route.codeArguments === "payload" && part === "body" ? { ...error, loc: [part, "payload", ...path] } : error;
}

/** A call and its argument values. */
type Called = { call: Call; args: ReadonlyMap<string, unknown> };

/**
 * The diagnostic for arguments that failed validation during the run. Further errors of the same call are in `also`.
 */
export function invalidInput(error: InvalidInput, { call, args }: Called, fn: CodeFunction): Diagnostic {
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
