import { existsSync } from "node:fs";
import { resolve } from "node:path";

import { describe, expect, test } from "vitest";
import * as z from "zod";

import { routes } from "../functions/routes.ts";
import { fileOf } from "../infra/entry-points.ts";
import { openApiDocument } from "../infra/openapi/document.ts";
import { exampleOf as recordedExampleOf } from "../infra/openapi/examples.ts";
import { setAccountStatus } from "../shared/access/operate-accounts.ts";
import { capabilities } from "../shared/auth/capabilities.ts";
import type { Route } from "../shared/http/route.ts";
import { callCode, callRest } from "./support/call.ts";
import { alsoHeld, exampleOf, type Example } from "./support/examples.ts";
import { handlerOf, request, type Answer } from "./support/request.ts";
import { newAccount, newMember, newSuperAdmin, newUser, testTable, type Account } from "./support/world.ts";

const foreignId = "99999999-9999-4999-8999-999999999999";

const document = openApiDocument() as { paths: Record<string, Record<string, { operationId: string }>> };

/** A value without the parts that differ between any two calls of a route. */
const comparable = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, member: unknown) =>
      /^(id|idp_name|secret|setup_key|relay_login|auth_code|password|generated_secret|hosted_page|duration_ms|\w*token\w*)$|_(at|id|ids)$/.test(
        key,
      )
        ? typeof member
        : member,
    )
      // Names of domains, nameservers of accounts, serials of zones, and keys.
      .replaceAll(/\b[a-z]+[0-9a-f]{12}\.com\b/g, "name.com")
      .replaceAll(/[0-9a-z]{12}\.ns/g, "account.ns")
      .replaceAll(/hostmaster\.name\.com\. \d+ /g, "hostmaster.name.com. serial ")
      .replaceAll(/p=MII[\w+/=]+/g, "p=key")
      .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "id")
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "time")
      .replaceAll(/\bexpires=\d+&signature=[\w-]+/g, "signed")
      // Addresses that no other test has, and the hashes of keys.
      .replaceAll(/\b45(?:\.\d{1,3}){3}\b/g, "address")
      .replaceAll(/\b[0-9a-f]{64}\b/g, "hash"),
  );

type Scene = { account: Account; example: Example };

async function newScene(route: Route): Promise<Scene> {
  const account = await newAccount({ owner: newUser({ given_name: "Ann", family_name: "Lee" }) });
  return { account, example: await exampleOf(route, account) };
}

/**
 * One scene for each route. All tests of the route whose calls change nothing share it. The tests that use `done` come
 * last.
 */
const sharedScene = once(newScene);

/** The owner's call of a route in the shared scene. It succeeds even after the refused calls of earlier tests. */
const done = once(async (route: Route): Promise<Answer> => {
  const { account, example } = await sharedScene(route);
  return callRest(route, example, account.owner.token, { "x-request-id": "recorded" });
});

/** Makes something of each route once. */
function once<T>(make: (route: Route) => Promise<T>): (route: Route) => Promise<T> {
  const made = new Map<Route, Promise<T>>();
  return (route) => {
    const one = made.get(route) ?? make(route);
    made.set(route, one);
    return one;
  };
}

test("every route has its own name, and its own method and path", () => {
  expect(new Set(routes.map(({ name }) => name)).size).toBe(routes.length);
  expect(new Set(routes.map(({ http: { method, path } }) => `${method} ${path}`)).size).toBe(routes.length);
});

describe.each(routes.map((route) => [route.name, route] as const))("%s", (_, route) => {
  test("is in the file that its name gives, and has a test file at the same path below `test/`", async () => {
    const module = (await import(resolve(import.meta.dirname, "..", fileOf(route.name)))) as { route: Route };
    expect(module.route).toBe(route);
    expect(typeof (await handlerOf({ file: fileOf(route.name) }))).toBe("function");
    const test = fileOf(route.name).replace(/\.ts$/, ".test.ts");
    expect(existsSync(resolve(import.meta.dirname, test)), `write test/${test}`).toBe(true);
  });

  test("says why when it needs no capability", () => {
    if (route.capability === null) expect(route.open).toMatch(/\w{3,}/);
    else expect(capabilities).toContain(route.capability);
  });

  test("is in the document, with each field described", () => {
    const operation = document.paths[route.http.path]?.[route.http.method.toLowerCase()];
    expect(operation).toMatchObject({ operationId: route.name, summary: expect.stringMatching(/\w/) });
    for (const part of [route.params, route.query, route.body, route.output]) {
      expect(undescribed(part), "give these members a `.meta({ description })`").toEqual([]);
    }
  });

  test("allows only members that its schemas name, in its input and in its output", () => {
    const message = "make these objects with `z.strictObject`";
    expect(openObjects(route.output, "output"), message).toEqual([]);
    for (const part of [route.params, route.query, route.body]) expect(openObjects(part, "input"), message).toEqual([]);
  });
});

