import { CompletionContext } from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { parseProgram } from "../../../functions/code/interpreter/builtins.ts";
import { playgroundFunctions } from "../../../infra/docs-pages/playground.ts";
import { complete, functionAt } from "../../../infra/docs/playground/completion.ts";
import { ValueShapes, type Catalogue } from "../../../infra/docs/playground/value-shapes.ts";
import "./grammar-modules.ts";

const { codeMode } = await import("../../../infra/docs/playground/language.ts");

const parameter = (name: string, type: string) => ({ name, type, required: name !== "note", description: "" });
const catalogue: Catalogue = {
  functions: [
    { name: "me.get", summary: "The caller", parameters: [], answer: 1 },
    {
      name: "tags.add",
      summary: "Add a tag",
      parameters: [parameter("note", "string"), parameter("name", "string"), parameter("count", "integer")],
      answer: 1,
    },
    {
      name: "tags.list",
      summary: "List tags",
      parameters: [parameter("state", '"open" or "closed"'), parameter("archived", "boolean")],
      answer: 2,
    },
  ],
  builtins: [],
  shapes: [
    null,
    { members: { id: 0, owner: 3 } },
    { members: { items: 4, total: 0 } },
    { members: { email: 0 } },
    { items: 1 },
  ],
};
const shapes = new ValueShapes(catalogue);

/** The state of an editor, and the position of its caret. `|` marks the caret. */
function stateOf(marked: string): { state: EditorState; position: number } {
  const state = EditorState.create({ doc: marked.replace("|", ""), extensions: codeMode });
  return { state, position: marked.indexOf("|") };
}

/** The labels that are offered at `|`, and the word that they replace. */
function offeredAt(marked: string, { explicit = false } = {}) {
  const { state, position } = stateOf(marked);
  const result = complete(new CompletionContext(state, position, explicit), shapes);
  return result && { word: state.sliceDoc(result.from, position), labels: result.options.map(({ label }) => label) };
}

const program = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ..."\"'#()[]{},=. \n\\f;x1".split(""),
        "'''",
        '"""',
        "me.get(",
        "for ",
        "x in ",
        "tags.list(state=",
      ),
      fc.string(),
    ),
  )
  .map((parts) => parts.join("").replaceAll("\r", ""));

test("completion fails at no caret of any text", () => {
  fc.assert(
    fc.property(program, fc.nat(60), fc.boolean(), (text, caret, explicit) => {
      const state = EditorState.create({ doc: text, extensions: codeMode });
      const position = Math.min(caret, state.doc.length);
      const result = complete(new CompletionContext(state, position, explicit), shapes);
      expect(result === null || (result.from <= position && result.options.length > 0)).toBe(true);
      functionAt(state, position, shapes);
    }),
  );
});

const valid = [
  "me.get()",
  "a = 1; b = -2.5e3\n\n# comment\nc = .5",
  'page = tags.list(state="open",\n  archived=True,\n)\n[tag.id for tag in page.items if tag.id != None and not tag.id in []]',
  'x = {"a": [1, 2], \'b\': {}}["a"][0]',
  "dns_records.import(zone='a\\'b')",
  'y = \'\'\'a\n"b\'\'\' + """c\n\'"d""" + f"{y}" + \'\'',
  "z = (1 +\n  2)\nlen([1])",
  "a = 1 not in [1] or not 2 <= 3",
  "a = 1 + \\\n  2",
  "a = [1, 2][0:1] + [3][:] + [4][1:] + [5][:-1]\nb = a[0] if a else 1 - 2 * 3 // 4 % 5 if not a else None",
  "[f'{k}={v.strip()}' for k, v in {'a': ' b '}.items() if v if k.startswith('a')]",
  "x = sorted([1 if a else 2 for a in [0, 1]], reverse=True)[0]\n','.join(['a', str(x)])",
];

test.each(valid)("the tree of a valid program has no errors: %j", (source) => {
  expect(() => parseProgram(source)).not.toThrow();
  const errors: number[] = [];
  syntaxTree(stateOf(source).state).iterate({ enter: ({ type, from }) => void (type.isError && errors.push(from)) });
  expect(errors).toEqual([]);
});

