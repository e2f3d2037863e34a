import fc from "fast-check";
import { expect, test } from "vitest";

import { Attributes } from "../../../shared/core/fields.ts";

const nested = (levels: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
};

test("any JSON object that is small and shallow enough is accepted as attributes, unchanged", () => {
  // A body with a member `__proto__` is refused before any schema sees it.
  const name = fc.string({ minLength: 1, maxLength: 10 }).filter((text) => text !== "__proto__");
  const shallow = fc.dictionary(name, fc.jsonValue({ maxDepth: 4 }), {
    maxKeys: 5,
  });
  fc.assert(
    fc.property(shallow, (value) => {
      const attributes = JSON.parse(JSON.stringify(value)) as unknown;
      fc.pre(Buffer.byteLength(JSON.stringify(attributes)) <= 8_192);
      expect(Attributes.parse(attributes)).toEqual(attributes);
    }),
  );
});

test("the size limit of attributes counts the bytes of their JSON, not the characters", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("x", "ß", "字", "😀", '"', "\n"),
      fc.integer({ min: 0, max: 9_000 }),
      (character, count) => {
        const attributes = { text: character.repeat(count) };
        const isSmall = Buffer.byteLength(JSON.stringify(attributes)) <= 8_192;
        expect(Attributes.safeParse(attributes).success).toBe(isSmall);
      },
    ),
  );
});

test("attributes can be nested 20 levels deep, and the error for deeper attributes says so", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 40 }), (levels) => {
      expect(Attributes.safeParse({ a: nested(levels) }).success).toBe(levels <= 19);
    }),
  );
  const { error } = Attributes.safeParse({ a: nested(200_000) });
  expect(error?.issues).toMatchObject([{ message: "Attributes can be nested 20 levels deep at most" }]);
});

test.each([[[]], ["x"], [1], [true]])("attributes cannot be %j", (value) => {
  expect(Attributes.safeParse(value).success).toBe(false);
});
