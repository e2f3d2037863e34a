import fc from "fast-check";
import { expect, test } from "vitest";

import { NewFeedback } from "../../../shared/feedback/feedback.ts";

const given = { category: "other", title: "T", description: "D" };

const { description } = NewFeedback.shape;

const accepts = (member: object): boolean => NewFeedback.safeParse({ ...given, ...member }).success;

/** A text of these characters, with one of them to be seen. */
const textOf = (characters: string[], max: number) =>
  fc.array(fc.constantFrom(...characters), { maxLength: max }).map((parts) => `x${parts.join("")}`);

test("a title and a description are as long as they say, after trimming", () => {
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

test("a description has lines, with one end of line however they were written", () => {
  fc.assert(
    fc.property(textOf(["a", "字", "😀", "\n", "\r\n", "\r", "\t", " "], 40), (text) => {
      const read = description.parse(text);
      expect(read).not.toMatch(/\r/);
      expect(read).toBe(text.replaceAll("\r\n", "\n").replaceAll("\r", "\n").trim());
      expect(description.parse(read)).toBe(read);
    }),
  );
});

test("neither has a control character, half a surrogate pair or a mark that turns text around", () => {
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

test("says no to texts that are as long as a body can be", () => {
  for (const text of ["\u200b".repeat(300_000), "\n\t".repeat(500_000), " x\u0000".repeat(300_000)]) {
    expect(accepts({ title: text }) || accepts({ description: text })).toBe(false);
  }
});
