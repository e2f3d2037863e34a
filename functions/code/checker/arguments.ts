import { invalidAt, InvalidInput, type ValidationError } from "../../../shared/core/errors.ts";
import { type RawInput, parseInput } from "../../../shared/http/input.ts";
import { type CodeFunction, inputSchemaOf, rawInput } from "../catalogue/function.ts";
import { parametersOf } from "../catalogue/signature.ts";
import {
  type Schema,
  type StaticType,
  type TypeName,
  memberType,
  schemaTypeNames,
  typeNamesOf,
} from "../interpreter/types.ts";
import { isDict, unknownValue, dictOf } from "../interpreter/values.ts";
import { type Argument, type Call, describeExpression, type Expression, type Position } from "../language/ast.ts";
import type { Diagnostic } from "../language/errors.ts";
import { clip } from "../language/messages.ts";
import { closestName } from "../language/spelling.ts";

/**
 * Checks the type of an argument whose value is known only during the run. Returns a diagnostic if the function takes
 * no value of this type. Returns undefined if the value may be valid, or if it may be None. The run then checks the
 * value.
 */
export function mismatchedArgument(
  { name: callee }: Call,
  { name, value }: Argument,
  fn: CodeFunction,
  type: StaticType,
): Diagnostic | undefined {
  const { properties = {}, $defs = {} } = inputSchemaOf(fn);
  const expected = schemaTypeNames(properties[name] ?? true, $defs);
  const possible = isNullable(type.schema) ? undefined : typeNamesOf(type);
  if (!expected || !possible || [...possible].some((typeName) => expected.has(typeName))) return undefined;
  const source = describeExpression(value);
  const [actual = "null"] = possible;
  const hint = expected.has("string") && /^(?:name|path|call)$/.test(value.kind) ? textHint(actual, type, source) : "";
  return {
    code: "invalid_argument",
    message: `${callee} does not take this ${name}: it takes a ${[...expected].join(" or ")}, and ${source} is a ${actual}.${hint}`,
    at: value.at,
    function: callee,
  };
}

const isNullable = (schema: Schema | undefined): boolean =>
  (schema?.anyOf ?? schema?.oneOf ?? []).some((choice) => typeof choice === "object" && choice.type === "null");

/** A sentence that says how to turn a value into a text. `source` is the value as the program writes it. */
function textHint(typeName: TypeName, type: StaticType, source: string): string {
  if (typeName === "number" || typeName === "boolean") return ` Write f"{${source}}".`;
  const id = typeName === "dict" ? memberType(type, "id") : undefined;
  return id && "type" in id && typeNamesOf(id.type)?.has("string") ? ` Did you mean ${source}.id?` : "";
}

/** Turns validation errors into diagnostics. Errors about missing members of the same object become one diagnostic. */
function invalidArguments(
  errors: readonly ValidationError[],
  call: Call,
  fn: CodeFunction,
  values: ReadonlyMap<string, unknown>,
): Diagnostic[] {
  const groups = Map.groupBy(errors, (error) => {
    if (error.type !== "missing") return error;
    // All missing arguments of the call share one group, whether they belong to the path, the query or the body.
    return error.loc.length === 2 ? "" : JSON.stringify(error.loc.slice(0, -1));
  });
  return [...groups.values()].map((group) => invalidArgument(group, call, fn, values));
}

/** The most missing arguments or members that a message names. */
const shownNames = 20;

/**
 * Builds one diagnostic for errors that belong together. Its position is that of the value, or of the call if the call
 * does not have the argument.
 */
function invalidArgument(
  errors: readonly ValidationError[],
  call: Call,
  fn: CodeFunction,
  values: ReadonlyMap<string, unknown>,
): Diagnostic {
  const [{ loc, msg, type } = noError] = errors;
  const [, name = "", ...path] = loc;
  const diagnostic = { function: call.name, detail: errors };
  const argument = call.args.find((candidate) => candidate.name === name);
  const names = errors.slice(0, shownNames).map(({ loc }) => clip(String(loc.at(-1))));
  if (type === "missing" && !argument) {
    const message = `${call.name} needs the ${names.length > 1 ? "arguments" : "argument"} ${names.join(", ")}.`;
    return { ...diagnostic, code: "missing_argument", message, at: call.at };
  }
  const invalid = {
    ...diagnostic,
    code: "invalid_argument",
    at: argument ? positionIn(argument.value, path) : call.at,
  };
  const isNone = path.length === 0 && values.get(String(name)) === null;
  const mayBeLeftOut = isNone && parametersOf(fn).some((parameter) => parameter.name === name && !parameter.required);
  if (mayBeLeftOut) {
    return { ...invalid, message: `${call.name} does not take None as ${name}: leave the argument out.` };
  }
  const refusalOf = (path: readonly (string | number)[]) =>
    `${call.name} does not take this ${formatPath([name, ...path])}`;
  if (names.length > 1) {
    return { ...invalid, message: `${refusalOf(path.slice(0, -1))}: it lacks ${names.join(", ")}.` };
  }
  return { ...invalid, message: `${refusalOf(path)}: ${endSentence(clip(msg, 300))}` };
}

