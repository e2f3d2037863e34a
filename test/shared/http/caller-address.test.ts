import { expect, test, vi } from "vitest";

import { callerAddress } from "../../../shared/http/lambda.ts";

const event = (headers: Record<string, string>) =>
  ({ headers, requestContext: { http: { sourceIp: "192.0.2.1" } } }) as unknown as Parameters<typeof callerAddress>[0];

test("the caller's address is the address that the gateway saw, whatever the headers say", () => {
  expect(callerAddress(event({ "x-viewer-address": "198.51.100.7" }))).toBe("192.0.2.1");
});

test("behind our proxy, the caller's address is the address that the proxy saw", () => {
  vi.stubEnv("VIEWER_ADDRESS_HEADER", "x-viewer-address");
  try {
    expect(callerAddress(event({ "x-viewer-address": "2001:db8::7" }))).toBe("2001:db8::7");
    expect(callerAddress(event({}))).toBe("192.0.2.1");
  } finally {
    vi.unstubAllEnvs();
  }
});
