import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { functionsRoute } from "../functions/code/handler.ts";
import { sourceLimitBytes } from "../functions/code/language/limits.ts";
import { routes } from "../functions/routes.ts";
import type { Route } from "../shared/http/route.ts";
import { mutationsOf } from "./contract-mutations.ts";
import { checkContract, checkOutcome } from "./support/contract.ts";
import { outcomeOf, storedOf } from "./support/entry-points.ts";
import { exampleOf, type Example } from "./support/examples.ts";
import { inputsOf, runInput, sendInput, type Input } from "./support/generated.ts";
import { request, type Answer } from "./support/request.ts";
import { newRoomyAccount } from "./support/roomy.ts";
import { isExhaustive } from "./support/sample.ts";
import { newSuperAdmin } from "./support/world.ts";

/**
 * The number of test cases for a route. An exhaustive run tries `atMost` cases, but at least 4. A sampling run shares
 * `inAll` cases among the routes, so that the duration does not grow with the number of routes. It tries at least 2 and
 * at most `atMost` cases.
 */
const runsFor = (atMost: number, inAll: number): number =>
  isExhaustive ? Math.max(4, atMost) : Math.max(2, Math.min(atMost, Math.ceil(inAll / routes.length)));

const keyOf = ({ http: { method, path } }: Route): string => `${method} ${path}`;
const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** A new account in which a route's example works once, and the ids of the account and the example. */
async function sceneOf(route: Route) {
  const account = await newRoomyAccount();
  const example = await exampleOf(route, account);
  const ids = new Set([account.id, account.owner.id, ...(JSON.stringify(example).match(uuid) ?? [])]);
  return { account, example, ids: [...ids] };
}

/** One scene for each route. The tests whose calls change nothing share it. */
const sharedScenes = new Map<Route, ReturnType<typeof sceneOf>>();
function sharedScene(route: Route): ReturnType<typeof sceneOf> {
  const scene = sharedScenes.get(route) ?? sceneOf(route);
  sharedScenes.set(route, scene);
  return scene;
}

/**
 * Placeholders for the ids of a scene. The scene is made later. With placeholders, a seed gives the same requests
 * again.
 */
const slots = Array.from({ length: 4 }, (_, index) => `00000000-0000-4000-8000-00000000000${index}`);
const withIds = (input: Input, ids: readonly string[]): Input =>
  JSON.parse(
    JSON.stringify(input).replace(/00000000-0000-4000-8000-00000000000([0-3])/g, (_, index: string) =>
      String(ids[Number(index) % ids.length]),
    ),
  ) as Input;

/** The members of an example that are in `names` and wanted. */
const known = (names: object, example: Example, wanted: (name: string) => boolean): Example =>
  Object.fromEntries(Object.entries(example).filter(([name]) => Object.hasOwn(names, name) && wanted(name)));

/** An input with some members of the example, so that the input names things that exist. */
function grounded(route: Route, input: Input, example: Example, wanted: (name: string) => boolean): Input {
  return {
    ...input,
    path: { ...input.path, ...known(route.params.shape, example, wanted) },
    query: { ...input.query, ...known(route.query.shape, example, wanted) },
    ...(input.body === undefined
      ? {}
      : { body: { ...(input.body as Example), ...known(route.body.shape, example, wanted) } }),
  };
}

/**
 * The types of the errors that the schemas of the document describe. An input that fits the schemas gets none of these
 * errors.
 */
const statedInSchemas = /_type$|^missing$|^extra_forbidden$|^string_|^too_|_than_equal$|^enum$|_parsing$/;

/** Expects no server error, and no error whose cause the schemas of the document rule out. */
function expectNoStatedError({ status, body }: Pick<Answer, "status" | "body">): void {
  expect(status).toBeLessThan(500);
  if (status !== 422) return;
  const types: string[] = body.detail.map(({ type }: { type: string }) => type);
  expect(types.filter((type) => statedInSchemas.test(type))).toEqual([]);
}