const withCredential = routes.filter((route) => !route.public);

describe.each(withCredential.map((route) => [route.name, route] as const))("%s with a credential", (_, route) => {
  test("answers 401 without a token and with a bad one, before looking at the input", async () => {
    const { example } = await sharedScene(route);
    const bad = { ...example, account_id: "not-a-uuid" };
    for (const token of [undefined, "garbage", "a.b.c", `sat_${"0".repeat(16)}_${"0".repeat(46)}`]) {
      const answer = await callRest(route, bad, token);
      expect(answer.body).toMatchObject({ status: 401, code: "unauthenticated" });
      expect(answer.headers["www-authenticate"]).toMatch(/^Bearer /);
    }
  });
});

const inAccount = withCredential.filter((route) => "account_id" in route.params.shape);

describe.each(inAccount.map((route) => [route.name, route] as const))("%s in an account", (_, route) => {
  test("answers 404 for another account, with the same bytes as for a missing account", async () => {
    const [stranger, { example }] = [await newAccount(), await sharedScene(route)];
    const foreign = await callRest(route, example, stranger.owner.token);
    const missing = await callRest(route, { ...example, account_id: foreignId }, stranger.owner.token);
    expect(foreign.status).toBe(404);
    expect(missing.status).toBe(404);
    const masked = ({ text, headers }: typeof foreign) => text.replace(headers["x-request-id"] ?? "", "");
    expect(masked(foreign)).toBe(masked(missing));
    const code = await callCode(route, example, stranger.owner.token);
    expect(code.body.error).toMatchObject({ code: "not_found" });
  });

  test("answers 422 for each malformed id in its path, by REST and by code mode", async () => {
    const { account, example } = await sharedScene(route);
    for (const name of Object.keys(route.params.shape)) {
      const answer = await callRest(route, { ...example, [name]: "not an id" }, account.owner.token);
      expect(answer.status).toBe(422);
      expect(answer.body.detail).toMatchObject([{ loc: ["path", name] }]);
      const code = await callCode(route, { ...example, [name]: "not an id" }, account.owner.token);
      expect(code.body).toMatchObject({ status: "failed", responses: [] });
      expect(code.body.error.message).toContain(name);
    }
  });
});

describe.each(inAccount.map((route) => [route.name, route] as const))("%s in a suspended account", (_, route) => {
  test("works if it reads or may run while suspended, and is refused otherwise, even for a super admin", async () => {
    const { account, example } = await (route.whileSuspended ? newScene : sharedScene)(route);
    await setAccountStatus(testTable(), account.id, "suspended", new Date());
    try {
      for (const { token } of [account.owner, await newSuperAdmin()]) {
        const { status, body } = await callRest(route, example, token);
        const isAllowed = route.access === "read" || route.whileSuspended;
        if (isAllowed) expect(status).toBe(200);
        else expect(body.code).toBe("account_suspended");
      }
    } finally {
      await setAccountStatus(testTable(), account.id, "active", new Date());
    }
  });
});

// account.view comes with membership, so there is no member without it.
const guarded = inAccount.filter(({ capability }) => capability !== null && capability !== "account.view");

describe.each(guarded.map((route) => [route.name, route] as const))("%s behind its capability", (_, route) => {
  test("answers 403 and names the capability to a member without it, and changes nothing", async () => {
    const { account, example } = await sharedScene(route);
    const other = capabilities.find((candidate) => candidate.split(".")[0] !== route.capability?.split(".")[0]);
    const member = await newMember(account, { capability: other ?? "account.view" });
    const answer = await callRest(route, example, member.token);
    expect(answer.body).toMatchObject({ status: 403, code: "forbidden", required_capability: route.capability });
    const code = await callCode(route, example, member.token);
    expect(code.body.error).toMatchObject({ code: "forbidden" });
    expect((await done(route)).status).toBe(route.http.status);
  });

  test("answers a member who has only this capability, and the other permissions that the example needs", async () => {
    const { account, example } = await (route.access === "read" ? sharedScene : newScene)(route);
    const needed = alsoHeld[route.name] ?? [];
    const member = await newMember(account, { capability: route.capability ?? "account.view" }, ...needed);
    const answer = await callRest(route, example, member.token);
    expect(answer.status).toBe(route.http.status);
  });
});

