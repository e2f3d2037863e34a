import { describe, expect, test } from "vitest";

import { request } from "../../../../support/request.ts";
import { newAccount, newUser } from "../../../../support/world.ts";

const path = "/v1/public/a2a";
const envelope = { request_id: "req-1", session_id: "session-1", code: "me.get()" };

/** A JSON text with its ids and times masked, and with its members in their order. */
const golden = (text: string): string =>
  JSON.stringify(
    JSON.parse(text, (key, value: unknown) =>
      typeof value === "string" && (key.endsWith("_at") || /^[\da-f-]{36}$/.test(value)) ? `<${key}>` : value,
    ),
    null,
    1,
  );

test("the answer of a completed program has the specified members in their order", async () => {
  const { id, owner } = await newAccount({ name: "Golden" });
  const code = `workspaces.add(account_id="${id}", name="Sales")\nworkspaces.list(account_id="${id}", page_size=50)`;
  const { status, headers, text } = await request("POST", path, { token: owner.token, body: { ...envelope, code } });
  expect(status).toBe(200);
  expect(headers["content-type"]).toBe("application/json");
  expect(golden(text)).toMatchInlineSnapshot(`
    "{
     "request_id": "req-1",
     "status": "completed",
     "result": {
      "last_value": {
       "items": [
        {
         "id": "<id>",
         "account_id": "<account_id>",
         "name": "Sales",
         "status": "active",
         "created_at": "<created_at>",
         "updated_at": "<updated_at>"
        }
       ],
       "page": 1,
       "page_size": 50,
       "total": 1
      }
     },
     "responses": [
      {
       "index": 0,
       "function": "workspaces.add",
       "status": "completed",
       "result": {
        "id": "<id>",
        "account_id": "<account_id>",
        "name": "Sales",
        "status": "active",
        "created_at": "<created_at>",
        "updated_at": "<updated_at>"
       }
      },
      {
       "index": 1,
       "function": "workspaces.list",
       "status": "completed",
       "result": {
        "items": [
         {
          "id": "<id>",
          "account_id": "<account_id>",
          "name": "Sales",
          "status": "active",
          "created_at": "<created_at>",
          "updated_at": "<updated_at>"
         }
        ],
        "page": 1,
        "page_size": 50,
        "total": 1
       }
      }
     ],
     "complexity_score": 3
    }"
  `);
});

test("the answer of a failed program has the status 200, and the specified members in their order", async () => {
  const { id, owner } = await newAccount();
  const missing = "99999999-9999-4999-8999-999999999999";
  const code = `me.get()\nworkspaces.get(account_id="${id}", workspace_id="${missing}")\nme.get()`;
  const { status, body } = await request("POST", path, { token: owner.token, body: { ...envelope, code } });
  expect(status).toBe(200);
  expect(Object.keys(body)).toEqual(["request_id", "status", "result", "responses", "complexity_score", "error"]);
  expect(body.responses.map((entry: { status: string }) => entry.status)).toEqual(["completed", "failed", "skipped"]);
  expect(Object.keys(body.error)).toEqual(["code", "message", "detail", "line", "column"]);
  expect(body.error).toMatchObject({
    code: "not_found",
    line: 2,
    column: 1,
    detail: { code: "not_found", status: 404 },
  });
});

test("a program with a mistake is answered with 200, and with the advice to correct it", async () => {
  const { owner } = await newAccount();
  const { status, body } = await request("POST", path, { token: owner.token, body: { ...envelope, code: "me.gt()" } });
  expect(status).toBe(200);
  expect(body).toEqual({
    request_id: "req-1",
    status: "failed",
    result: { last_value: null },
    responses: [],
    complexity_score: 0,
    error: {
      code: "unknown_function",
      message: "There is no function me.gt. Did you mean me.get?\nUse: me.get()\nline 1, column 1:\nme.gt()\n^",
      line: 1,
      column: 1,
      parameters: [],
    },
  });
});

test("a request without a valid token gets 401, however malformed the envelope is", async () => {
  for (const token of [undefined, "garbage"]) {
    for (const body of [envelope, {}, []]) {
      const answer = await request("POST", path, { ...(token ? { token } : {}), body });
      expect(answer).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
    }
  }
});

describe("an envelope that is not as specified is refused with 422:", () => {
  const long = "x".repeat(129);
  test.each([
    ["no code", { request_id: "r", session_id: "s" }, ["body", "code"], "missing"],
    ["code that is no text", { ...envelope, code: 1 }, ["body", "code"], "string_type"],
    ["no request_id", { session_id: "s", code: "me.get()" }, ["body", "request_id"], "missing"],
    ["a request_id too long", { ...envelope, request_id: long }, ["body", "request_id"], "string_pattern_mismatch"],
    ["an empty session_id", { ...envelope, session_id: "" }, ["body", "session_id"], "string_pattern_mismatch"],
    [
      "a session_id with a space",
      { ...envelope, session_id: "a b" },
      ["body", "session_id"],
      "string_pattern_mismatch",
    ],
    ["a member that is not known", { ...envelope, more: 1 }, ["body", "more"], "extra_forbidden"],
    [
      "a program of more than 64 KiB",
      { ...envelope, code: `me.get()#${"é".repeat(32_768)}` },
      ["body", "code"],
      "value_error",
    ],
    ["a list", [envelope], ["body"], "object_type"],
    ["no body", undefined, ["body"], "missing"],
  ])("%s", async (_, body, loc, type) => {
    const answer = await request("POST", path, { token: newUser().token, body });
    expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc, type }] } });
  });
});

test("ids of 128 visible characters are accepted, and the request_id is returned unchanged", async () => {
  const id = "~!".repeat(64);
  const body = { ...envelope, request_id: id, session_id: id };
  const answer = await request("POST", path, { token: newUser().token, body });
  expect(answer).toMatchObject({ status: 200, body: { request_id: id, status: "completed" } });
});

test("an unknown query parameter is refused", async () => {
  const answer = await request("POST", `${path}?dry=1`, { token: newUser().token, body: envelope });
  expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc: ["query", "dry"], type: "extra_forbidden" }] } });
});
