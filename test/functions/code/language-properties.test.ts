import * as fc from "fast-check";
import { expect, test } from "vitest";

import { catalogue } from "../../../functions/code/catalogue.ts";
import { literalValue } from "../../../functions/code/checker/arguments.ts";
import { check } from "../../../functions/code/checker/checker.ts";
import { explain } from "../../../functions/code/execution/diagnostics.ts";
import { parseProgram } from "../../../functions/code/interpreter/builtins.ts";
import { LanguageError, type Diagnostic } from "../../../functions/code/language/errors.ts";
import { pieces } from "../../support/code-programs.ts";

/** The mistakes in a program. Throws any error that is not the language's own. */
function mistakesIn(program: string): Diagnostic[] {
  try {
    return check(parseProgram(program), { catalogue }).diagnostics;
  } catch (error) {
    if (error instanceof LanguageError) return [error.diagnostic];
    throw error;
  }
}

const sound = `accounts.list(status="active", page=1, page_size=10) # first
workspaces.add(account_id='3f2504e0-4f89-41d3-9a0c-0305e82c3301', name="""Sales "and" \\u00e9""",); me.get()
workspaces.list(
  account_id="3f2504e0-4f89-41d3-9a0c-0305e82c3301",
  page_size=100,
)
`;

const soup = fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: "binary", maxLength: 5 })), {
  maxLength: 60,
});

/** A program without a mistake, in which a part is replaced by something else. */
const spoiled = fc
  .tuple(fc.nat(300), fc.nat(20), soup)
  .map(([at, length, parts]) => sound.slice(0, at) + parts.slice(0, 3).join("") + sound.slice(at + length));
const programs = fc.oneof(
  soup.map((parts) => parts.join("")),
  spoiled,
);

test("the program from which the damaged programs are made has no mistake", () => {
  expect(mistakesIn(sound)).toEqual([]);
});

test("random programs have only errors of the language, each at a place inside the program", () => {
  fc.assert(
    fc.property(programs, (program) => {
      const lines = program.split(/\r\n|\r|\n/);
      for (const { at, message, code } of mistakesIn(program)) {
        expect(message).not.toBe("");
        expect(code).toMatch(/^[a-z_]+$/);
        expect(at.line).toBeLessThanOrEqual(lines.length);
        expect(at.column).toBeLessThanOrEqual(Array.from(lines[at.line - 1] ?? "").length + 1);
      }
    }),
    { numRuns: 5_000 },
  );
});

/** Names that no argument and no variable can have: constants, and words that the language or Starlark reserves. */
const reserved = new Set(
  `constructor prototype none true false null and or not in for if else load break continue def pass elif return lambda
  while as assert async await class del except finally from global import is nonlocal raise try with yield`.split(
    /\s+/,
  ),
);
const word = fc.stringMatching(/^[a-z][a-z_0-9]{0,8}$/).filter((name) => !reserved.has(name));

/** A literal's source text, in any of the language's forms, with the value it stands for. */
type Printed = { text: string; value: unknown };

const escapesOf: Record<string, string> = { "\\": "\\\\", '"': '\\"', "'": "\\'", "\n": "\\n", "\r": "\\r" };
const quoted = (value: string, quotes: string, raw: boolean): string =>
  quotes +
  Array.from(value, (char) => {
    const point = char.codePointAt(0) ?? 0;
    if (escapesOf[char] !== undefined) return escapesOf[char];
    if (raw) return char;
    return point > 0xffff ? `\\U${point.toString(16).padStart(8, "0")}` : `\\u${point.toString(16).padStart(4, "0")}`;
  }).join("") +
  quotes;

const string = fc
  .tuple(fc.string({ unit: "grapheme" }), fc.constantFrom('"', "'", '"""', "'''"), fc.boolean())
  .map(([value, quotes, raw]): Printed => ({ text: quoted(value, quotes, raw), value }));
const number = fc
  .oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true }))
  .filter((value) => !Number.isInteger(value) || Number.isSafeInteger(value))
  .map((value): Printed => ({ text: String(value), value: value + 0 }));
const constant = fc.constantFrom<Printed>(
  ...["True", "true"].map((text) => ({ text, value: true })),
  ...["False", "false"].map((text) => ({ text, value: false })),
  ...["None", "null"].map((text) => ({ text, value: null })),
);
const { literal } = fc.letrec<{ literal: Printed; list: Printed; dict: Printed }>((tie) => ({
  literal: fc.oneof({ maxDepth: 5 }, string, number, constant, tie("list"), tie("dict")),
  list: fc.array(tie("literal"), { maxLength: 4 }).map((items) => ({
    text: `[${items.map(({ text }) => text).join(",\n ")}]`,
    value: items.map(({ value }) => value),
  })),
  dict: fc.uniqueArray(fc.tuple(word, tie("literal")), { selector: ([key]) => key, maxLength: 4 }).map((members) => ({
    text: `{${members.map(([key, { text }]) => `'${key}' : ${text},`).join(" # comment\n")}}`,
    value: Object.fromEntries(members.map(([key, { value }]) => [key, value])),
  })),
}));

/** The first argument of a program that is one call. */
function argumentIn(program: string) {
  const value = parseProgram(program).statements[0]?.value;
  return value?.kind === "call" ? value.args[0] : undefined;
}

/** A copy of a value in which dicts have the usual prototype, and negative zero is zero. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test("a printed literal parses back to itself", () => {
  fc.assert(
    fc.property(word, literal, (name, { text, value }) => {
      const argument = argumentIn(`f(${name}=${text})`);
      expect(argument?.name).toBe(name);
      expect(argument && plain(literalValue(argument.value).value)).toEqual(plain(value));
    }),
    { numRuns: 2_000 },
  );
});

test("a JSON text is a literal of the same value, so a program can be made with a JSON printer", () => {
  // The language refuses some keys, and integers beyond 2^53 - 1.
  const json = fc.jsonValue().filter((value) => {
    const text = JSON.stringify(value);
    return !/__proto__|constructor|prototype/.test(text) && !/\d{16}/.test(text);
  });
  fc.assert(
    fc.property(json, (value) => {
      const argument = argumentIn(`f(x=${JSON.stringify(value)})`);
      expect(argument && plain(literalValue(argument.value).value)).toEqual(plain(value));
    }),
    { numRuns: 2_000 },
  );
});

test("lists and dicts that are nested too deep are refused with `nesting_too_deep`", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("[", '{"k":', "[0,", '{"a":1,"b":'), { minLength: 32, maxLength: 2_000 }),
      (opened) => {
        expect(mistakesIn(`f(x=${opened.join("")}`)).toMatchObject([{ code: "nesting_too_deep" }]);
      },
    ),
  );
});

test("an explanation names the place of the mistake, and has a line with a caret", () => {
  fc.assert(
    fc.property(programs, (program) => {
      const [first, ...others] = mistakesIn(program);
      if (!first) return;
      const { message, line, column } = explain([first, ...others], program, catalogue);
      expect({ line, column }).toEqual(first.at);
      expect(message).toContain(`\nline ${line}, column ${column}:\n`);
      expect(message.split(/\r\n|\r|\n/).some((shown) => /^[ \t]*\^$/.test(shown))).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});
