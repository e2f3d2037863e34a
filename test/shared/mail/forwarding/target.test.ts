import fc from "fast-check";
import { expect, test } from "vitest";

import { mailedKey, maskedAddress, TargetEmail } from "../../../../shared/mail/forwarding/target.ts";

test.each([
  ["Ada@Example.COM", "ada@example.com"],
  [" ada@example.com. ", "ada@example.com"],
  ["ada@bücher.example", "ada@xn--bcher-kva.example"],
  ["o'brien+x@example.co.uk", "o'brien+x@example.co.uk"],
  ["a_b-c#d=e@example.com", "a_b-c#d=e@example.com"],
])("%s is read as %s", (given, expected) => {
  expect(TargetEmail.parse(given)).toBe(expected);
});

test("an accepted text becomes one address in one line, which is read unchanged", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.emailAddress(), fc.string({ unit: "binary" })), (text) => {
      const read = TargetEmail.safeParse(text);
      if (!read.success) return;
      expect(read.data).toMatch(/^[\x21-\x7e]+@[a-z0-9.-]+$/);
      expect(read.data.split("@")).toHaveLength(2);
      expect(read.data).not.toMatch(/[,;<>"()]/);
      expect(TargetEmail.parse(read.data)).toBe(read.data);
    }),
    { numRuns: 2_000 },
  );
});

test("a masked address shows only its first letters and its top-level domain", () => {
  expect(maskedAddress("ada.lovelace@mail.example.com")).toBe("a***@m***.com");
  expect(maskedAddress("a@b.io")).toBe("a***@b***.io");
});

test("addresses that differ only after a `+` have the same key, and at Google also addresses that differ only in dots", () => {
  expect(mailedKey("a.d.a+x@gmail.com")).toEqual(mailedKey("ada@googlemail.com"));
  expect(mailedKey("a.da@example.com")).not.toEqual(mailedKey("ada@example.com"));
  expect(mailedKey("ada+x@example.com")).toEqual(mailedKey("ada@example.com"));
  expect(mailedKey("ada+x+y@example.com")).toEqual(mailedKey("ada@example.com"));
  expect(mailedKey("+x@example.com")).not.toEqual(mailedKey("@example.com"));
  expect(mailedKey("ada@example.org")).not.toEqual(mailedKey("ada@example.com"));
});