describe.each(routes.map((route) => [route.name, route] as const))("%s by its owner", (_, route) => {
  test("answers as documented, and REST and code mode agree", async () => {
    const isRead = route.access === "read";
    const one = await sharedScene(route);
    const other = isRead ? one : await newScene(route);
    const rest = isRead ? await callRest(route, one.example, one.account.owner.token) : await done(route);
    expect(rest.status).toBe(route.http.status);
    expect(route.output.safeParse(rest.body).success).toBe(true);
    const { arguments: given, answer } = recordedExampleOf(route.name);
    const again = "the example has changed: run `npm run examples`";
    expect([Object.keys(one.example), formOf(rest.body)], again).toEqual([Object.keys(given), formOf(answer)]);
    const code = await callCode(route, other.example, other.account.owner.token);
    expect(code.body).toMatchObject({ status: "completed" });
    expect(comparable(code.body.result.last_value)).toEqual(
      comparable(withOtherIds(rest.body, one.account, other.account)),
    );
  });
});

const writing = inAccount.filter(({ access }) => access === "write");

describe.each(writing.map((route) => [route.name, route] as const))("%s on record", (_, route) => {
  test("leaves an entry in the audit log with the actor, the function and the id of the request", async () => {
    expect((await done(route)).status).toBe(route.http.status);
    const { account } = await sharedScene(route);
    const log = await request("GET", `/v1/public/accounts/${account.id}/audit-log`, { token: account.owner.token });
    const actor = { type: "user", id: account.owner.id };
    expect(log.body.items).toContainEqual(
      expect.objectContaining({
        action: route.name,
        request_id: "recorded",
        actor: expect.objectContaining(actor),
        source_ip: "127.0.0.1",
      }),
    );
  });
});

/** The form of an answer: its members, and whether a value is missing. Of a list only whether it has items. */
const formOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.length > 0 ? ["items"] : [];
  if (typeof value !== "object" || value === null) return value === null ? null : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, formOf(member)]));
};

/** An answer about the account `one`, with the ids of the account `other` and its owner instead. */
const withOtherIds = (body: unknown, one: Account, other: Account): unknown =>
  JSON.parse(JSON.stringify(body).replaceAll(one.owner.id, other.owner.id).replaceAll(one.id, other.id));

type Json = {
  properties?: Record<string, Json>;
  items?: Json;
  anyOf?: Json[];
  oneOf?: Json[];
  allOf?: Json[];
  description?: string;
  additionalProperties?: unknown;
};

function walk(schema: Json, path: string, visit: (schema: Json, path: string) => void): void {
  visit(schema, path);
  for (const [name, member] of Object.entries(schema.properties ?? {})) walk(member, `${path}.${name}`, visit);
  if (schema.items) walk(schema.items, `${path}[]`, visit);
  if (isSchema(schema.additionalProperties)) walk({ description: "", ...schema.additionalProperties }, path, visit);
  for (const option of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) {
    // An alternative is described by the member it belongs to.
    walk({ description: "", ...option }, path, visit);
  }
}

const isSchema = (value: unknown): value is Json => typeof value === "object" && value !== null;

const jsonSchema = (schema: z.ZodType, io: "input" | "output"): Json =>
  z.toJSONSchema(schema, { io, reused: "inline", cycles: "throw" }) as Json;

/** The paths of the members without a description. */
function undescribed(schema: z.ZodType): string[] {
  const found: string[] = [];
  walk(jsonSchema(schema, "output"), "", (member, path) => {
    if (path !== "" && !path.endsWith("[]") && member.description === undefined) found.push(path);
  });
  return found;
}

/** The paths of the objects that allow members which the schema does not name. */
function openObjects(schema: z.ZodType, io: "input" | "output"): string[] {
  const found: string[] = [];
  walk(jsonSchema(schema, io), "", (member, path) => {
    if (member.properties && member.additionalProperties !== false) found.push(path);
  });
  return found;
}
