import { randomUUID } from "node:crypto";

import type { Route } from "../../shared/http/route.ts";
import type { Example } from "./examples.ts";
import { request, type Answer } from "./request.ts";

const pick = (example: Example, names: readonly string[]): Example =>
  Object.fromEntries(Object.entries(example).filter(([name]) => names.includes(name)));

/** The path of a route with its parameters filled in. */
const pathOf = (route: Route, params: Example): string =>
  route.http.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));

/** The request that calls a route over REST with flat arguments. */
export function restOf(route: Route, example: Example) {
  const query = new URLSearchParams(
    Object.entries(pick(example, Object.keys(route.query.shape))).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]),
  );
  const body = pick(example, Object.keys(route.body.shape));
  const hasBody = Object.keys(route.body.shape).length > 0;
  const accept: Record<string, string> = route.http.file ? { accept: "application/json" } : {};
  return {
    method: route.http.method,
    target: pathOf(route, example) + (query.size > 0 ? `?${query.toString()}` : ""),
    headers: accept,
    ...(hasBody ? { body } : {}),
  };
}

/** Calls a route over REST with flat arguments. */
export function callRest(
  route: Route,
  example: Example,
  token?: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { method, target, headers: own, ...sent } = restOf(route, example);
  return request(method, target, { token, headers: { ...own, ...headers }, ...sent });
}

/** The program that calls a route with its example. */
export function programOf(route: Route, example: Example): string {
  const body = pick(example, Object.keys(route.body.shape));
  const rest = pick(example, Object.keys({ ...route.params.shape, ...route.query.shape }));
  const given =
    route.codeMode.arguments === "payload"
      ? { ...rest, payload: { account_id: example["account_id"], ...body } }
      : example;
  const written = Object.entries(given).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `${route.name}(${written.join(", ")})`;
}

/** Calls a route by code mode. Returns the A2A envelope. */
export const callCode = (route: Route, example: Example, token?: string): Promise<Answer> =>
  request("POST", "/v1/public/a2a", {
    token,
    body: { request_id: randomUUID(), session_id: "s", code: programOf(route, example) },
  });
