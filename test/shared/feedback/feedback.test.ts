import fc from "fast-check";
import { expect, test } from "vitest";

import { NewFeedback } from "../../../shared/feedback/feedback.ts";

const given = { category: "other", title: "T", description: "D" };

const { description } = NewFeedback.shape;

const accepts = (member: object): boolean => NewFeedback.safeParse({ ...given, ...member }).success;

/** Texts of `x` and at most `max` of these characters. */
const textOf = (characters: string[], max: number) =>
  fc.array(fc.constantFrom(...characters), { maxLength: max }).map((parts) => `x${parts.join("")}`);

test("the length limits of a title and a description count after trimming", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 220 }), fc.integer({ min: 0, max: 5 }), (count, spaces) => {
      const title = `${" ".repeat(spaces)}${"y".repeat(count)}${" ".repeat(spaces)}`;
      expect(accepts({ title })).toBe(count >= 1 && count <= 200);
    }),
  );
  fc.assert(
    fc.property(fc.integer({ min: 9_990, max: 10_010 }), (count) => {
      expect(accepts({ description: `\n${"y".repeat(count)}\r\n` })).toBe(count <= 10_000);
    }),
  );
});

test("a description can have several lines, and every line end becomes a line feed", () => {
  fc.assert(
    fc.property(textOf(["a", "字", "😀", "\n", "\r\n", "\r", "\t", " "], 40), (text) => {
      const read = description.parse(text);
      expect(read).not.toMatch(/\r/);
      expect(read).toBe(text.replaceAll("\r\n", "\n").replaceAll("\r", "\n").trim());
      expect(description.parse(read)).toBe(read);
    }),
  );
});

test("a title and a description cannot have control characters, half surrogate pairs or marks of text direction", () => {
  const bad = ["\0", "\u0007", "\u001b", "\u007f", "\u0085", "\u009b", "\ud800", "\udfff", "\u202e", "\u2066"];
  fc.assert(
    fc.property(textOf(["a", " "], 10), fc.constantFrom(...bad), textOf(["b"], 10), (before, one, after) => {
      expect(accepts({ title: before + one + after })).toBe(false);
      expect(accepts({ description: before + one + after })).toBe(false);
    }),
  );
  for (const one of ["\n", "\t"]) {
    expect(accepts({ title: `a${one}b` })).toBe(false);
    expect(accepts({ description: `a${one}b` })).toBe(true);
  }
});

test("very long texts are refused", () => {
  for (const text of ["\u200b".repeat(300_000), "\n\t".repeat(500_000), " x\u0000".repeat(300_000)]) {
    expect(accepts({ title: text }) || accepts({ description: text })).toBe(false);
  }
});
