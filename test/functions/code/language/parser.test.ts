import { describe, expect, test } from "vitest";

import { literalValue } from "../../../../functions/code/checker/arguments.ts";
import { parseProgram } from "../../../../functions/code/interpreter/builtins.ts";
import type { Access, Call, Expression } from "../../../../functions/code/language/ast.ts";
import { LanguageError } from "../../../../functions/code/language/errors.ts";

/** The call that is a program's first statement. */
function callIn(program: string): Call {
  const value = parseProgram(program).statements[0]?.value;
  if (value?.kind !== "call") throw new Error("it is no call");
  return value;
}

/** The value that an argument's source text stands for. */
function valueIn(text: string): unknown {
  const [argument] = callIn(`f(x=${text})`).args;
  return argument && literalValue(argument.value).value;
}

function faultOf(program: string): string {
  try {
    parseProgram(program);
  } catch (error) {
    if (error instanceof LanguageError) return error.diagnostic.message;
    throw error;
  }
  throw new Error(`nothing is wrong with ${program}`);
}

const namesOf = (program: string) =>
  parseProgram(program).statements.map(({ value }) => (value.kind === "call" ? value.name : value.kind));

describe("statements", () => {
  test("end at a line end or a semicolon, and comments, blank lines and a last semicolon do not matter", () => {
    expect(namesOf("\n# first\na.b() # call\n\nc.d.e(); f()\r\ng();\rh()")).toEqual(["a.b", "c.d.e", "f", "g", "h"]);
  });

  test("can go over several lines inside brackets and after a backslash, and can have trailing commas", () => {
    const { args } = callIn('a.b(\n  x=[1,\n  2,], # two\n  y={"k":\n3,},\n)');
    expect(args.map(({ name, value }) => [name, literalValue(value).value])).toEqual([
      ["x", [1, 2]],
      ["y", { k: 3 }],
    ]);
    expect(namesOf("a.\\\nb()")).toEqual(["a.b"]);
  });

  test("can all have the same indentation, but not different ones", () => {
    expect(namesOf("\n    a()\n  # comment\n    b(\nx=1)\n")).toEqual(["a", "b"]);
    expect(faultOf("  a()\n   b()")).toBe("Indent every line like the first.");
  });

  test("have a place: line and column, counted in characters from 1", () => {
    const [, second] = parseProgram('a(x="😀", y=1); b()\n\n').statements;
    expect(callIn('a(x="😀", y=1)').args[1]?.at).toEqual({ line: 1, column: 10 });
    expect(second?.at).toEqual({ line: 1, column: 16 });
    expect(parseProgram("\r\n\r\na()").statements[0]?.at).toEqual({ line: 3, column: 1 });
  });
});

describe("literals", () => {
  test.each([
    ["0", 0],
    ["-12", -12],
    ["- 12", -12],
    ["1.5", 1.5],
    ["1.", 1],
    [".5", 0.5],
    ["-2.5e-3", -0.0025],
    ["1E3", 1000],
    ["9007199254740991", 9007199254740991],
    ["True", true],
    ["true", true],
    ["False", false],
    ["false", false],
    ["None", null],
    ["null", null],
    ["[]", []],
    ['[1, "a", [None]]', [1, "a", [null]]],
    ['{"a": {"b": []}, \'c\': 1}', { a: { b: [] }, c: 1 }],
  ])("%s", (text, value) => {
    expect(valueIn(text)).toEqual(value);
  });

  test.each([
    [`"it's"`, "it's"],
    [`'say "hi"'`, 'say "hi"'],
    [`"""one\n"two" three"""`, 'one\n"two" three'],
    [`'''it's'''`, "it's"],
    [`""`, ""],
    [`""""""`, ""],
    [String.raw`"\a\b\f\n\r\t\v\\\'\""`, "\x07\b\f\n\r\t\v\\'\""],
    [String.raw`"\0\101\x41\u00e9\U0001f600"`, "\0AAé😀"],
    [`"a\\\nb"`, "ab"],
    [`"# no comment; (still) text"`, "# no comment; (still) text"],
    [`"é😀"`, "é😀"],
    [`"__proto__"`, "__proto__"],
  ])("%s", (text, value) => {
    expect(valueIn(text)).toBe(value);
  });

  test("the key of a dict may be in parentheses", () => {
    expect(valueIn('{("a"): 1, "b": 2}')).toEqual({ a: 1, b: 2 });
  });

  test("dicts hold only their own keys", () => {
    const dict = valueIn('{"toString": 1}');
    expect(Object.getPrototypeOf(dict)).toBeNull();
    expect(Object.keys(dict as object)).toEqual(["toString"]);
  });
});

