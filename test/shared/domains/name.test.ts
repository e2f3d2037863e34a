import fc from "fast-check";
import { expect, test } from "vitest";

import { DomainName, DomainRef, readName, unicodeOf } from "../../../shared/domains/name.ts";

const ldhName = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

const separator = fc.constantFrom(".", ".", ".", "。", "．", "｡");
const label = fc.oneof(
  fc.stringMatching(/^[a-zA-Z0-9-]{0,12}$/),
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.string({ unit: "grapheme", maxLength: 8 }),
  fc.stringMatching(/^[a-zß-öø-ÿа-яא-ת٠-٩ぁ-ん一-丁ａ-ｚ·-]{1,10}$/),
  fc.stringMatching(/^xn--[a-z0-9-]{1,12}$/),
  fc.constantFrom("_dmarc", "*", "xn--", "a".repeat(63), "a".repeat(64), "ß", "ｅｘ", "l·l", "e\u0301"),
);
/** Texts that are names, nearly names, or not names at all. */
const spelling = fc.oneof(
  fc.string({ unit: "binary" }),
  fc
    .tuple(label, fc.array(fc.tuple(separator, label), { maxLength: 5 }), fc.constantFrom("", ".", "。", " "))
    .map(([first, rest, end]) => first + rest.flat().join("") + end),
  fc.tuple(label, fc.constantFrom("com", "de", "co.uk", "xn--p1ai")).map(([first, end]) => `${first}.${end}`),
);

test("`readName` returns the one spelling of a name, and reads this spelling unchanged, or it explains the fault", () => {
  fc.assert(
    fc.property(spelling, (given) => {
      const read = readName(given);
      if ("fault" in read) {
        expect(read.fault).not.toBe("");
        return;
      }
      expect(read.name).toMatch(ldhName);
      expect(readName(read.name)).toEqual(read);
    }),
    { numRuns: 1_000 },
  );
});

test("`unicodeOf` shows every name in a spelling that `readName` reads as the same name", () => {
  fc.assert(
    fc.property(spelling, (given) => {
      const read = readName(given);
      fc.pre("name" in read);
      expect(readName(unicodeOf(read.name))).toEqual(read);
    }),
    { numRuns: 600 },
  );
});

test("`readName` ignores capitals, a final dot, outer spaces, and the kind of full stops", () => {
  fc.assert(
    fc.property(spelling, (given) => {
      const read = readName(given);
      fc.pre("name" in read);
      for (const other of [
        read.name.toUpperCase(),
        `${read.name}.`,
        ` ${read.name}\n`,
        read.name.replaceAll(".", "。"),
      ]) {
        expect(readName(other)).toEqual(read);
      }
    }),
    { numRuns: 400 },
  );
});

test("both schemas of names accept the same names, and only `DomainRef` also accepts an id", () => {
  fc.assert(
    fc.property(spelling, (given) => {
      const [name, ref] = [DomainName.safeParse(given), DomainRef.safeParse(given)];
      expect(ref.success).toBe(name.success);
      expect(ref.data).toBe(name.data);
    }),
    { numRuns: 400 },
  );
  const id = "AAAAAAAA-bbbb-4ccc-8ddd-eeeeeeeeeeee";
  expect(DomainRef.parse(id)).toBe(id.toLowerCase());
  expect(DomainName.safeParse(id).success).toBe(false);
});
