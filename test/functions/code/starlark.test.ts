import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

import { expect, test } from "vitest";

import { check } from "../../../functions/code/checker/checker.ts";
import { parseProgram } from "../../../functions/code/interpreter/builtins.ts";
import { evaluate } from "../../../functions/code/interpreter/interpreter.ts";
import { LanguageError } from "../../../functions/code/language/errors.ts";
import { callLimit, stepLimit } from "../../../functions/code/language/limits.ts";

/*
 * Each line of `starlark.txt` has an expression, a tab, and the value of the expression in Starlark as JSON, or `!` if
 * the expression fails in Starlark.
 *
 * The expressions are random. They use every builtin, method and operator that both languages have, and are at most
 * three deep. Their texts are ASCII, and most arguments have the right types. The values are from starlark-go
 * (go.starlark.net v0.0.0-20260908191801-89a6a09411d5): `starlark.Eval`, then `encode` of its module `json`. To add
 * lines, run `json.encode(…)` in its command `starlark`.
 *
 * The differences that docs/code-mode.md names are left out: floats that are whole numbers (`str(1.0)`, `-0.0`), `//`
 * and `%` of floats, keys that are not texts, and the order of keys that are whole numbers.
 */
const lines = readFileSync(join(import.meta.dirname, "starlark.txt"), "utf8")
  .trimEnd()
  .split("\n");
const cases = lines.map((line) => line.split("\t") as [expression: string, outcome: string]);

/** The value of an expression as JSON has it, or `!` if it fails. */
function outcomeOf(expression: string): unknown {
  try {
    const [statement] = parseProgram(expression).statements;
    if (!statement) return "!";
    const budget = { steps: stepLimit, calls: callLimit };
    const { value } = evaluate(statement.value, { variables: new Map(), budget }).next();
    return JSON.parse(JSON.stringify(value));
  } catch (error) {
    if (error instanceof LanguageError) return "!";
    throw error;
  }
}

test("thousands of expressions have the value that Starlark gives them, or fail as in Starlark", () => {
  expect(cases.length).toBeGreaterThan(3_000);
  const different = cases.filter(
    ([expression, outcome]) =>
      !isDeepStrictEqual(outcomeOf(expression), outcome === "!" ? outcome : JSON.parse(outcome)),
  );
  expect(different).toEqual([]);
});

test("the checker finds no mistake in an expression without branches and loops that Starlark evaluates", () => {
  const mistaken = cases.flatMap(([expression, outcome]) => {
    if (outcome === "!" || / if | and | or |for /.test(expression)) return [];
    return check(parseProgram(expression), { catalogue: new Map() }).diagnostics.map(({ message }) => [
      expression,
      message,
    ]);
  });
  expect(mistaken).toEqual([]);
});
