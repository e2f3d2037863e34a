import type * as z from "zod";

import { InvalidInput, type ValidationError } from "../core/errors.ts";
import { parseTags, type IfMatch } from "../core/etag.ts";
import type { Route } from "./route.ts";
import { inWords, inWordsForUrl } from "./validation-messages.ts";

/** Input before parsing: typed values from code mode, or strings of a URL that `fromStrings` converted. */
export type RawInput = {
  params: Record<string, unknown>;
  query: Record<string, unknown>;
  body: unknown;
  /** Whether `params` and `query` are from a URL, so that the values there were texts. */
  isFromUrl?: true;
  /** The header fields that change the effect of a request. Names are in lower case. */
  headers?: { "idempotency-key"?: string | undefined; "if-match"?: string | undefined };
  /**
   * The idempotency key of a call in a program. Every write honours this key, because programs are repeated as a whole.
   */
  callKey?: string | undefined;
};
export type ParsedInput = Record<"params" | "query" | "body", Record<string, unknown>> & {
  headers: { idempotencyKey?: string; ifMatch?: IfMatch };
};

/** The names of the parts of the input in the location of an error. */
const locationNames = { params: "path", query: "query", body: "body" } as const;

/** Parses a route's input by its schemas. Throws InvalidInput with the first hundred errors and their locations. */
export function parseInput(route: Route, raw: RawInput): ParsedInput {
  const errors: ValidationError[] = [];
  const parsed: ParsedInput = { params: {}, query: {}, body: {}, headers: parseHeaders(route, raw, errors) };
  for (const part of ["params", "query", "body"] as const) {
    const error = raw.isFromUrl && part !== "body" ? inWordsForUrl : inWords;
    const result = route[part].safeParse(raw[part], { reportInput: true, error });
    if (result.success) parsed[part] = result.data;
    else addErrors(errors, locationNames[part], result.error.issues);
  }
  if (errors.length > 0) throw new InvalidInput(errors);
  return parsed;
}

/** Whether a header field is a valid idempotency key. */
export const isIdempotencyKey = (field: string): boolean => /^[\x21-\x7e]{1,255}$/.test(field);

/**
 * Parses the header fields that the route honours. Only a POST and the writes of a program honour an idempotency key.
 */
function parseHeaders(
  route: Route,
  { headers = {}, callKey }: RawInput,
  errors: ValidationError[],
): ParsedInput["headers"] {
  const parsed: ParsedInput["headers"] =
    callKey !== undefined && route.access === "write" ? { idempotencyKey: callKey } : {};
  const addError = (name: string, msg: string) => errors.push({ loc: ["header", name], msg, type: "value_error" });
  const { "idempotency-key": key, "if-match": field } = headers;
  if (key !== undefined && route.http.method === "POST") {
    if (isIdempotencyKey(key)) parsed.idempotencyKey = key;
    else addError("idempotency-key", "Write 1 to 255 visible ASCII characters");
  }
  if (field !== undefined && route.http.etag) {
    const tags = parseTags(field);
    if (tags === undefined) addError("if-match", 'Write * or entity tags in quotes, as in the ETag of an answer: "…"');
    else parsed.ifMatch = { tags, schemas: route.http.etag };
  }
  return parsed;
}

/**
 * Throws InvalidInput if an `expires_at` of the body, or of an item of the body's lists, is not after `now`. The body
 * must be parsed, because then the schema `FutureTime` has checked that these members are times.
 */
export function requireFutureEnds(body: Record<string, unknown>, now: Date): void {
  const pastEnds = (holder: object, loc: (string | number)[]): ValidationError[] => {
    const at = "expires_at" in holder ? holder.expires_at : undefined;
    if (typeof at !== "string" || Date.parse(at) > now.getTime()) return [];
    return [{ loc: [...loc, "expires_at"], msg: "Write a time in the future", type: "value_error" }];
  };
  const inLists = Object.entries(body).flatMap(([name, list]) =>
    (Array.isArray(list) ? list : []).flatMap((item: unknown, index) =>
      typeof item === "object" && item !== null ? pastEnds(item, ["body", name, index]) : [],
    ),
  );
  const errors = [...pastEnds(body, ["body"]), ...inLists];
  if (errors.length > 0) throw new InvalidInput(errors.slice(0, maxErrors));
}

