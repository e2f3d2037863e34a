import { expect, test } from "vitest";

import { catalogue } from "../../../functions/code/catalogue.ts";
import { request } from "../../support/request.ts";
import { newAccount, newUser } from "../../support/world.ts";

const path = "/v1/public/functions";
const list = (query = "", token: string | undefined = newUser().token) =>
  request("GET", `${path}${query}`, token === "" ? {} : { token });

test("lists every function of code mode, as `functions.list` does in a program", async () => {
  const { owner } = await newAccount();
  const { status, headers, body } = await list("", owner.token);
  expect([status, headers["ratelimit-policy"]]).toEqual([200, '"default";q=100;w=10']);
  expect(body.functions.map(({ name }: { name: string }) => name)).toEqual([...catalogue.keys()]);
  const inCode = await request("POST", "/v1/public/a2a", {
    token: owner.token,
    body: { request_id: "r", session_id: "s", code: "functions.list()" },
  });
  expect(inCode.body.result.last_value).toEqual(body);
});

test("shows the capability that each function needs, and null if a token is enough", async () => {
  const { body } = await list();
  const capabilities = body.functions.map(({ capability }: { capability: string | null }) => capability);
  expect(capabilities).toEqual([...catalogue.values()].map(({ route }) => route.capability));
  expect(capabilities).toEqual(expect.arrayContaining(["workspace.view", null]));
  const inCode = await request("POST", "/v1/public/a2a", {
    token: newUser().token,
    body: { request_id: "r", session_id: "s", code: 'functions.search(query="tags.add").functions[0]' },
  });
  expect(inCode.body.result.last_value).toMatchObject({ name: "tags.add", capability: "tag.manage" });
});

test("lists the functions of a family", async () => {
  const { body } = await list("?prefix=tags.");
  const tags = [...catalogue.keys()].filter((name) => name.startsWith("tags."));
  expect(tags).toContain("tags.add");
  expect(body.functions.map(({ name }: { name: string }) => name)).toEqual(tags);
  expect((await list("?prefix=nothing")).body).toEqual({ functions: [] });
});

test.each([
  ["?family=tags", "family"],
  [`?prefix=${"x".repeat(101)}`, "prefix"],
])("refuses the query %s", async (query, name) => {
  const { status, body } = await list(query);
  expect([status, body.detail[0].loc]).toEqual([422, ["query", name]]);
});

test("needs a token", async () => {
  expect((await list("", "")).body).toMatchObject({ status: 401, code: "unauthenticated" });
});

test("refuses POST with 405", async () => {
  const { status, headers } = await request("POST", path, { token: newUser().token, body: {} });
  expect([status, headers["allow"]]).toEqual([405, "GET, HEAD, OPTIONS"]);
});
