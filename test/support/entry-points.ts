import { routes } from "../../functions/routes.ts";
import type { Route } from "../../shared/http/route.ts";
import type { Item } from "../../shared/table/writes.ts";
import { callCode, callRest } from "./call.ts";
import type { Example } from "./examples.ts";
import type { Answer } from "./request.ts";
import { testTable, type Account, type User } from "./world.ts";

/** The entry points of the API. Every rule holds for both. */
export const entryPoints = ["REST", "code mode"] as const;
export type EntryPoint = (typeof entryPoints)[number];

/** The outcome of a call, as REST would have answered it. */
export type Outcome = Pick<Answer, "status" | "body">;
export type Attempt = (name: string, args: Example, caller: Pick<User, "token">) => Promise<Outcome>;

function routeOf(name: string): Route {
  const route = routes.find((candidate) => candidate.name === name);
  if (!route) throw new Error(`there is no route ${name}`);
  return route;
}

/** Calls routes by name with flat arguments through one entry point. */
export function through(entryPoint: EntryPoint): Attempt {
  return async (name, args, { token }) => {
    const route = routeOf(name);
    if (entryPoint === "code mode") return outcomeOf(route, await callCode(route, args, token));
    const { status, body } = await callRest(route, args, token);
    return { status, body };
  };
}

/** The outcome of a program with one call. */
export function outcomeOf(route: Route, { status, body }: Answer): Outcome {
  if (status !== 200) return { status, body };
  if (body.status === "completed") return { status: route.http.status, body: body.result.last_value };
  const { detail } = body.error;
  return Array.isArray(detail) ? { status: 422, body: { detail } } : { status: detail.status, body: detail };
}

/**
 * Everything stored of an account, to check that a refused attempt changed nothing. Leaves out the key that tags the
 * account's passwords, because the product makes it at its first use.
 */
export const storedOf = async ({ id }: Pick<Account, "id">): Promise<Item[]> =>
  (await testTable().between(`ACCOUNT#${id}`, "!", "~")).filter(({ SK }) => SK !== "LOGIN_KEY");

/** The keys of an account's items that name an id, except the history. */
export const leftOf = async (account: Pick<Account, "id">, id: string): Promise<string[]> =>
  (await storedOf(account))
    .filter((item) => !/^(?:JOURNAL|REVOKED)#/.test(item.SK) && JSON.stringify(item).includes(id))
    .map(({ SK }) => SK);

/** A body without its request id and times, to compare a hidden thing with a missing one. */
export const masked = (body: unknown): string =>
  JSON.stringify(body, (key, value: unknown) => (key === "request_id" || key.endsWith("_at") ? "" : value));