describe("offered are", () => {
  const functions = ["me.get", "tags.add", "tags.list"];
  test.each([
    ["functions", "tags.ad|", { word: "tags.ad", labels: functions }],
    ["variables of the lines before", "a = 1\nb==2; c=3\nx|\nd = 4", { word: "x", labels: ["c", "a", ...functions] }],
    ["functions for a value", "x = tags.add(name=na|)", { word: "na", labels: functions }],
    ["functions in a list", "tags.add(name=[na|", { word: "na", labels: functions }],
    ["functions in parentheses", "(na|", { word: "na", labels: functions }],
    ["functions in the arguments of an unknown function", "tags.remove(na|", { word: "na", labels: functions }],
    ["the names of arguments", "x = tags.add(na|", { word: "na", labels: ["name", "count", "note"] }],
    ["the names behind a call", "tags.add(name=me.get(), |", { word: "", labels: ["count", "note"] }],
    ["the names behind a bracket in a text", 'tags.add(name="(", |', { word: "", labels: ["count", "note"] }],
    [
      "the names that are missing, also behind the caret",
      "tags.add(note=1, |, name=me.get(count=2))",
      { labels: ["count"] },
    ],
    [
      "the names behind a line end and a comment",
      "tags.add(\n  # which\n  |\n)",
      { labels: ["name", "count", "note"] },
    ],
    ["fixed values", "tags.list(state=|)", { word: "", labels: ['"open"', '"closed"'] }],
    ["fixed values between quotes", 'tags.list(state="o|")', { word: "o", labels: ["open", "closed"] }],
    ["fixed values behind a quote", "tags.list(state='|", { word: "", labels: ["open", "closed"] }],
    ["truth values, then all else", "tags.list(archived=T|", { word: "T", labels: ["True", "False", ...functions] }],
    ["members of a result", "me.get().|", { word: "", labels: ["id", "owner"] }],
    ["members of a variable's value", "m = me.get()\nm.owner.em|", { word: "em", labels: ["email"] }],
    ["each variable of a loop", "[va| for value, i in []]", { labels: ["value", "i", ...functions] }],
    ["members of an item of a slice", "p = tags.list()\np.items[0:2][0].|\nx = 1", { labels: ["id", "owner"] }],
    ["members of a conditional's value", "x = None if 1 else me.get()\nx.|", { labels: ["id", "owner"] }],
    ["members of an item", "p = tags.list()\np.items[0].|\nx = 1", { word: "", labels: ["id", "owner"] }],
    ["members by a key", 'tags.list()["items"][0].owner.|', { labels: ["email"] }],
    ["members of a loop's variable", "p = tags.list()\n[t.| for t in p.items]", { labels: ["id", "owner"] }],
    ["members in a loop's clause", "[t for t in tags.list().items if t.|]", { labels: ["id", "owner"] }],
    ["members of a list that is made", "x = [t.owner for t in tags.list().items]\nx[0].|", { labels: ["email"] }],
    ["members of the last value", "x = 1\nx = me.get()\nx.|\nx = 2", { labels: ["id", "owner"] }],
  ])("%s", (_, marked, expected) => expect(offeredAt(marked)).toMatchObject(expected));

  test.each([
    ["in a comment", "# tags.ad|"],
    ["in a text", 'x = "tags.ad|'],
    ["in a text between long quotes", "x = '''a\ntags.ad|\n'''"],
    ["in a text that is an argument", 'tags.add(name="na|'],
    ["in a number", "x = 1e|"],
    ["before a name, unless the user asks", "x = |"],
  ])("nothing %s", (_, marked) => expect(offeredAt(marked)).toBeNull());

  test("functions before a name, if the user asks", () => {
    expect(offeredAt("x = |", { explicit: true })).toEqual({ word: "", labels: functions });
  });
});

test.each([
  ["tags.add(name=|", "tags.add"],
  ["tags.add(name=me.get(|), note=1)", "me.get"],
  ["tags.add(name=[|1])", undefined],
  ["tags.add()|", undefined],
  ["|tags.add()", undefined],
])("the function whose arguments are written at %s is %s", (marked, name) => {
  const { state, position } = stateOf(marked);
  expect(functionAt(state, position, shapes)?.name).toBe(name);
});

describe("builtins are offered with their forms:", () => {
  const known = new ValueShapes(playgroundFunctions());
  test.each([
    ["functions where a value begins", "x = sor|", "sorted", "sorted(xs, key=?, reverse=?)"],
    ["methods of texts for a value of no known shape", "x = 'a'\nx.lo|", "lower", "text.lower()"],
    ["methods of lists", "p = accounts.list()\nsorted(p.items, key='name').co|", "count", "xs.count(item)"],
    ["methods of dicts", "x = me.get()\nx.ge|", "get", "d.get(key, otherwise?)"],
  ])("%s", (_, marked, label, detail) => {
    const { state, position } = stateOf(marked);
    const offered = complete(new CompletionContext(state, position, false), known)?.options ?? [];
    expect(offered).toContainEqual(expect.objectContaining({ label, detail }));
    // The offered methods are all of the same kind of value. Where a value begins, no methods are offered.
    const kinds = offered.flatMap((one) => /^(text|xs|d)\./.exec(one.detail ?? "")?.[1] ?? []);
    const isMethod = detail.includes(".");
    expect(new Set(kinds).size).toBe(isMethod ? 1 : 0);
  });
});

test("the catalogue has the shape of every result", () => {
  const known = playgroundFunctions();
  for (const { name, answer } of known.functions) expect(known.shapes[answer], name).toBeDefined();
  const { state, position } = stateOf("accounts.list().items[0].|");
  const offered = complete(new CompletionContext(state, position, false), new ValueShapes(known));
  expect(offered?.options.map(({ label }) => label)).toContain("name");
});
