import { describe, expect, test } from "vitest";

import { LanguageError, type Mistake } from "../../../functions/code/mistake.ts";
import { parse } from "../../../functions/code/parser.ts";

/** What is wrong with a program, as `line:column message`. */
function faultOf(program: string): string {
  const { at, message } = mistakeOf(program);
  return `${at.line}:${at.column} ${message}`;
}

function mistakeOf(program: string): Mistake {
  try {
    parse(program);
  } catch (error) {
    if (error instanceof LanguageError) return error.mistake;
    throw error;
  }
  throw new Error(`nothing is wrong with ${program}`);
}

const namesOf = (program: string) => parse(program).statements.map(({ name }) => name);

describe("is refused, with its place:", () => {
  test.each([
    ["a positional argument", 'a.b("x", y=1)', "1:5 a.b takes its arguments by name: write `name=value`."],
    ["a positional name", "a.b(y=1, x)", "1:10 a.b takes its arguments by name: write `name=value`."],
    ["an argument given twice", "a.b(x=1,\n    x=2)", "2:5 x is given twice."],
    ["a key given twice", `a.b(x={"k": 1, 'k': 2})`, "1:16 'k' is given twice."],
    ["a key without quotes", "a.b(x={k: 1})", "1:8 Expected a key in quotes, but found `k`."],
    ["a number as key", "a.b(x={1: 1})", "1:8 Expected a key in quotes, but found `1`."],
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
    ["an empty statement", "a();;b()", "1:5 Expected a call such as `accounts.list(page=1)`, but found `;`."],
    ["a lone value", "12", "1:1 Expected a call such as `accounts.list(page=1)`, but found `12`."],
    ["a function that is not called", "a.b", "1:4 Expected `(` after a.b, but found the end of the program."],
    ["an assignment", "x = a()", "1:3 A result cannot be given a name: write the call alone."],
    ["a call as argument", "a(x=b.c())", "1:5 An argument is a literal value: it cannot hold a call."],
    ["text without quotes", "a(x=abc)", "1:5 `abc` is not a value: text needs quotes."],
    ["an id without quotes", "a(x=3f2504e0)", "1:5 This is no number: text needs quotes."],
    ["a sum", "a(x=1+1)", "1:6 + has no meaning here."],
    ["a minus before text", 'a(x=-"1")', '1:6 Expected a number after `-`, but found `"1"`.'],
    ["a leading zero", "a(x=012)", "1:5 This is no number: text needs quotes."],
    ["a hexadecimal number", "a(x=0x10)", "1:5 This is no number: text needs quotes."],
    [
      "an integer that would be rounded",
      "a(x=9007199254740993)",
      "1:5 Integers end at 9007199254740991 (2^53 - 1): longer ones need quotes.",
    ],
    [
      "a negative one",
      "a(x=-9007199254740992)",
      "1:6 Integers end at 9007199254740991 (2^53 - 1): longer ones need quotes.",
    ],
    ["an infinite number", "a(x=1e999)", "1:5 This number is too large."],
    [
      "an unknown escape",
      String.raw`a(x="\q")`,
      String.raw`1:6 This is no escape: write \\ for a backslash, \u00e9 or \U0001f600 for a character.`,
    ],
    ["a curly quote", "a(\n x=“y”)", "2:4 “ has no meaning here."],
    ["nothing at all", "\n# only a comment", "2:17 The program holds no call."],
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
    expect(faultOf(`a(x=${text})`)).toMatch(/^1:6 This is no escape/);
  });

  test.each(["__proto__", "constructor", "prototype"])("%s as name, argument and key", (name) => {
    for (const program of [
      `${name}.b()`,
      `a.${name}()`,
      `a(${name}=1)`,
      `a(x={"${name}": 1})`,
      `a(x=[{'${name}': 1}])`,
    ]) {
      expect(faultOf(program)).toContain(`The name ${name} is not allowed.`);
    }
  });

  test("half a surrogate pair", () => {
    expect(faultOf('a(x="\ud800")')).toBe("1:1 Half a surrogate pair is no character.");
  });
});

const nested = (depth: number) => `f(x=${"[".repeat(depth - 1)}${"]".repeat(depth - 1)})`;
const padded = (bytes: number) => `f()#${"é".repeat((bytes - 4) / 2)}`;

describe("limits", () => {
  test("32 nested brackets parse, 33 do not", () => {
    expect(namesOf(nested(32))).toEqual(["f"]);
    expect(mistakeOf(nested(33))).toMatchObject({ code: "nesting_too_deep", at: { line: 1, column: 36 } });
    expect(mistakeOf(`f(x=${"[{".repeat(20_000)}`)).toMatchObject({ code: "syntax_error" });
    expect(mistakeOf(`f(x=${"[".repeat(60_000)}`)).toMatchObject({ code: "nesting_too_deep" });
  });

  test("200 calls parse, the 201st is where it ends", () => {
    expect(namesOf("f()\n".repeat(200))).toHaveLength(200);
    expect(mistakeOf("f()\n".repeat(201))).toMatchObject({ code: "too_many_calls", at: { line: 201, column: 1 } });
  });

  test("65,536 bytes parse, one more does not, whatever the characters", () => {
    expect(namesOf(padded(65_536))).toEqual(["f"]);
    expect(mistakeOf(padded(65_538))).toMatchObject({ code: "source_too_large", at: { line: 1, column: 1 } });
  });
});
