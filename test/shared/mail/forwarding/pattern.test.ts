import fc from "fast-check";
import { expect, test } from "vitest";

import { AddressPattern, patternsFor } from "../../../../shared/mail/forwarding/pattern.ts";

const text = fc.string({ unit: fc.constantFrom("a", "b", "-"), maxLength: 4 });
const pattern = fc.tuple(text, text).map(([before, after]) => `${before}*${after}`);

/** The meaning of a pattern, as a regular expression. */
const regexOf = (one: string): RegExp => new RegExp(`^${one.replace("*", ".*")}$`, "s");

test("`patternsFor` returns exactly the patterns that match, with any text in place of the star", () => {
  fc.assert(
    fc.property(fc.array(pattern), text, (patterns, local) => {
      const expected = new Set(patterns.filter((one) => regexOf(one).test(local)));
      expect(new Set(patternsFor(local, patterns))).toEqual(expected);
    }),
  );
});

test("a pattern matches whatever text stands in place of the star", () => {
  fc.assert(
    fc.property(text, text, fc.string({ maxLength: 5 }), (before, after, filling) => {
      expect(patternsFor(`${before}${filling}${after}`, [`${before}*${after}`])).toHaveLength(1);
    }),
  );
});

test("the longest pattern is first, and the order does not depend on the order of the rules", () => {
  fc.assert(
    fc.property(fc.array(pattern), text, fc.infiniteStream(fc.nat()), (patterns, local, dice) => {
      const ordered = patternsFor(local, patterns);
      const lengths = ordered.map((one) => one.length);
      expect(lengths).toEqual(lengths.toSorted((a, b) => b - a));
      const shuffled = patterns
        .map((one) => ({ one, place: dice.next().value ?? 0 }))
        .toSorted((a, b) => a.place - b.place)
        .map(({ one }) => one);
      expect(patternsFor(local, shuffled)).toEqual(ordered);
    }),
  );
});

test("an address without a star is not a pattern", () => {
  expect(patternsFor("sales", ["sales", "s*"])).toEqual(["s*"]);
});

test.each(["sales", "sales-*", "*", "*-team", "a*b", "SALES-*"])("%s can be the address of a rule", (given) => {
  expect(AddressPattern.parse(` ${given} `)).toBe(given.toLowerCase());
});

test.each([
  ["", /empty/],
  ["a*b*", /one \* at most/],
  ["**", /one \* at most/],
  ["sales@example.com", /before the @/],
  ["sales+x", /cannot contain a \+/],
  [".*", /begin and end/],
  ["a..*", /two dots/],
  ["a b*", /Only letters/],
  ["é*", /no letters other/],
  [`${"a".repeat(64)}*`, /longer than 64/],
])("%s cannot be the address of a rule", (given, message) => {
  const { error } = AddressPattern.safeParse(given);
  expect(error?.issues[0]?.message).toMatch(message);
});