function bracketedAccess(step: Access): string {
  if (step.kind === "member") return `.${step.name}`;
  if (step.kind === "index") return `[${bracketed(step.index)}]`;
  if (step.kind === "method") return `.${step.name}(${step.args.map(({ value }) => bracketed(value)).join(", ")})`;
  return `[${[step.from, step.to].map((bound) => (bound ? bracketed(bound) : "")).join(":")}]`;
}

/** An expression with all the brackets that its grammar implies. */
function bracketed(node: Expression): string {
  switch (node.kind) {
    case "literal":
      return JSON.stringify(node.value);
    case "name":
      return node.name;
    case "unary":
      return `(${node.operator} ${bracketed(node.of)})`;
    case "operation":
      return `(${node.operands.map(bracketed).join(` ${node.operator} `)})`;
    case "path":
      return bracketed(node.of) + node.accesses.map(bracketedAccess).join("");
    case "conditional":
      return `(${bracketed(node.value)} if ${bracketed(node.test)} else ${bracketed(node.other)})`;
    default:
      return node.kind;
  }
}

describe("operators bind as in Starlark:", () => {
  test.each([
    ["a or b and c", "(a or (b and c))"],
    ["a and b or c", "((a and b) or c)"],
    ["not a and b", "((not a) and b)"],
    ["not a == b", "(not (a == b))"],
    ["not not a in b", "(not (not (a in b)))"],
    ["a not in b and c", "((a not in b) and c)"],
    ["a + b == c + d", "((a + b) == (c + d))"],
    ["a + b + c", "(a + b + c)"],
    ["a + (b + c)", "(a + (b + c))"],
    ["-a + b", "((- a) + b)"],
    ["a - b - c", "(a - b - c)"],
    ["a - b + c", "((a - b) + c)"],
    ["a + b * c // d % e", "(a + (((b * c) // d) % e))"],
    ["-a * b", "((- a) * b)"],
    ["a if b or c else d if e else f", "(a if (b or c) else (d if e else f))"],
    ["a if'b'in'c'or'd'else e", '(a if (("b" in "c") or "d") else e)'],
    ["a + b if c == d else e", "((a + b) if (c == d) else e)"],
    ["a[:b][c:][:][d - e:f]", "a[:b][c:][:][(d - e):f]"],
    ["a.b.lower().c[0].split(',')[-1]", 'a.b.lower().c[0].split(",")[-1]'],
    ["a.get('k')", 'a.get("k")'],
    ["a.get('k', b.find('c'))", 'a.get("k", b.find("c"))'],
    ["-a.b[0]", "(- a.b[0])"],
    ["- -a", "(- (- a))"],
    ["a == b or c != d and not e <= f", "((a == b) or ((c != d) and (not (e <= f))))"],
    ["(a < b) == (c > d)", "((a < b) == (c > d))"],
    ["a.b.c[d.e]['f'].g", 'a.b.c[d.e]["f"].g'],
  ])("%s", (program, expected) => {
    const value = parseProgram(program).statements[0]?.value;
    expect(value && bracketed(value)).toBe(expected);
  });
});
