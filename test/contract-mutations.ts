import fc from "fast-check";

import type { Route } from "../shared/http/route.ts";
import { arbitraryOf, json, optionsOf, patiently, resolved, type Schema } from "./support/arbitrary.ts";
import { schemaCheck } from "./support/contract.ts";
import { absent, notNull, replaced, schemasOf, type Input, type Part, type Values } from "./support/generated.ts";

/** A change at one place of an input. The change makes the input invalid. */
export type Mutation = {
  /** The description of the change, for messages. */
  what: string;
  /** The place that a 422 must name. Undefined for other answers. */
  loc?: (string | number)[];
  /** The answer by REST. */
  status: 400 | 415 | 422;
  /** Whether a program can have this change. */
  inPrograms: boolean;
  mutate: fc.Arbitrary<(input: Input) => Input>;
};

type Place = { part: Part; steps: (string | number)[]; schema: Schema; required: boolean };

/** The places in a schema: the schema itself, its members and its items, at any depth. */
function placesIn(part: Part, given: Schema, steps: (string | number)[] = [], required = true): Place[] {
  const schema = notNull(resolved(given));
  const here = { part, steps, schema: given, required };
  const { properties = {}, items } = resolved(schema);
  const members = Object.entries(properties).flatMap(([name, member]) =>
    placesIn(part, member, [...steps, name], resolved(schema).required?.includes(name) ?? false),
  );
  return [here, ...members, ...(items ? placesIn(part, items, [...steps, 0]) : [])];
}

/** Values of all types, most of which do not fit most places. */
const pool = [null, true, 7, -1, 1.5, "", "x", " ", "a\u0000b", "x/y", "é", [], ["x"], {}, { a: 1 }] as const;

/** Values just outside the bounds of a schema. */
function edgesOf(given: Schema): unknown[] {
  const all = [given, ...(optionsOf(resolved(given)) ?? [])].map(resolved);
  return all.flatMap(({ minimum, maximum, minLength, maxLength, maxItems, items, enum: values, format }) => [
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(maximum === undefined ? [] : [maximum + 1]),
    ...(minLength === undefined ? [] : ["x".repeat(Math.max(0, minLength - 1))]),
    ...(maxLength === undefined ? [] : ["x".repeat(maxLength + 1)]),
    ...(maxItems === undefined ? [] : [Array<unknown>(maxItems + 1).fill(fc.sample(arbitraryOf(items ?? {}), 1)[0])]),
    ...(values ?? []).map((value) => (typeof value === "string" ? value.toUpperCase() + value : value)),
    ...(format === "uuid" ? ["99999999-9999-4999-8999-99999999999", "99999999999949998999999999999999"] : []),
    ...(format === "date-time" ? ["2026-02-30T00:00:00Z", "2026-01-01", "2026-01-01T00:00:00", "now"] : []),
  ]);
}

/** The value that a schema gives to a string of the URL. */
function read(value: string, schema: Schema): unknown {
  const { type } = resolved(notNull(schema));
  if (type === "integer" && /^-?\d{1,15}$/.test(value)) return Number(value);
  return type === "boolean" && (value === "true" || value === "false") ? value === "true" : value;
}

/** Whether a value is a text that UTF-8 can encode. */
const isEncodable = (value: unknown): value is string => typeof value === "string" && value.isWellFormed();

/** Values that do not fit a place, in the form of its part of the request. */
function misfits({ part, steps, schema }: Place): fc.Arbitrary<unknown> {
  const fits = schemaCheck(schema);
  const what = `an invalid ${part} ${steps.join(".")}`;
  const raw = fc.oneof(fc.constantFrom(...edgesOf(schema), ...pool), json);
  const inner = resolved(notNull(schema));
  // Whether the place itself is wrong. The product removes the space around a text before it checks the text.
  const isWrongHere = (value: unknown) =>
    !fits(value) && !isWrongInside(value, inner) && (typeof value !== "string" || value.trim() === value);
  if (part === "body") return patiently(raw, isWrongHere, what);
  const strings = raw.map((value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? "x")));
  // An empty segment, dots and a slash make another path. API Gateway decodes a path twice.
  const canCarry = (value: string) => isEncodable(value) && (part === "query" || !/^\.{0,2}$|[/%?]/.test(value));
  const isWrongAlone = (value: string) => canCarry(value) && !fits(read(value, schema));
  return part === "path" ? patiently(strings, isWrongAlone, what) : orRepeated(strings, isWrongAlone, what, schema);
}

