import * as fc from "fast-check";
import { expect, test } from "vitest";

import { sizeOf } from "../../../functions/code/interpreter/budget.ts";
import { type Builtin, checkBuiltin, evaluateBuiltin } from "../../../functions/code/interpreter/builtin.ts";
import { builtinMethods, builtins } from "../../../functions/code/interpreter/builtins.ts";
import { plainType } from "../../../functions/code/interpreter/types.ts";
import { typeOf } from "../../../functions/code/interpreter/values.ts";
import type { Argument } from "../../../functions/code/language/ast.ts";
import { LanguageError } from "../../../functions/code/language/errors.ts";
import { stepLimit, valueLimitBytes } from "../../../functions/code/language/limits.ts";

const at = { line: 1, column: 1 };
const all = [...builtins.values(), ...builtinMethods.values()];

const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 8 }),
  fc.constantFrom("a,b", " x ", "12", "-1.5", "\u00df\u0130\u{1f600}", "x".repeat(100_000), "ab".repeat(1_000_000)),
);
const value = fc.oneof(
  text,
  fc.constantFrom(null, true, false, 0, 1, -1, 2.5, 5e-324, 1e300, 2 ** 53 - 1, -(2 ** 53 - 1), 100_000),
  fc.array(fc.oneof(text, fc.integer(), fc.constant(null)), { maxLength: 5 }),
  fc.constantFrom(Array(50_000).fill("ab"), Array(3_000).fill("x".repeat(1_000)), [
    ["a", 1],
    ["b", []],
  ]),
  fc.dictionary(fc.string(), fc.oneof(text, fc.integer()), { maxKeys: 5, noNullPrototype: false }),
  fc.jsonValue(),
);

/** An argument of a builtin for each value. An argument has a name if its parameter can be named. */
const argumentsOf = ({ isMethod, parameters }: Builtin, values: readonly unknown[]): Argument[] =>
  values.map((_, index) => {
    const parameter = parameters[index + (isMethod ? 1 : 0)];
    const name = parameter?.named ? parameter.name : "";
    return { name, value: { kind: "literal", value: null, at }, at };
  });

test("for any arguments, a builtin returns a value that is not too large, or throws a `LanguageError`", () => {
  fc.assert(
    fc.property(fc.constantFrom(...all), value, fc.array(value, { maxLength: 3 }), (builtin, first, others) => {
      const call = { at, args: argumentsOf(builtin, builtin.isMethod ? others : [first, ...others]) };
      const budget = { steps: stepLimit };
      try {
        const result = evaluateBuiltin(builtin, call, [first, ...others], budget);
        // A builtin may return its first argument, which can be larger than the limit here.
        expect(sizeOf(result).bytes).toBeLessThanOrEqual(Math.max(valueLimitBytes, sizeOf(first).bytes));
        const isOtherObject = typeof result === "object" && result !== null && !Array.isArray(result);
        if (isOtherObject) expect(typeOf(result)).toBe("dict");
        expect(budget.steps).toBeGreaterThanOrEqual(0);
      } catch (error) {
        if (!(error instanceof LanguageError)) throw error;
        expect(error.diagnostic.message).toMatch(/^\S.*[.?]$/s);
      }
    }),
    { numRuns: 5_000 },
  );
});

test("a call that the checker refuses because of its types also fails in a run", () => {
  fc.assert(
    fc.property(fc.constantFrom(...all), fc.array(value, { minLength: 1, maxLength: 3 }), (builtin, given) => {
      const call = { at, args: argumentsOf(builtin, builtin.isMethod ? given.slice(1) : given) };
      const types = given.map((one) => ({ type: plainType(typeOf(one)), literal: undefined }));
      if (!("message" in checkBuiltin(builtin, call, types))) return;
      expect(() => evaluateBuiltin(builtin, call, given, { steps: stepLimit })).toThrow(LanguageError);
    }),
    { numRuns: 5_000 },
  );
});