describe.each([...routes, functionsRoute].map((route) => [route.name, route] as const))("%s", (_, route) => {
  test(
    "answers as documented to every request that fits the document, by REST and by code mode",
    { timeout: 60_000 },
    async () => {
      expect.hasAssertions();
      const names = Object.keys({ ...route.params.shape, ...route.query.shape, ...route.body.shape });
      const ownPath = fc.oneof(
        { weight: 4, arbitrary: fc.constant(true) },
        { weight: 1, arbitrary: fc.constant(false) },
      );
      const inputs = fc.record({ input: inputsOf(route, { ids: slots }), taken: fc.subarray(names), ownPath });
      const shared = route.access === "read" ? await sharedScene(route) : undefined;
      await fc.assert(
        fc.asyncProperty(inputs, async ({ input, taken, ownPath }) => {
          const { account, example, ids } = shared ?? (await sceneOf(route));
          const wanted = (name: string) => taken.includes(name) || (ownPath && Object.hasOwn(route.params.shape, name));
          const sent = grounded(route, withIds(input, ids), example, wanted);
          const ran = outcomeOf(route, await runInput(route, sent, account.owner.token));
          checkOutcome(keyOf(route), ran);
          expectNoStatedError(ran);
          expectNoStatedError(await sendInput(route, sent, account.owner.token));
        }),
        { numRuns: runsFor(8, 200) },
      );
    },
  );

  test(
    "refuses every request that is wrong at one place, names the place and changes nothing",
    { timeout: 60_000 },
    async () => {
      const { account, example, ids } = await sharedScene(route);
      let stored = await storedOf(account);
      const mutations = mutationsOf(route);
      const spoiled = fc
        .constantFrom(...mutations)
        .chain(({ mutate, ...mutation }) => fc.record({ mutation: fc.constant(mutation), mutate }));
      const cases = fc
        .record({ input: inputsOf(route, { ids: slots, full: true }), spoiled })
        .map(({ input, spoiled: { mutation, mutate } }) => ({ ...mutation, input: mutate(input) }));
      await fc.assert(
        fc.asyncProperty(cases, async ({ input, status, loc, inPrograms }) => {
          const wrongParameter = loc?.[0] === "path" ? loc[1] : undefined;
          const wanted = (name: string) => Object.hasOwn(route.params.shape, name) && name !== wrongParameter;
          const sent = withIds(input, ids);
          const based = { ...sent, path: grounded(route, sent, example, wanted).path };
          // Programs, and requests without an account, count towards limits that are not raised. So a new caller sends
          // them.
          const isLimited = route.params.shape["account_id"] === undefined || wrongParameter === "account_id";
          const fresh = inPrograms || isLimited ? await newSuperAdmin() : account.owner;
          const { token } = isLimited ? fresh : account.owner;
          const before = stored;
          try {
            const answer = await sendInput(route, based, token);
            expect({ ...answer, headers: {} }).toMatchObject({ status });
            if (loc) expect(answer.body.detail).toContainEqual(expect.objectContaining({ loc }));
            if (inPrograms) await expectRefusedProgram(route, based, loc, fresh.token);
          } finally {
            // Also after a failure, so that the next case is not blamed for this change.
            stored = await storedOf(account);
          }
          expect(stored).toEqual(before);
        }),
        { numRuns: runsFor(Math.max(12, mutations.length * 2), 300) },
      );
    },
  );
});

/** Expects that a program is refused before it runs, and that the error names the wrong argument. */
async function expectRefusedProgram(route: Route, sent: Input, loc: (string | number)[] = [], token: string) {
  const { status, body } = await runInput(route, sent, token);
  // If an input makes the program too long, the program is refused because of its length.
  const isTooLong = JSON.stringify(sent).length > sourceLimitBytes;
  if (isTooLong && status === 422) return expect(body.detail).toMatchObject([{ loc: ["body", "code"] }]);
  expect(body).toMatchObject({ status: "failed", responses: [] });
  expect(["invalid_argument", "missing_argument", "unknown_argument"]).toContain(body.error.code);
  expect(body.error.message).toContain(String(loc[1]));
}

