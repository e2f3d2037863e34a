import fc from "fast-check";
import { expect, test } from "vitest";

import { isKept } from "../../../shared/core/number.ts";

test("a number is kept when a double has all of its digits, with any zeros and exponent", () => {
  for (const digits of ["0", "-0.0", "1.50", "1e3", "1000000000000000000000", "0.1", "1E-7", "00012"]) {
    expect(isKept(digits), digits).toBe(true);
  }
  for (const digits of ["12345678901234567890", "0.1234567890123456789", "1e309", "1.0000000000000000000001"]) {
    expect(isKept(digits), digits).toBe(false);
  }
});

test("every double as JSON writes it is kept, also with zeros behind it", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.nat(20), (value, zeros) => {
      const text = JSON.stringify(value);
      expect(isKept(text)).toBe(true);
      if (/^-?\d+\.\d+$/.test(text)) expect(isKept(text + "0".repeat(zeros))).toBe(true);
    }),
  );
});

test("a number of a megabyte is read like any other", () => {
  // Quadratic work on its zeros would take hours, and meet the time-out.
  expect(isKept(`1.${"0".repeat(1_000_000)}1`)).toBe(false);
  expect(isKept(`1.${"0".repeat(1_000_000)}`)).toBe(true);
});
