import { expect, test } from "vitest";

import { readRetryAfterSeconds } from "../../../shared/webhooks/schedule.ts";

const now = new Date("2026-11-21T10:00:00Z");

test.each([
  ["0", 0],
  ["120", 120],
  [" 120 ", 120],
  ["86400", 86_400],
  ["86401", 86_400],
  ["9".repeat(400), 86_400],
  ["Sat, 21 Nov 2026 10:02:00 GMT", 120],
  ["Sat, 21 Nov 2026 09:00:00 GMT", 0],
  ["Sun, 21 Nov 2027 10:00:00 GMT", 86_400],
])("%j asks for %i seconds", (value, seconds) => expect(readRetryAfterSeconds(value, now)).toBe(seconds));

test.each([undefined, "", "soon", "-1", "1.5", "1e3", "0x10", "20:27", "2026-11-21", "Sat, 99 Foo 2026 10:02:00 GMT"])(
  "%j asks for no wait",
  (value) => expect(readRetryAfterSeconds(value, now)).toBeUndefined(),
);