const withOptionalBody = routes.filter(({ body }) => Object.keys(body.shape).length > 0 && body.safeParse({}).success);

test.each(withOptionalBody.map((route) => [route.name, route] as const))(
  "%s takes a missing body as an empty one, and refuses null",
  async (_, route) => {
    const { account, example } = await sharedScene(route);
    const input = grounded(route, { path: {}, query: {} }, example, (name) => name in route.params.shape);
    const refused = await sendInput(route, { ...input, raw: "null" }, account.owner.token);
    expect(refused.body).toEqual({ detail: [expect.objectContaining({ loc: ["body"], type: "object_type" })] });
    expect((await sendInput(route, input, account.owner.token)).status).toBe(route.http.status);
  },
);

describe("the check of every answer", () => {
  const key = "GET /v1/public/accounts/{account_id}/workspaces/{workspace_id}";

  async function goodAnswer(): Promise<Answer> {
    const route = routes.find((candidate) => keyOf(candidate) === key);
    if (!route) throw new Error(`there is no ${key}`);
    const account = await newRoomyAccount();
    const { account_id, workspace_id } = await exampleOf(route, account);
    const path = `/v1/public/accounts/${String(account_id)}/workspaces/${String(workspace_id)}`;
    return request("GET", path, { token: account.owner.token });
  }

  const without = (answer: Answer, name: string): Answer => ({
    ...answer,
    headers: Object.fromEntries(Object.entries(answer.headers).filter(([header]) => header !== name)),
  });
  const problem = { type: "/docs/errors#x", title: "X", status: 404, detail: "X.", request_id: "r" };
  const problemType = { "content-type": "application/problem+json" };

  test.each<[string, (answer: Answer) => Answer]>([
    ["a status that the document lacks", (answer) => ({ ...answer, status: 418 })],
    ["a member that the schema does not name", (answer) => ({ ...answer, body: { ...answer.body, secret: 1 } })],
    ["a member that is missing", (answer) => ({ ...answer, body: { ...answer.body, name: undefined } })],
    ["a member of another type", (answer) => ({ ...answer, body: { ...answer.body, name: 7 } })],
    ["a text that is not a time", (answer) => ({ ...answer, body: { ...answer.body, created_at: "today" } })],
    ["another content type", (answer) => ({ ...answer, headers: { ...answer.headers, "content-type": "text/html" } })],
    ["a missing ETag", (answer) => without(answer, "etag")],
    ["a missing request id", (answer) => without(answer, "x-request-id")],
    ["a missing RateLimit", (answer) => without(answer, "ratelimit")],
    [
      "a header that the document does not allow",
      (answer) => ({ ...answer, headers: { ...answer.headers, location: "/" } }),
    ],
    ["a 304 with a body", (answer) => ({ ...answer, status: 304 })],
    [
      "a code that is not documented",
      (answer) => ({
        ...answer,
        status: 404,
        headers: { ...answer.headers, ...problemType },
        body: { ...problem, code: "last_owner" },
      }),
    ],
  ])("refuses %s", async (_, spoil) => {
    const answer = await goodAnswer();
    expect(() => checkContract(key, answer)).not.toThrow();
    expect(() => checkContract(key, spoil(answer))).toThrow(key);
  });

  test("refuses a wrong answer of the gateway's fallback, and an operation that the document lacks", async () => {
    const answer = await request("GET", "/v1/public/nothing");
    expect(answer.status).toBe(404);
    expect(() => checkContract("$default", { ...answer, status: 200 })).toThrow();
    expect(() => checkContract("$default", { ...answer, body: { ...answer.body, code: "unheard" } })).toThrow();
    expect(() => checkContract("GET /v1/public/nothing", answer)).toThrow("no such operation");
  });
});
