import { describe, expect, test } from "vitest";

import { builtinMethods } from "../../../functions/code/interpreter/builtins.ts";
import { parseProgram } from "../../../functions/code/interpreter/builtins.ts";
import { LanguageError, type Diagnostic } from "../../../functions/code/language/errors.ts";

/** What is wrong with a program, as `line:column message`. */
function faultOf(program: string): string {
  const { at, message } = mistakeOf(program);
  return `${at.line}:${at.column} ${message}`;
}

function mistakeOf(program: string): Diagnostic {
  try {
    parseProgram(program);
  } catch (error) {
    if (error instanceof LanguageError) return error.diagnostic;
    throw error;
  }
  throw new Error(`nothing is wrong with ${program}`);
}

test.each(['"a".rjust(3)', "[1].append(2)", "f(x=1).center()"])(
  "a method that does not exist, as in %s, has the code unknown_function",
  (program) => {
    expect(mistakeOf(program).code).toBe("unknown_function");
  },
);

const namesOf = (program: string) =>
  parseProgram(program).statements.map(({ value }) => (value.kind === "call" ? value.name : value.kind));

describe("the following is refused at its place:", () => {
  test.each([
    ["an argument given twice", "a.b(x=1,\n    x=2)", "2:5 x is given twice."],
    ["a key given twice", `a.b(x={"k": 1, 'k': 2})`, '1:16 "k" is given twice.'],
    ["a key in parentheses given twice", `a.b(x={"k": 1, ("k"): 2})`, '1:17 "k" is given twice.'],
    ["a key without quotes", "a.b(x={k: 1})", '1:8 Put a key in quotes: "k". If k is a variable, write (k).'],
    ["a number as key", "a.b(x={1: 1})", "1:8 A key of a dict is a text."],
    ["an open string", 'a.b(x="y)\nc()', '1:7 This string is not closed: its second " is missing.'],
    ["an open long string", 'a()\na.b(x="""y")', '2:7 This string is not closed: its second """ is missing.'],
    ["an open bracket", "a.b(x=1\nc.d()", "2:1 Expected `,` or `)` after the `(` of line 1, column 4, but found `c`."],
    [
      "a closing bracket of another kind",
      "a(x=[1)",
      "1:7 Expected `,` or `]` after the `[` of line 1, column 5, but found `)`.",
    ],
    ["a bracket that was never opened", "a())", "1:4 Expected the end of the line or `;`, but found `)`."],
    ["two calls on one line", "a() b()", "1:5 Expected the end of the line or `;`, but found `b`."],
    ["an empty statement", "a();;b()", "1:5 Expected a value or a call, but found `;`."],
    [
      "an id without quotes",
      "a(x=3f2504e0)",
      "1:5 This is not a number: write only digits, in decimal, such as 5000000. Put text in quotes.",
    ],
    [
      "underscores in a number",
      "a(x=5_000_000)",
      "1:5 This is not a number: write only digits, in decimal, such as 5000000. Put text in quotes.",
    ],
    [
      "a leading zero",
      "a(x=012)",
      "1:5 This is not a number: write only digits, in decimal, such as 5000000. Put text in quotes.",
    ],
    [
      "a hexadecimal number",
      "a(x=0x10)",
      "1:5 This is not a number: write only digits, in decimal, such as 5000000. Put text in quotes.",
    ],
    [
      "an integer that would be rounded",
      "a(x=9007199254740993)",
      "1:5 The largest integer is 9007199254740991 (2^53 - 1): put larger ones in quotes.",
    ],
    [
      "a negative integer that would be rounded",
      "a(x=-9007199254740992)",
      "1:6 The largest integer is 9007199254740991 (2^53 - 1): put larger ones in quotes.",
    ],
    [
      "a number with more digits than are kept",
      "a(x=0.12345678901234567890)",
      "1:5 This number has too many digits: put it in quotes to keep all of them.",
    ],
    ["an infinite number", "a(x=1e999)", "1:5 This number is too large."],
    [
      "an unknown escape",
      String.raw`a(x="\q")`,
      String.raw`1:6 This is not an escape: write \\ for a backslash, \u00e9 or \U0001f600 for a character.`,
    ],
    ["a curly quote", "a(\n x=“y”)", '2:4 Put text in straight quotes: "text".'],
    [
      "a negative integer that would be rounded, in an f-string",
      "f'{-9007199254740992}'",
      "1:5 The largest integer is 9007199254740991 (2^53 - 1): put larger ones in quotes.",
    ],
    ["comparisons in a row", "a < b < c", "1:7 Comparisons do not chain: write `a < b and b < c`."],
    ["`not` after another operator", "a == not b", "1:6 Expected a value or a call, but found `not`."],
    [
      "a slice with a step",
      "x[1:2:3]",
      "1:6 A slice has a beginning and an end, and no step: write `reversed(xs)` for the opposite order.",
    ],
    [
      "a value with `if` and no `else`",
      "x if y",
      "1:7 A value with `if` needs its `else`, `x if condition else y`; the `if` of a comprehension follows its `for`.",
    ],
    ["a slice between values", "x[1:2, 3]", "1:8 An index is one number or one key."],
    ["two indexes", "x[1, 2]", "1:6 An index is one number or one key."],
    ["no index", "x[]", "1:4 An index is a number, or a key in quotes."],
    ["a set", "{1, 2}", '1:3 There are no sets: write a list, `[1, 2]`. A dict has keys and values, `{"key": value}`.'],
    [
      "a dict of pairs",
      "{k: v for k in y}",
      "1:2 There are no dict comprehensions: write `dict([[x.name, x.id] for x in xs])`.",
    ],
    [
      "a format in an f-string",
      "f'{x:.2f}'",
      "1:5 A value in an f-string cannot have a format, such as `{x:.2f}`: write `{x}` alone.",
    ],
    [
      "a conversion in an f-string",
      "f'{x!r}'",
      "1:5 A value in an f-string cannot have a conversion, such as `{x!r}`: write `{x}` alone.",
    ],
    [
      "a conversion in an f-string, with many spaces after it",
      `f'{x!r${" ".repeat(40)}}'`,
      "1:5 A value in an f-string cannot have a conversion, such as `{x!r}`: write `{x}` alone.",
    ],
    [
      "a format in an f-string that begins with an equals sign",
      "f'{x:=9}'",
      "1:5 A value in an f-string cannot have a format, such as `{x:.2f}`: write `{x}` alone.",
    ],
    ["a tuple", "(1, 2)", "1:3 There are no tuples: write a list, `[a, b]`."],
    ["an empty tuple", "()", "1:2 There are no tuples: write a list, `[a, b]`."],
    [
      "a tuple without brackets",
      "1, 2",
      "1:2 There are no tuples: write a list, `[a, b]`, or assign one name on each line.",
    ],
    ["a generator", "(x for x in y)", "1:4 Write a comprehension in brackets: `[… for x in xs]`."],
    [
      "a dict of a comprehension",
      "{'k': x for x in y}",
      "1:9 There are no dict comprehensions: write `dict([[x.name, x.id] for x in xs])`.",
    ],
    ["a comprehension with two values", "[x, y for x in z]", "1:7 A comprehension has one value before its `for`."],
    ["a comprehension over names in brackets", "[x for (x, y) in z]", "1:8 Expected a name, but found `(`."],
    ["a comprehension without `in`", "[x for x of z]", "1:10 Expected `in` after the name of a `for`, but found `of`."],
    ["a member that is given a value", "x.y = 1", "1:5 Only a name can be assigned a value: `name = value`."],
    ["a constant that is given a value", "None = 1", "1:1 None is a constant: choose another name."],
    ["a value that is called", "x[0](y=1)", "1:5 A value cannot be called: call a function by its full name."],
    [
      "an unknown method",
      "f(x=1).center()",
      `1:14 There is no method center. The methods are ${[...builtinMethods.keys()].join(", ")}.`,
    ],
    ["a misspelt method", "f(x=1).lowr()", "1:12 There is no method lowr. Did you mean lower?"],
    ["a method of another language", "f(x=1).toLowerCase()", "1:19 Write `x.lower()`."],
    ["a word of the language as member", "x.from", '1:3 `from` is a reserved word: write ["from"] for .from.'],
    [
      "an open value in an f-string",
      "f'a{x'",
      "1:4 The f-string ends before this `{` is closed: use the other quotes between braces, f\"{x['a']}\".",
    ],
    [
      "an open value in an f-string at the end",
      "f'a{'",
      "1:4 The f-string ends before this `{` is closed: use the other quotes between braces, f\"{x['a']}\".",
    ],
    ["no value in an f-string", "f'a{}'", "1:5 Expected a value or a call, but found the `}` of the f-string."],
    ["a brace alone in an f-string", "f'a}'", "1:4 A single `}` in an f-string is written `}}`."],
    [
      "the same quotes inside an f-string",
      'f"{x["a"]}"',
      "1:3 The f-string ends before this `{` is closed: use the other quotes between braces, f\"{x['a']}\".",
    ],
    ["a text with an unknown prefix", 'r"x"', '1:1 There is no prefix r: only f"…" is supported.'],
    ["nothing at all", "\n# only a comment", "2:17 The program is empty: write a call."],
  ])("%s", (_, program, fault) => {
    expect(faultOf(program)).toBe(fault);
  });

  test.each([
    String.raw`"\x80"`,
    String.raw`"\200"`,
    String.raw`"\ud83d\ude00"`,
    String.raw`"\U00110000"`,
    String.raw`"\u12"`,
  ])("the escape %s, which Starlark does not have", (text) => {
    expect(faultOf(`a(x=${text})`)).toMatch(/^1:6 This is not an escape/);
  });

  test.each(["__proto__", "constructor", "prototype"])("%s as name, argument and key", (name) => {
    for (const program of [
      `${name}.b()`,
      `a.${name}()`,
      `a(${name}=1)`,
      `a(x={"${name}": 1})`,
      `a(x=[{'${name}': 1}])`,
      `${name} = 1`,
      `x.${name}`,
      `x['${name}']`,
      `[1 for ${name} in x]`,
      `f"{x.${name}}"`,
    ]) {
      expect(faultOf(program)).toContain(`The name ${name} is not allowed.`);
    }
  });

  test("half a surrogate pair", () => {
    expect(faultOf('a(x="\ud800")')).toBe("1:1 Half of a surrogate pair is not a character.");
  });
});

