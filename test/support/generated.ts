import { randomUUID } from "node:crypto";

import fc from "fast-check";

import type { Route } from "../../shared/http/route.ts";
import { arbitraryOf, optionsOf, resolved, type Making, type Schema } from "./arbitrary.ts";
import { publishedDocument, type Operation } from "./contract.ts";
import { request, type Answer } from "./request.ts";

export type Part = "path" | "query" | "body";
export type Values = Record<string, unknown>;

/** A request by its parts. `raw` is sent as it is, in place of the body. */
export type Input = { path: Values; query: Values; body?: unknown; raw?: string; headers?: Record<string, string> };

type Parameter = { in: string; name: string; required?: boolean; schema: Schema };
type Documented = Operation & {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
};

/** The document's schemas of a route's input. */
export function schemasOf(route: Route): { path: Schema; query: Schema; body?: Schema } {
  const operation: Documented | undefined =
    publishedDocument().paths[route.http.path]?.[route.http.method.toLowerCase()];
  const parameters = operation?.parameters ?? [];
  const parametersIn = (place: string): Schema => {
    const own = parameters.filter((parameter) => parameter.in === place);
    return {
      type: "object",
      properties: Object.fromEntries(own.map(({ name, schema }) => [name, schema])),
      required: own.filter(({ required }) => required).map(({ name }) => name),
      additionalProperties: false,
    };
  };
  const body = operation?.requestBody?.content["application/json"]?.schema;
  return { path: parametersIn("path"), query: parametersIn("query"), ...(body ? { body } : {}) };
}

/** Whole requests that fit the document. They have no null in the query. */
export function inputsOf(route: Route, making: Making): fc.Arbitrary<Input> {
  const { path, query, body } = schemasOf(route);
  const withoutNull = ({ properties = {}, ...rest }: Schema): Schema => ({
    ...rest,
    properties: Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, notNull(member)])),
  });
  return fc.record({
    path: arbitraryOf(path, making) as fc.Arbitrary<Values>,
    query: arbitraryOf(withoutNull(query), making) as fc.Arbitrary<Values>,
    ...(body ? { body: arbitraryOf(body, making) } : {}),
  });
}

/** A schema without its alternative null. */
export function notNull(schema: Schema): Schema {
  const options = optionsOf(resolved(schema))?.filter((option) => resolved(option).type !== "null");
  return options?.length === 1 && options[0] ? options[0] : schema;
}

/** Sends an input by REST. */
export function sendInput({ http: { method, path } }: Route, input: Input, token?: string): Promise<Answer> {
  const query = new URLSearchParams(
    Object.entries(input.query).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, String(one)]),
    ),
  ).toString();
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => encoded(input.path[name]));
  const { headers = {}, raw, body } = input;
  const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  return request(method, query === "" ? target : `${target}?${query}`, { token, headers, body: sent });
}

/** Encodes a member of a path. HTTP APIs decode a path twice. */
const encoded = (value: unknown): string => encodeURIComponent(String(value).replaceAll("%", "%25"));

/** Runs an input as a program of one call with literal arguments. */
export function runInput(route: Route, { path, query, body }: Input, token?: string): Promise<Answer> {
  const members = (body ?? {}) as Values;
  const given =
    route.codeMode.arguments === "payload"
      ? { ...path, ...query, payload: { account_id: path["account_id"], ...members } }
      : { ...path, ...query, ...members };
  const written = Object.entries(given).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const code = `${route.name}(${written.join(", ")})`;
  return request("POST", "/v1/public/a2a", { token, body: { request_id: randomUUID(), session_id: "s", code } });
}

/** Copies a value with a change at one place. The second argument is the path to this place. */
export function replaced(
  target: unknown,
  [step, ...rest]: (string | number)[],
  change: (old: unknown) => unknown,
): unknown {
  if (step === undefined) return change(target);
  const copy = (Array.isArray(target) ? [...(target as unknown[])] : { ...(target as Values) }) as Values;
  const changed = replaced(copy[step], rest, change);
  if (changed === absent) delete copy[step];
  else copy[step] = changed;
  return copy;
}
/** The result of a change that leaves a member out. */
export const absent = Symbol("absent");