const maxErrors = 100;

/**
 * Adds the errors of one part of the input. A request can have an error in every member, so the list gets at most a
 * hundred errors in all.
 */
export function addErrors(errors: ValidationError[], part: string, issues: readonly Issue[]): void {
  for (const issue of issues) errors.push(...validationErrors(part, issue).slice(0, maxErrors - errors.length));
}

type Issue = z.core.$ZodIssue;

const clippedPath = (path: readonly PropertyKey[]): (string | number)[] =>
  path.map((step) => clipped(typeof step === "number" ? step : String(step)));

/**
 * One step in the location of an error. A name from the caller is shortened to 100 UTF-16 code units. Half a surrogate
 * pair becomes U+FFFD.
 */
export const clipped = <T extends string | number>(step: T): T | string =>
  typeof step === "string" && step.length > 100 ? `${step.slice(0, 100).toWellFormed()}…` : step;

/**
 * The codes of issues about a whole value. If the value is undefined, an issue with one of these codes means that the
 * value is missing, because JSON and code mode cannot send undefined.
 */
const wholeValueCodes: ReadonlySet<Issue["code"]> = new Set(["invalid_type", "invalid_value", "invalid_union"]);

/**
 * Converts a zod issue to errors of the OpenAPI schema `HTTPValidationError`. An issue about unknown members becomes
 * one error for each unknown member. Any other issue becomes one error.
 */
function validationErrors(part: string, issue: Issue): ValidationError[] {
  const loc = [part, ...clippedPath(issue.path)];
  if (issue.code === "unrecognized_keys") {
    return issue.keys.slice(0, maxErrors).map((key) => ({
      loc: [...loc, clipped(key)],
      msg: "This member is not known here",
      type: "extra_forbidden",
    }));
  }
  if (wholeValueCodes.has(issue.code) && issue.input === undefined)
    return [{ loc, msg: "This is required", type: "missing" }];
  return [{ loc, msg: issue.message, type: typeOf(issue) }];
}

function typeOf(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return `${issue.expected}_type`;
    case "invalid_format":
      return issue.format === "regex" ? "string_pattern_mismatch" : `${issue.format}_parsing`;
    case "invalid_value":
      return "enum";
    case "too_small":
      return lengthTypeOf(issue.origin, "short") ?? "greater_than_equal";
    case "too_big":
      return lengthTypeOf(issue.origin, "long") ?? "less_than_equal";
    case "custom":
      return typeof issue.params?.["type"] === "string" ? issue.params["type"] : "value_error";
    default:
      return "value_error";
  }
}

/** The error type of a string or list that is too short or too long; undefined for any other value. */
function lengthTypeOf(origin: string, fault: "short" | "long"): string | undefined {
  if (origin === "string") return `string_too_${fault}`;
  return origin === "array" ? `too_${fault}` : undefined;
}

/** The schema inside `.optional()`, `.default()` and `.nullable()`. */
function innermost(schema: z.core.$ZodType): z.core.$ZodType {
  const { def } = schema._zod;
  return "innerType" in def ? innermost(def.innerType as z.core.$ZodType) : schema;
}

const integer = /^-?(0|[1-9][0-9]{0,15})$/;

/**
 * Converts the strings of a URL to the types that the schema declares. A string that cannot be converted stays a
 * string, so that the schema refuses the string. A name that occurs more than once becomes a list.
 */
export function fromStrings(shape: z.ZodObject, strings: URLSearchParams): Record<string, unknown> {
  const convert = (name: string, value: string): unknown => {
    const schema = Object.hasOwn(shape.shape, name) ? innermost(shape.shape[name]) : undefined;
    const type = schema?._zod.def.type;
    if ((type === "number" || type === "int") && integer.test(value)) return Number(value);
    if (type === "boolean" && (value === "true" || value === "false")) return value === "true";
    return value;
  };
  const names = [...new Set(strings.keys())];
  return Object.fromEntries(
    names.map((name) => {
      const values = strings.getAll(name).map((value) => convert(name, value));
      return [name, values.length === 1 ? values[0] : values];
    }),
  );
}