const noError: ValidationError = { loc: [], msg: "", type: "" };
const endSentence = (sentence: string): string => (/[.?!]$/.test(sentence) ? sentence : `${sentence}.`);

/** Formats the path of a value in the arguments of a call, such as `domains[2].name`. */
export const formatPath = ([name = "", ...path]: readonly (string | number)[]): string =>
  [name, ...path.map((step) => (typeof step === "number" ? `[${step}]` : `.${clip(step)}`))].join("");

/** The diagnostic for an argument without a name. It suggests the parameter at the same position, if there is one. */
function positionalArgument({ at }: Argument, index: number, fn: CodeFunction): Diagnostic {
  const name = [...fn.argumentParts.keys()][index];
  const hint = name === undefined ? "It takes no more arguments." : `Write \`${name}=…\`.`;
  const message = `${fn.route.name} takes its arguments by name, as \`name=value\`. ${hint}`;
  return { code: "positional_argument", message, at, function: fn.route.name };
}

function unknownArgument({ name, at }: Argument, fn: CodeFunction): Diagnostic {
  const meant = closestName(name, fn.argumentParts.keys()) ?? closestName(toSnakeCase(name), fn.argumentParts.keys());
  const takes =
    fn.argumentParts.size === 0 ? " It takes no arguments." : ` It takes ${[...fn.argumentParts.keys()].join(", ")}.`;
  const hint = meant === undefined ? takes : ` Did you mean ${meant}?`;
  const message = `${fn.route.name} has no argument ${clip(name)}.${hint}`;
  return { code: "unknown_argument", message, at, function: fn.route.name };
}

const toSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

type Path = (string | number)[];

/** The value of an expression, as far as the program's text shows the value, and the paths of the unknown parts. */
type LiteralValue = { value: unknown; unknown: Path[] };

/** Looks up the value of a literal, or of a variable whose value the text shows; undefined if the value is unknown. */
type LiteralOf = (node: Expression) => unknown;

const ownLiteral: LiteralOf = (node) => (node.kind === "literal" ? node.value : undefined);

/**
 * Reads the value of an expression from its literals, lists and dicts. Without `literalOf` every variable is unknown.
 */
export function literalValue(node: Expression, literalOf = ownLiteral): LiteralValue {
  const unknown: Path[] = [];
  const read = (part: Expression, path: Path): unknown => {
    if (part.kind === "list") return part.items.map((item, index) => read(item, [...path, index]));
    if (part.kind === "dict" && part.members.every(({ key }) => key.kind === "literal")) {
      return dictOf(
        part.members.map(({ key, value }) => {
          const name = key.kind === "literal" ? String(key.value) : "";
          return [name, read(value, [...path, name])] as const;
        }),
      );
    }
    const value = literalOf(part);
    if (value === undefined) unknown.push(path);
    return value === undefined ? unknownValue : value;
  };
  return { value: read(node, []), unknown };
}

/**
 * Finds the position of a part of `node`, by the path of keys and indexes that leads to the part. The position of a
 * member is the position of its key. If the program does not write out the part, the result is the position of the
 * nearest part around it.
 */
function positionIn(node: Expression, [step, ...rest]: readonly (string | number)[]): Position {
  if (node.kind === "list" && typeof step === "number") {
    const item = node.items[step];
    if (item) return positionIn(item, rest);
  }
  if (node.kind === "dict") {
    const member = node.members.find(({ key }) => key.kind === "literal" && key.value === step);
    if (member) return rest.length === 0 ? member.key.at : positionIn(member.value, rest);
  }
  return node.at;
}

/** The mistakes in the arguments of a call, and the values as far as they are known before the run. */
type CheckedArguments = { diagnostics: Diagnostic[]; values: ReadonlyMap<string, unknown> };

/**
 * Checks the arguments of a call as far as they are known before the run. Unknown parts of a value are `unknownValue`.
 */
