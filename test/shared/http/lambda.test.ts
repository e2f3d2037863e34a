import { expect, test } from "vitest";

import { eventOf, handlerOf, request } from "../../support/request.ts";
import { newAccount, newUser } from "../../support/world.ts";

async function post(body: string, headers: Record<string, string> = {}) {
  const { id, owner } = await newAccount();
  const path = `/v1/public/accounts/${id}/workspaces`;
  const answer = await request("POST", path, { token: owner.token, body, headers });
  const { total } = (await request("GET", path, { token: owner.token })).body;
  return { ...answer, total };
}

test.each(['{"name":', "{'name':'x'}", "nul", '{"name":"x"}}', "\ufeff{"])(
  "the API answers %j with 400 and changes nothing",
  async (body) => {
    const { body: problem, headers, total } = await post(body);
    expect(problem).toMatchObject({ status: 400, code: "malformed_json" });
    expect(headers["content-type"]).toBe("application/problem+json");
    expect(total).toBe(0);
  },
);

test("the API refuses a member that would reach an object's prototype", async () => {
  const { status, total } = await post('{"name":"x","__proto__":{"a":1}}');
  expect([status, total]).toEqual([422, 0]);
});

test.each([
  ['{"name":"x","__proto__":{"a":1}}', ["body", "__proto__"]],
  ['{"name":"a:b","tags":["__proto__",{"x":{"__proto__":1}}]}', ["body", "tags", 1, "x", "__proto__"]],
  ['{"a":{"constructor":{"b":[],"prototype":{}}}}', ["body", "a", "constructor"]],
  ['{"constructor":1,"prototype":2,"\\u005f_proto__":3}', ["body", "__proto__"]],
])("the 422 for the forbidden member of %s has its place", async (text, loc) => {
  const { status, body } = await post(text);
  expect([status, body.detail]).toMatchObject([422, [{ loc, type: "extra_forbidden" }]]);
});

test.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""])(
  "the API answers a body of type %j with 415",
  async (type) => {
    const { body, total } = await post('{"name":"x"}', { "content-type": type });
    expect(body).toMatchObject({ status: 415, code: "unsupported_media_type" });
    expect(total).toBe(0);
  },
);

test.each(["application/json; charset=utf-8", "application/merge-patch+json", "APPLICATION/JSON"])(
  "the API accepts a body of type %j",
  async (type) => expect((await post('{"name":"x"}', { "content-type": type })).status).toBe(201),
);

test("the API accepts a body of 1 MiB, and answers one byte more with 413", async () => {
  const padded = (bytes: number) => `{"name":"x"${" ".repeat(bytes - 12)}}`;
  expect((await post(padded(1_048_576))).status).toBe(201);
  const { body, total } = await post(padded(1_048_577));
  expect(body).toMatchObject({ status: 413, code: "body_too_large", limit_bytes: 1_048_576 });
  expect(total).toBe(0);
});

test("the API answers a missing body with 422", async () => {
  const { status, body } = await post("");
  expect(status).toBe(422);
  expect(body.detail).toMatchObject([{ loc: ["body"], type: "missing" }]);
});

test("the API refuses a body where none is expected", async () => {
  const { id, owner } = await newAccount();
  const answer = await request("GET", `/v1/public/accounts/${id}`, { token: owner.token, body: { force: true } });
  expect(answer.status).toBe(422);
  expect(answer.body.detail).toMatchObject([{ loc: ["body", "force"], type: "extra_forbidden" }]);
});

test("the API returns the errors of all wrong parameters at once", async () => {
  const { token } = newUser();
  const { body } = await request("GET", "/v1/public/accounts?page=0&page_size=1000&client_id=7&x=1", { token });
  const places = body.detail.map(({ loc }: { loc: string[] }) => loc[1]);
  expect(places.toSorted()).toEqual(["client_id", "page", "page_size", "x"]);
});

test("the API returns the caller's request id, in error bodies too, and makes an id if the caller's id is not valid", async () => {
  const send = (id: string) => request("GET", "/v1/public/me", { headers: { "x-request-id": id } });
  const echoed = await send("trace-42");
  expect(echoed.headers["x-request-id"]).toBe("trace-42");
  expect(echoed.body.request_id).toBe("trace-42");
  for (const bad of ["with space", "x".repeat(129), "é"]) {
    expect((await send(bad)).headers["x-request-id"]).toMatch(/^\S{8,64}$/);
    expect((await send(bad)).headers["x-request-id"]).not.toBe(bad);
  }
});

test("the API sends the security headers with successes and failures", async () => {
  for (const token of [newUser().token, undefined]) {
    const { headers } = await request("GET", "/v1/public/me", { token });
    expect(headers).toMatchObject({
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "strict-transport-security": expect.stringContaining("max-age="),
      "content-security-policy": expect.stringContaining("default-src 'none'"),
    });
  }
});

