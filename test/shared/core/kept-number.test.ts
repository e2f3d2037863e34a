import fc from "fast-check";
import { expect, test } from "vitest";

import { keepsDigits } from "../../../shared/core/number.ts";

test("a number is kept if its double is written with the same digits, whatever the zeros and the exponent", () => {
  for (const digits of ["0", "-0.0", "1.50", "1e3", "1000000000000000000000", "0.1", "1E-7", "00012"]) {
    expect(keepsDigits(digits), digits).toBe(true);
  }
  for (const digits of ["12345678901234567890", "0.1234567890123456789", "1e309", "1.0000000000000000000001"]) {
    expect(keepsDigits(digits), digits).toBe(false);
  }
});

test("every double that JSON writes is kept, even with more zeros at its end", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.nat(20), (value, zeros) => {
      const text = JSON.stringify(value);
      expect(keepsDigits(text)).toBe(true);
      if (/^-?\d+\.\d+$/.test(text)) expect(keepsDigits(text + "0".repeat(zeros))).toBe(true);
    }),
  );
});

test("a number with a million digits is checked like any other", () => {
  // If the work were quadratic in the zeros, it would take hours, and this test would time out.
  expect(keepsDigits(`1.${"0".repeat(1_000_000)}1`)).toBe(false);
  expect(keepsDigits(`1.${"0".repeat(1_000_000)}`)).toBe(true);
});