export function checkArguments(call: Call, fn: CodeFunction, literalOf: LiteralOf): CheckedArguments {
  const diagnostics = call.args.flatMap((argument, index) => {
    if (fn.argumentParts.has(argument.name)) return [];
    return [argument.name === "" ? positionalArgument(argument, index, fn) : unknownArgument(argument, fn)];
  });
  if (call.args.some(({ name }) => name === "")) return { diagnostics, values: new Map() };
  const literals = new Map(call.args.map(({ name, value }) => [name, literalValue(value, literalOf)]));
  const values = new Map([...literals].map(([name, { value }]) => [name, value]));
  const unknown = [...literals].flatMap(([name, { unknown }]) => unknown.map((path) => [name, ...path]));
  try {
    parse(fn, values);
  } catch (error) {
    if (error instanceof InvalidInput) {
      const errors = error.errors.map((one) => inPayload(fn, one)).filter((one) => isSure(one, unknown));
      diagnostics.push(...invalidArguments(errors, call, fn, values));
    } else if (unknown.length === 0) {
      throw error;
    }
    // Some schemas throw other errors for `unknownValue`. These errors say nothing about the program, so they are
    // ignored. The run validates the arguments when all values are known.
  }
  return { diagnostics, values };
}

function parse(fn: CodeFunction, values: ReadonlyMap<string, unknown>): void {
  checkPayload(fn, values);
  parseInput(fn.route, rawInput(fn, values));
}

/**
 * The input of a call, when all values of the call are known. Throws InvalidInput if `payload` is missing, is not a
 * dict or does not name the account of the call. The route validates the rest.
 */
export function inputOf(fn: CodeFunction, values: ReadonlyMap<string, unknown>): RawInput {
  checkPayload(fn, values);
  return rawInput(fn, values);
}

const startsWith = (long: readonly (string | number)[], short: readonly (string | number)[]): boolean =>
  short.every((step, index) => long[index] === step);

/**
 * Whether an error occurs for every possible value of the unknown parts. `unknown` contains the paths of these parts. A
 * `value_error` of a list or dict may depend on any part of the list or dict. Other errors do not depend on the parts.
 */
function isSure({ loc, type }: ValidationError, unknown: readonly (string | number)[][]): boolean {
  const path = loc.slice(1);
  return !unknown.some((part) => startsWith(path, part) || (startsWith(part, path) && type === "value_error"));
}

const lowerCased = (value: unknown): unknown => (typeof value === "string" ? value.toLowerCase() : value);

const invalidPayload = (loc: string[], msg: string, type: string): InvalidInput =>
  invalidAt(["body", ...loc], msg, type);

/**
 * Requires `payload` to be a dict whose `account_id` equals the argument `account_id`, as far as the values are known.
 * Does nothing for a function without `payload`.
 */
function checkPayload({ route }: CodeFunction, values: ReadonlyMap<string, unknown>): void {
  if (route.codeMode.arguments === "flat") return;
  const payload = values.get("payload");
  if (payload === undefined) throw invalidPayload([], "This is required", "missing");
  if (payload === unknownValue) return;
  if (!isDict(payload)) throw invalidPayload([], "A dict is expected", "dict_type");
  if (payload["account_id"] === undefined) throw invalidPayload(["account_id"], "This is required", "missing");
  if (payload["account_id"] === unknownValue || values.get("account_id") === unknownValue) return;
  if (lowerCased(payload["account_id"]) !== lowerCased(values.get("account_id"))) {
    throw invalidPayload(["account_id"], "It differs from the argument account_id", "value_error");
  }
}

/** Moves an error in the body to the argument `payload`, if the function takes its body as `payload`. */
function inPayload({ route }: CodeFunction, error: ValidationError): ValidationError {
  const [part = "", ...path] = error.loc;
  return route.codeMode.arguments === "payload" && part === "body"
    ? { ...error, loc: [part, "payload", ...path] }
    : error;
}

/** A call and its argument values. */
type EvaluatedCall = { call: Call; args: ReadonlyMap<string, unknown> };

/**
 * The diagnostic for arguments that failed validation during the run. `also` lists the further mistakes of the call.
 */
export function invalidInput(error: InvalidInput, { call, args }: EvaluatedCall, fn: CodeFunction): Diagnostic {
  const errors = error.errors.map((one) => inPayload(fn, one));
  const [first] = errors;
  if (first?.type === "idempotency_key_reused") {
    const message = `An earlier run of this program called ${call.name} with other arguments, because the values that the program reads have changed. Send the program as a new request.`;
    return { code: first.type, message, at: call.at, detail: error.errors };
  }
  const [diagnostic, ...also] = invalidArguments(errors, call, fn, args);
  return {
    ...(diagnostic ?? { code: "invalid_argument", message: error.message, at: call.at }),
    detail: error.errors,
    also,
  };
}
