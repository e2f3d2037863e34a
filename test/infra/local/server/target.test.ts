import fc from "fast-check";
import { expect, test } from "vitest";

import { BadTarget, createMatcher, parseQuery, parseTarget } from "../../../../infra/local/server/event.ts";

/**
 * Live captures of an HTTP API in us-west-2, July 2026, from the project hotsock/voker
 * (`vokerhttp/testdata/ingress-paths.json`). The path is null if the answer was 400.
 */
const captured: [sent: string, rawPath: string | null][] = [
  ["/capture/space%20value", "/capture/space value"],
  ["/capture/question%3Fvalue", "/capture/question"],
  ["/capture/percent%25done", null],
  ["/capture/hash%23value", "/capture/hash#value"],
  ["/capture/slash%2Fvalue", "/capture/slash/value"],
  ["/capture/unicode-%CE%BB-%E4%B8%96%E7%95%8C", "/capture/unicode-λ-世界"],
  ["/capture/literal%252Fvalue", "/capture/literal/value"],
  ["/capture/literal%253Fvalue", "/capture/literal?value"],
  ["/capture/literal%2525value", "/capture/literal%value"],
];

test.each(captured)("%s becomes the path that API Gateway made of it", (sent, rawPath) => {
  if (rawPath === null) expect(() => parseTarget(sent)).toThrow(BadTarget);
  else expect(parseTarget(sent).path).toBe(rawPath);
});

test("a plus in a path is a plus", () => {
  expect(parseTarget("/a+b").path).toBe("/a+b");
});

test("the query stays as it was sent", () => {
  expect(parseTarget("/a?x=%20+&&y=a?b").query).toBe("x=%20+&&y=a?b");
  expect(parseTarget("/a").query).toBe("");
});

test("malformed escapes are refused in the path and in the query", () => {
  for (const path of ["/%", "/%zz", "/%E4%B8", "/%ff"]) expect(() => parseTarget(path)).toThrow(BadTarget);
  for (const query of ["a=%", "%zz=1", "a=%c3"]) expect(() => parseQuery(query)).toThrow(BadTarget);
});

test("an absolute-form target brings its own authority", () => {
  expect(parseTarget("http://api.example:8080/a/b?c")).toEqual({
    authority: "api.example:8080",
    encodedPath: "/a/b",
    path: "/a/b",
    query: "c",
  });
  expect(parseTarget("http://api.example?c").path).toBe("/");
});

test("a target that is neither a path nor an http URL is refused", () => {
  for (const target of ["*", "", "a/b", "?a", "example.com:443", "ftp://x/y", "http:///a"]) {
    expect(() => parseTarget(target)).toThrow(BadTarget);
  }
});

test("query parameters are decoded, repeated ones joined by commas, empty ones kept", () => {
  const captured = "repeat=one&repeat=two&redirect=https%3A%2F%2Fe.com%2Fa&literal=a+b&encoded=a%2Bb&empty=&bare&a=b=c";
  expect(parseQuery(captured)).toEqual({
    repeat: "one,two",
    redirect: "https://e.com/a",
    literal: "a b",
    encoded: "a+b",
    empty: "",
    bare: "",
    a: "b=c",
  });
});

const text = fc.string({ unit: "grapheme", maxLength: 20 });

test("a query from a form encoder is read with the same values", () => {
  fc.assert(
    fc.property(fc.dictionary(text, text), (parameters) => {
      const encoded = new URLSearchParams(Object.entries(parameters)).toString();
      expect(parseTarget(`/a?${encoded}`).query).toBe(encoded);
      expect(new Map(Object.entries(parseQuery(encoded)))).toEqual(new Map(Object.entries(parameters)));
    }),
  );
});

test("a path parameter without characters that API Gateway decodes twice is read with the same value", () => {
  const match = createMatcher([{ trigger: "GET /a/{id}/b", target: null }]);
  const value = text.filter((id) => id !== "" && !/[%/?]/.test(id));
  fc.assert(
    fc.property(value, (id) => {
      const { path } = parseTarget(`/a/${encodeURIComponent(id)}/b`);
      expect(match("GET", path)?.pathParameters).toEqual({ id });
    }),
  );
});