/** Whether a value of the right type is wrong only at its members. Such an error names the members, not the place. */
function isWrongInside(value: unknown, { type, items = {} }: Schema): boolean {
  if (Array.isArray(value)) return type === "array" && !value.every(schemaCheck(items));
  return typeof value === "object" && value !== null && type === "object";
}

const takesList = ({ type, anyOf = [] }: Schema): boolean => type === "array" || anyOf.some(takesList);

/**
 * Values that do not fit a parameter. A repeated parameter is an error too, unless the parameter takes a list. If every
 * text fits a parameter, the repetition is the only possible error.
 */
function orRepeated(
  strings: fc.Arbitrary<string>,
  isWrongAlone: (value: string) => boolean,
  what: string,
  schema: Schema,
) {
  const twice = fc.constant(["x", "x"]);
  if (takesList(resolved(notNull(schema)))) return patiently(strings, isWrongAlone, what);
  return fc.oneof(
    twice,
    strings.map((value) => (isWrongAlone(value) ? value : ["x", value])),
  );
}

/** Makes a change of an input that replaces the value at a place. */
const at =
  ({ part, steps }: Pick<Place, "part" | "steps">, change: (old: unknown) => unknown) =>
  (input: Input): Input => ({ ...input, [part]: replaced(input[part], steps, change) });

function mutationsAt(place: Place): Mutation[] {
  const { part, steps, schema, required } = place;
  const where = [part, ...steps];
  const common = { status: 422 as const, inPrograms: steps.length > 0 };
  const found: Mutation[] = [];
  const takesAnything = Object.keys(schema).every((key) => key === "description");
  if ((part === "body" || steps.length > 0) && !takesAnything) {
    const mutate = misfits(place).map((value) => at(place, () => value));
    found.push({ ...common, what: `a value that does not fit at ${where.join(".")}`, loc: where, mutate });
  }
  if (required && part !== "path" && steps.length > 0 && typeof steps.at(-1) === "string") {
    const mutate = fc.constant(at(place, () => absent));
    found.push({ ...common, what: `without ${where.join(".")}`, loc: where, mutate });
  }
  const { additionalProperties } = resolved(notNull(schema));
  if (additionalProperties === false && part !== "path") {
    const mutate = fc.constant(at(place, (old) => ({ ...(old as Values), extra_x: "1" })));
    found.push({
      ...common,
      inPrograms: true,
      what: `an extra member at ${where.join(".")}`,
      loc: [...where, "extra_x"],
      mutate,
    });
  }
  return found;
}

/** All mutations of a route's input, each at one place. */
export function mutationsOf(route: Route): Mutation[] {
  const { path, query, body } = schemasOf(route);
  const places = [...placesIn("path", path), ...placesIn("query", query), ...(body ? placesIn("body", body) : [])];
  const sent = (text: string, headers?: Record<string, string>) => (input: Input) => ({
    ...input,
    raw: text,
    ...(headers ? { headers } : {}),
  });
  const only = { inPrograms: false };
  const header = (name: string, values: string[]): Mutation => ({
    ...only,
    what: `a bad ${name}`,
    status: 422,
    loc: ["header", name],
    mutate: fc.constantFrom(...values).map((value) => (input: Input) => ({ ...input, headers: { [name]: value } })),
  });
  const unasked: Mutation = {
    ...only,
    what: "a body that nothing asks for",
    status: 422,
    loc: ["body", "x"],
    mutate: fc.constant(sent('{"x":1}')),
  };
  const cut = fc.constantFrom('{"a":', "{} {}", "nul", "{'a': 1}", '"', "\u0000", '{"a":1,}', "[");
  const types = fc.constantFrom("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "");
  return [
    ...places.flatMap(mutationsAt),
    { ...only, what: "a body that is not JSON", status: 400, mutate: cut.map((text) => sent(text)) },
    {
      ...only,
      what: "another content type",
      status: 415,
      mutate: types.map((type) => sent("{}", { "content-type": type })),
    },
    ...(body ? [] : [unasked]),
    ...(route.http.method === "POST" ? [header("idempotency-key", ["", "a b", "é", "x".repeat(256)])] : []),
    ...(route.http.etag && route.http.method !== "GET"
      ? [header("if-match", ["", "abc", '"a', "'a'", '"a" "b"'])]
      : []),
  ];
}
