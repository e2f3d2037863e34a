import fc from "fast-check";
import { expect, test } from "vitest";

import { returnUrlFault, returnUrlWith } from "../../../shared/wallet/return-url.ts";

const origins = ["https://app.example.com"];

test("an allowed URL always leads a browser to an allowed origin", () => {
  const part = fc.constantFrom(
    "https:",
    "http:",
    "//",
    "/",
    "\\",
    "@",
    ":",
    "#",
    "?",
    "app.example.com",
    "evil.example",
    "%2f",
    "\t",
    "。",
    "user",
    "443",
    "localhost",
    "x=1",
  );
  const url = fc
    .tuple(fc.constantFrom("", "https://", "https://app.example.com"), fc.array(part, { maxLength: 6 }))
    .map(([start, parts]) => start + parts.join(""));
  let allowed = 0;
  fc.assert(
    fc.property(url, (text) => {
      if (returnUrlFault(text, { origins, allowLoopback: false }) !== undefined) return;
      allowed++;
      const led = new URL(returnUrlWith(text, "token", "paid"));
      expect([led.origin, led.username, led.password, led.hash]).toEqual([origins[0], "", "", ""]);
      expect(led.searchParams.getAll("checkout_token")).toEqual(["token"]);
    }),
    { numRuns: 2_000 },
  );
  expect(allowed).toBeGreaterThan(10);
});

test("a URL of this machine is allowed only in development, and if no origin is allowed, the error names the setting", () => {
  const local = "http://127.0.0.1:3000/wallet";
  expect(returnUrlFault(local, { origins, allowLoopback: true })).toBeUndefined();
  expect(returnUrlFault(local, { origins, allowLoopback: false })).toBe("The URL must be https");
  expect(returnUrlFault("https://localhost/", { origins, allowLoopback: false })).toContain("not allowed");
  expect(returnUrlFault("https://a.example/", { origins: [], allowLoopback: false })).toContain("returnOrigins");
});