const nested = (depth: number) => `f(x=${"[".repeat(depth - 1)}${"]".repeat(depth - 1)})`;
const padded = (bytes: number) => `f()#${"é".repeat((bytes - 4) / 2)}`;

describe("limits", () => {
  test("32 nested brackets parse, 33 do not", () => {
    expect(namesOf(nested(32))).toEqual(["f"]);
    expect(mistakeOf(nested(33))).toMatchObject({ code: "nesting_too_deep", at: { line: 1, column: 36 } });
    expect(mistakeOf(`f(x=${"[{".repeat(20_000)}`)).toMatchObject({ code: "nesting_too_deep" });
    expect(mistakeOf(`f(x=${"[".repeat(60_000)}`)).toMatchObject({ code: "nesting_too_deep" });
  });

  test.each(["[", "(", "{", "f(x=", "-", "not ", "x[", "f'{", "[x for x in ", "{'a': "])(
    "1 MiB of %s is too large, and 65,000 bytes of it are nested too deep or a syntax error",
    (piece) => {
      expect(mistakeOf(piece.repeat(1_048_576 / piece.length))).toMatchObject({ code: "source_too_large" });
      const { code } = mistakeOf(piece.repeat(65_000 / piece.length));
      expect(["nesting_too_deep", "syntax_error"]).toContain(code);
    },
  );

  test("a comprehension of 8 clauses parses, and a comprehension of 9 does not", () => {
    expect(namesOf(`[x ${"for x in y ".repeat(8)}]`)).toEqual(["comprehension"]);
    expect(faultOf(`[x ${"for x in y ".repeat(9)}]`)).toBe(
      "1:92 A comprehension has 8 `for` and `if` at most: join conditions with `and`.",
    );
  });

  test("long chains of members and operators parse, because they are not nested", () => {
    expect(namesOf(`x${".a".repeat(30_000)}`)).toEqual(["path"]);
    expect(namesOf(`x${" + x".repeat(16_000)}`)).toEqual(["operation"]);
    expect(namesOf(`x${" and x == x or x".repeat(4_000)}`)).toEqual(["operation"]);
  });

  test("200 calls parse, and the 201st call is refused at its place", () => {
    expect(namesOf("f()\n".repeat(200))).toHaveLength(200);
    expect(mistakeOf("f()\n".repeat(201))).toMatchObject({ code: "too_many_calls", at: { line: 201, column: 1 } });
  });

  test("65,536 bytes parse, and more do not, also if characters have two bytes", () => {
    expect(namesOf(padded(65_536))).toEqual(["f"]);
    expect(mistakeOf(padded(65_538))).toMatchObject({ code: "source_too_large", at: { line: 1, column: 1 } });
  });
});
