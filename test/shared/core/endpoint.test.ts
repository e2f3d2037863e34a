import { expect, test } from "vitest";

import { Endpoint, readEndpoint } from "../../../shared/core/endpoint.ts";

test("an endpoint is an IP address with a port, and an IPv6 address is in brackets", () => {
  expect(readEndpoint("10.0.0.5:25")).toEqual({ address: "10.0.0.5", port: 25 });
  expect(readEndpoint("[2001:DB8::5]:65535")).toEqual({ address: "2001:DB8::5", port: 65_535 });
});

test.each([
  "",
  "10.0.0.5",
  "10.0.0.5:0",
  "10.0.0.5:65536",
  "10.0.0:25",
  "mx.example.com:25",
  "2001:db8::5:25",
  "[10.0.0.5]:25",
  "[::1]",
  " 10.0.0.5:25",
])("%j is not an endpoint, and the error says how to write an endpoint", (text) => {
  expect(readEndpoint(text)).toBe(undefined);
  expect(Endpoint.safeParse(text).error?.issues[0]?.message).toMatch(/IP address with a port/);
});
