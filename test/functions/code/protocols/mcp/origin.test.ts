import { expect, test } from "vitest";

import { checkOrigin } from "../../../../../functions/code/protocols/mcp/server.ts";

const allowed = "https://app.example.com, https://docs.example.com:8443";

test.each([
  ["no origin", undefined, "api.example.com"],
  ["a listed origin", "https://app.example.com", "api.example.com"],
  ["a listed origin with a port", "https://docs.example.com:8443", "api.example.com"],
  ["a page of this machine to a server on it", "http://localhost:5173", "127.0.0.1:8080"],
  ["the server's own page", "http://[::1]:8080", "[::1]:8080"],
])("%s is accepted", (_, origin, host) => {
  expect(() => checkOrigin({ origin, host }, allowed)).not.toThrow();
});

test.each([
  ["an unlisted origin", "https://evil.example", "api.example.com"],
  ["a listed name over another scheme", "http://app.example.com", "api.example.com"],
  ["a name that begins like a listed one", "https://app.example.com.evil.example", "api.example.com"],
  ["an opaque origin", "null", "127.0.0.1:8080"],
  ["an empty origin", "", "127.0.0.1:8080"],
  ["a name that DNS rebinding leads to the server", "http://evil.example:8080", "evil.example:8080"],
  ["a page elsewhere to a server on this machine", "http://evil.example", "127.0.0.1:8080"],
  ["a name that begins like this machine's", "http://localhost.evil.example", "localhost:8080"],
  ["a page of the visitor's machine to a server elsewhere", "http://localhost:5173", "api.example.com"],
])("%s is refused", (_, origin, host) => {
  for (const list of [allowed, "", undefined]) {
    expect(() => checkOrigin({ origin, host }, list)).toThrow(expect.objectContaining({ code: "origin_not_allowed" }));
  }
});