test("the API answers an unexpected error with 500 `internal`, and does not show the cause", async () => {
  const { id, owner } = await newAccount();
  const handler = await handlerOf({ file: "functions/workspaces/list.ts" });
  const event = eventOf("GET", `/v1/public/accounts/${id}/workspaces`, { token: owner.token });
  const unreadable = {
    toString: (): never => {
      throw new Error("secret cause");
    },
  };
  const broken = { ...event, rawQueryString: unreadable as never };
  const { statusCode, body } = await handler(broken);
  expect(statusCode).toBe(500);
  expect(JSON.parse(body ?? "")).toMatchObject({ code: "internal", request_id: expect.any(String) });
  expect(body).not.toContain("secret cause");
});

test.each([
  ["POST", "/"],
  ["GET", "/v1/public"],
  ["GET", "/v1/public/nothing"],
  ["GET", "/v1/public/accounts/"],
  ["POST", "/v1/public/accounts//workspaces"],
])("the API answers %s %s with 404", async (method, path) => {
  expect((await request(method, path)).body).toMatchObject({ status: 404, code: "not_found" });
});

test.each([
  ["DELETE", "/v1/public/accounts", "GET, HEAD, OPTIONS"],
  ["PUT", "/v1/public/accounts/x/workspaces", "GET, HEAD, POST, OPTIONS"],
  ["POST", "/v1/public/accounts/x/workspaces/y", "GET, HEAD, PATCH, DELETE, OPTIONS"],
  ["GET", "/v1/public/mcp", "POST, OPTIONS"],
  ["HEAD", "/v1/public/mcp", "POST, OPTIONS"],
  ["DELETE", "/v1/public/mcp", "POST, OPTIONS"],
  ["PATCH", "/v1/public/me", "GET, HEAD, OPTIONS"],
])("the API answers %s %s with 405 and Allow: %s", async (method, path, allow) => {
  const answer = await request(method, path);
  expect(answer.body).toMatchObject({ status: 405, code: "method_not_allowed" });
  expect(answer.headers["allow"]?.split(", ").toSorted()).toEqual(allow.split(", ").toSorted());
});

test("the API answers OPTIONS on a known path with its methods, and on another path with 404", async () => {
  const answer = await request("OPTIONS", "/v1/public/accounts");
  expect([answer.status, answer.headers["allow"]]).toEqual([204, "GET, HEAD, OPTIONS"]);
  expect((await request("OPTIONS", "/v1/public/nothing")).status).toBe(404);
});

test("the API answers 401 before it looks at a body", async () => {
  const answer = await request("POST", "/v1/public/accounts/x/workspaces", { body: "{" });
  expect(answer.body).toMatchObject({ status: 401, code: "unauthenticated" });
});

test("the API returns the first 100 errors of a request with many errors", async () => {
  const members = Array.from({ length: 5_000 }, (_, index) => [`${"x".repeat(200)}${index}`, 1]);
  const { status, body, text } = await post(JSON.stringify(Object.fromEntries(members)));
  expect([status, body.detail.length]).toEqual([422, 100]);
  expect(text.length).toBeLessThan(50_000);
});

test("a question mark at the beginning of a query string belongs to its first name", async () => {
  const { status, body } = await request("GET", "/v1/public/accounts??page=7", { token: newUser().token });
  expect(status).toBe(422);
  expect(body.detail).toMatchObject([{ loc: ["query", "?page"], type: "extra_forbidden" }]);
});

test("the API answers a query string that is not UTF-8 with 400", async () => {
  const handler = await handlerOf({ file: "functions/accounts/list.ts" });
  const event = eventOf("GET", "/v1/public/accounts", { token: newUser().token });
  for (const rawQueryString of ["status=%ff", "status=%", "%e9=1"]) {
    const answer = await handler({ ...event, rawQueryString });
    expect(JSON.parse(answer.body ?? "")).toMatchObject({ status: 400, code: "malformed_request" });
  }
});

test("the API answers HEAD with the status and the headers of GET", async () => {
  const account = await newAccount();
  const { token } = account.owner;
  const at = `/v1/public/accounts/${account.id}`;
  const changing = new Set(["x-request-id", "ratelimit"]);
  const shown = async (method: string, path: string, as?: string) => {
    const { status, headers } = await request(method, path, { token: as });
    return [status, Object.entries(headers).filter(([name]) => !changing.has(name))];
  };
  const paths = [`${at}/workspaces`, `${at}/workspaces/x`, at, "/v1/public/openapi.json", "/docs", "/docs/nothing"];
  for (const path of paths) {
    for (const as of [token, undefined])
      expect(await shown("HEAD", path, as), path).toEqual(await shown("GET", path, as));
  }
});
