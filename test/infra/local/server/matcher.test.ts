import { expect, test } from "vitest";

import { createMatcher } from "../../../../infra/local/server/event.ts";

const matcherOf = (...triggers: string[]) => createMatcher(triggers.map((trigger) => ({ trigger, target: trigger })));

test("a literal segment wins over a parameter, and a parameter over a greedy one, in any order of the list", () => {
  const match = matcherOf("GET /a/{rest+}", "GET /a/{id}", "GET /a/b", "$default");
  expect(match("GET", "/a/b")?.target).toBe("GET /a/b");
  expect(match("GET", "/a/c")?.target).toBe("GET /a/{id}");
  expect(match("GET", "/a/c/d")?.target).toBe("GET /a/{rest+}");
  expect(match("GET", "/b")?.target).toBe("$default");
});

test("the leftmost segment that differs decides", () => {
  const match = matcherOf("GET /{x}/b/c", "GET /a/{y}/{z}");
  expect(match("GET", "/a/b/c")).toMatchObject({ target: "GET /a/{y}/{z}", pathParameters: { y: "b", z: "c" } });
});

test("a longer template wins over a greedy template that is its beginning", () => {
  const match = matcherOf("GET /docs/{proxy+}", "GET /docs/{name}/raw");
  expect(match("GET", "/docs/x/raw")?.target).toBe("GET /docs/{name}/raw");
  expect(match("GET", "/docs/x/y")?.target).toBe("GET /docs/{proxy+}");
});

test("the method is compared exactly: HEAD is not GET", () => {
  const match = matcherOf("GET /a", "$default");
  expect(match("HEAD", "/a")?.routeKey).toBe("$default");
  expect(match("get", "/a")?.routeKey).toBe("$default");
});

test("a trailing slash and a doubled slash match no template", () => {
  const match = matcherOf("GET /a/{id}", "GET /a/{id}/b", "GET /a");
  for (const path of ["/a/", "/a//b", "//a", "/a/1/", "/a//"]) expect(match("GET", path)).toBeUndefined();
});

test("a greedy parameter takes the whole rest of a path, also an empty rest", () => {
  const match = matcherOf("GET /docs/{proxy+}");
  expect(match("GET", "/docs/a//b/")?.pathParameters).toEqual({ proxy: "a//b/" });
  expect(match("GET", "/docs/")?.pathParameters).toEqual({ proxy: "" });
  expect(match("GET", "/docs")).toBeUndefined();
});

test("parameter names such as `__proto__` are ordinary names", () => {
  const match = matcherOf("GET /{__proto__}/{constructor}");
  expect(Object.entries(match("GET", "/a/b")?.pathParameters ?? {})).toEqual([
    ["__proto__", "a"],
    ["constructor", "b"],
  ]);
});

test("$default has the route key $default and no parameters", () => {
  expect(matcherOf("$default")("PUT", "/any/thing")).toEqual({
    target: "$default",
    routeKey: "$default",
    pathParameters: {},
  });
});

test("two triggers that match the same requests are refused, with any parameter names", () => {
  expect(() => matcherOf("GET /a/{x}", "GET /a/{y}")).toThrow("match the same requests");
  expect(() => matcherOf("GET /a", "GET /a")).toThrow("match the same requests");
  expect(() => matcherOf("GET /a/{x}", "POST /a/{x}")).not.toThrow();
});

test("a trigger that is not a method and a path is refused", () => {
  for (const trigger of ["/a", "GET a", "get /a", ""]) expect(() => matcherOf(trigger)).toThrow("trigger");
});
