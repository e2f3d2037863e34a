import fc from "fast-check";
import { describe, expect, test } from "vitest";

type Place = {
  word: string;
  start: number;
  openText: string | undefined;
  wantsName: boolean;
  call?: { name: string; given: Set<string> };
};
const file: string = "../../../infra/docs/playground-text.js";
const { placeAt, tokensOf, variablesOf } = (await import(file)) as {
  tokensOf: (text: string) => { kind: string; text: string; at: number }[];
  placeAt: (text: string, caret: number) => Place | undefined;
  variablesOf: (text: string) => Set<string>;
};

/** The place of the caret in a text, which `|` stands for. */
const place = (marked: string): Place | undefined => placeAt(marked.replace("|", ""), marked.indexOf("|"));

const program = fc
  .array(fc.oneof(fc.constantFrom(..."\"'#()[]{},=. \n\\f;x1".split(""), "'''", '"""', "me.get(", "for "), fc.string()))
  .map((parts) => parts.join(""));

test("the parts of any text are that text, painted whole", () => {
  fc.assert(
    fc.property(program, (text) => {
      const tokens = tokensOf(text);
      expect(tokens.map((token) => token.text).join("")).toBe(text);
      for (const token of tokens) expect(text.slice(token.at, token.at + token.text.length)).toBe(token.text);
    }),
  );
});

test("there is a place at every caret of any text", () => {
  fc.assert(
    fc.property(program, fc.nat(60), (text, caret) => {
      const found = placeAt(text, Math.min(caret, text.length));
      expect(found === undefined || found.start >= 0).toBe(true);
    }),
  );
});

describe("at the caret", () => {
  test.each([
    ["a function", "workspaces.ad|", { word: "workspaces.ad", start: 0, wantsName: false }],
    ["behind a dot", "workspaces.|", { word: "workspaces." }],
    ["an argument's name", "x = tags.add(na|", { word: "na", wantsName: true, call: { name: "tags.add" } }],
    ["a value", "tags.add(name=na|)", { word: "na", wantsName: false, call: { name: "tags.add" } }],
    ["a value in a list", "tags.add(name=[na|", { word: "na", wantsName: false, call: undefined }],
    ["the name after a call inside", "a.b(x=c.d(y=1), |", { word: "", wantsName: true, call: { name: "a.b" } }],
    ["a text in a call", 'tags.add(name="na|', { openText: '"na', call: { name: "tags.add" } }],
    ["behind a text", 'tags.add(name="na"|', { openText: undefined }],
    ["a bracket in a text", 'tags.add(name="(", |', { wantsName: true, call: { name: "tags.add" } }],
    ["grouping brackets", "(na|", { wantsName: false, call: undefined }],
  ])("there is %s", (_, marked, expected) => expect(place(marked)).toMatchObject(expected));

  test("there is nothing in a comment", () => expect(place("# tags.ad|")).toBeUndefined());

  test("the arguments that were given are known, before it and behind it", () => {
    expect(place("a.b(x=1, |, z=c.d(q=2), y=3)\ne.f(w=1)")?.call?.given).toEqual(new Set(["x", "y", "z"]));
  });
});

test("variables are what lines give a value", () => {
  expect(variablesOf("a = 1\nb==2; c=3\nf(d=4)")).toEqual(new Set(["a", "c"]));
});
