import { readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { builtins, missingBuiltins } from "../../../functions/code/interpreter/builtins.ts";
import { formOf } from "../../../functions/code/language/parser.ts";
import { isRight, valueOf } from "../../support/toy-functions.ts";

/** The error of a program that is refused, or that fails when it runs: `line:column code message`. */
const failureOf = (program: string): Promise<string> =>
  valueOf(program).then(
    (value) => `no failure, but ${JSON.stringify(value)}`,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );

test("docs/code-mode.md has a line for each builtin, and no other", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/code-mode.md"), "utf8");
  const [, rows = ""] = /\n\| Builtin .*\n\| -.*\n((?:\|.*\n)+)/.exec(page) ?? [];
  const forms = [...rows.matchAll(/^\| `([^`]+)`/gm)].map(([, form]) => form);
  expect(forms).toEqual([...builtins.values()].map(formOf));
});

test.each([...missingBuiltins])(
  "%s(), which is none here, is answered with what to write instead",
  async (name, hint) => {
    expect(builtins.has(name)).toBe(false);
    for (const program of [`${name}([1])`, `xs = [1]\n${name}(x for x in xs)`]) {
      expect(await failureOf(program)).toContain(hint);
    }
  },
);

test("a hint for a name that nothing replaces lists the builtins there are", () => {
  for (const builtin of builtins.values()) expect(missingBuiltins.get("int")).toContain(formOf(builtin));
});

describe("a builtin has the value that Starlark gives it:", () => {
  test.each([
    ["len('h\\U0001f600')", 2],
    ["len([1, 2]) + len({'a': 1}) + len('')", 3],
    ["len(notes.get(id='a/b').tags)", 2],
    ["[i for i in range(3)]", [0, 1, 2]],
    ["[i for i in range(-1)]", []],
    ["[i for i in range(len(notes.get(id='a/b').tags))]", [0, 1]],
    ["sum([])", 0],
    ["sum([1, 2.5, -3])", 0.5],
    ["x = None\n(x and sum([x])) == None", true],
    ["sum([n.number for n in notes.list(page_size=3).items])", 6],
  ])("%s", async (program, value) => {
    expect(await valueOf(program)).toEqual(value);
  });
});

describe("an argument that a builtin never takes is told before the run, at its place:", () => {
  test.each([
    ["len(1)", "1:5 type_error len takes a text, a list or a dict, not a number."],
    ["len([1] == 1)", "1:5 type_error len takes a text, a list or a dict, not a boolean."],
    ["[i for i in range('3')]", "1:19 type_error range takes a whole number, not a string."],
    ["[i for i in range(-1.5)]", "1:19 type_error range takes a whole number, not -1.5."],
    ["[i for i in range(200001)]", "1:19 too_much_work The program takes more than 200000 steps"],
    ["sum('12')", "1:5 type_error sum takes a list of numbers, not a string."],
    ["sum(['1'])", "1:5 type_error sum takes a list of numbers, and an item is a string."],
    ["sum(notes.get(id='a').tags)", "1:5 type_error sum takes a list of numbers, and an item is a string."],
    ["range(3)", "1:1 misplaced_range range(n) stands only after the `in` of a comprehension."],
    ["[x for x in len([])]", "1:13 type_error A comprehension goes over a list, and the value is a number."],
  ])("%s", async (program, message) => {
    expect(isRight(program)).toBe(false);
    expect(await failureOf(program)).toContain(message);
  });
});

describe("an argument of a wrong type that only the run knows fails at its place:", () => {
  test.each([
    ["len(notes.echo(value=1))", "1:5 type_error len takes a text, a list or a dict, not a number."],
    ["len(notes.get(id='a').parent)", "1:5 type_error len takes a text, a list or a dict, not a null."],
    ["sum(notes.echo(value=1))", "1:5 type_error sum takes a list of numbers, not a number."],
    ["sum(notes.echo(value=[1, None]))", "1:5 type_error sum takes a list of numbers, and an item is a null."],
    ["sum([9007199254740991, 1])", "1:1 type_error This sum is too large."],
    ["[i for i in range(notes.echo(value=0.5))]", "1:19 type_error range takes a whole number, not 0.5."],
    ["[i for i in range(notes.echo(value='1'))]", "1:19 type_error range takes a whole number, not a string."],
    ["[i for i in range(notes.echo(value=1000000000))]", "1:19 too_much_work The program takes more than"],
  ])("%s", async (program, message) => {
    expect(isRight(program)).toBe(true);
    expect(await failureOf(program)).toContain(message);
  });
});

test("a builtin uses up steps for what it reads and for what it makes", async () => {
  const text = "x".repeat(60_000);
  expect(await failureOf(`t = '${text}'\n[len(t) for i in range(100)]`)).toContain("too_much_work");
  expect(await failureOf("xs = [i for i in range(900)]\n[sum(xs) for j in range(220)]")).toContain("too_much_work");
  expect(await failureOf("[[i for i in range(600)] for j in range(200)]")).toContain("too_much_work");
});
