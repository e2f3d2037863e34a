import { readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { catalogue } from "../../../functions/code/catalogue.ts";
import { formOf } from "../../../functions/code/interpreter/builtin.ts";
import { builtinMethods, builtins, missingBuiltins } from "../../../functions/code/interpreter/builtins.ts";
import { isRight, valueOf } from "../../support/toy-functions.ts";

/** The error of a program that is refused, or that fails when it runs: `line:column code message`. */
const failureOf = (program: string): Promise<string> =>
  valueOf(program).then(
    (value) => `no failure, but ${JSON.stringify(value)}`,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test("docs/code-mode.md has each builtin and method, and no other, in its table of the language", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/code-mode.md"), "utf8");
  const rows = page.match(/^\| (?:builtins|methods of \w+) .*$/gm)?.join("\n") ?? "";
  const forms = [...rows.matchAll(/`([^`]+)`/g)].map(([, form]) => form);
  expect(forms).toEqual([...builtins.values(), ...builtinMethods.values()].map(formOf));
});

test("no function of the API ends with the name of a method, except `get`", () => {
  const clashing = [...catalogue.keys()].filter((name) => builtinMethods.has(name.slice(name.lastIndexOf(".") + 1)));
  expect(clashing.filter((name) => !name.endsWith(".get"))).toEqual([]);
});

test.each([...missingBuiltins])(
  "%s(), which is not a builtin, is refused with a hint at what to write instead",
  async (name, hint) => {
    expect(builtins.has(name)).toBe(false);
    for (const program of [`${name}([1])`, `xs = [1]\n${name}(x for x in xs)`]) {
      expect(await failureOf(program)).toContain(hint);
    }
  },
);

test("the hint for `type`, which nothing replaces, lists all builtins", () => {
  for (const builtin of builtins.values()) expect(missingBuiltins.get("type")).toContain(formOf(builtin));
});

describe("an expression with builtins and methods has this value:", () => {
  test.each([
    ["len('h\\U0001f600')", 2],
    ["len([1, 2]) + len({'a': 1}) + len('')", 3],
    ["len(notes.get(id='a/b').tags)", 2],
    ["[i for i in range(3)]", [0, 1, 2]],
    ["[i for i in range(-1)]", []],
    ["[range(1, 4), range(5, 0, -2), range(3, 3)]", [[1, 2, 3], [5, 3, 1], []]],
    ["[i for i in range(len(notes.get(id='a/b').tags))]", [0, 1]],
    ["str(['\\x01\\u0085'])", '["\\x01\\u0085"]'],
    ["sum([])", 0],
    ["sum([1, 2.5, -3])", 0.5],
    ["x = None\n(x and sum([x])) == None", true],
    ["sum([n.number for n in notes.list(page_size=3).items])", 6],
    ["[min([3, 1, 2]), max(3, 1), min('b', 'a'), max({'a': 1, 'b': 2})]", [1, 3, "a", "b"]],
    [
      "[sorted([3, 1, 2]), sorted(['b', 'a'], reverse=True), sorted({'b': 1, 'a': 2}), sorted([])]",
      [[1, 2, 3], ["b", "a"], ["a", "b"], []],
    ],
    ["sorted(['\\U0001f600', '\\uffff'])", ["\uffff", "\u{1f600}"]],
    ["[x.k for x in sorted([{'n': 2, 'k': 'a'}, {'n': 1, 'k': 'b'}, {'n': 2, 'k': 'c'}], key='n')]", ["b", "a", "c"]],
    [
      "[x.k for x in sorted([{'n': 2, 'k': 'a'}, {'n': 1, 'k': 'b'}, {'n': 2, 'k': 'c'}], key='n', reverse=true)]",
      ["a", "c", "b"],
    ],
    ["sorted(notes.list(page_size=3).items, key='id', reverse=True)[0].id", "n2"],
    [
      "[reversed([1, 2]), reversed({'a': 1, 'b': 2})]",
      [
        [2, 1],
        ["b", "a"],
      ],
    ],
    ["[any([]), any([0, 'x']), all([]), all([1, ''])]", [false, true, true, false]],
    [
      "[enumerate(['a', 'b']), enumerate(['a'], 5)]",
      [
        [
          [0, "a"],
          [1, "b"],
        ],
        [[5, "a"]],
      ],
    ],
    ["[f'{i}{n.id}' for i, n in enumerate(notes.list(page_size=2).items)]", ["0n0", "1n1"]],
    [
      "[zip([1, 2, 3], ['a', 'b']), zip()]",
      [
        [
          [1, "a"],
          [2, "b"],
        ],
        [],
      ],
    ],
    ["[a + b for a, b in zip([1, 2], [3, 4])]", [4, 6]],
    ["[str('a'), str(1.5), str(True), str(None), str([1, 'a\"\\n'])]", ["a", "1.5", "True", "None", '[1, "a\\"\\n"]']],
    ["str({'a': [None, False]})", '{"a": [None, False]}'],
    ["[int('-12'), int(1.9), int(-1.9), int(True)]", [-12, 1, -1, 1]],
    ["[float('12.50'), float('-1e2'), float('.5'), float(False)]", [12.5, -100, 0.5, 0]],
    ["[bool([]), bool('0')]", [false, true]],
    ["[list(), list([1]), list({'a': 1}), list(range(2))]", [[], [1], ["a"], [0, 1]]],
    ["[dict(), dict([['a', 1], ['a', 2]]), dict({'b': 3})]", [{}, { a: 2 }, { b: 3 }]],
    ["['abc'.startswith('ab'), 'abc'.endswith('ab'), ''.startswith('')]", [true, false, true]],
    ["['aÉ'.lower(), 'aé'.upper()]", ["aé", "AÉ"]],
    ["['éva LUISE'.capitalize(), ''.capitalize(), '1A'.capitalize()]", ["Éva luise", "", "1a"]],
    ["['hello WORLD of él-2nd'.title(), ''.title()]", ["Hello World Of Él-2Nd", ""]],
    ["['中a b'.title(), 'ªb'.title()]", ["中A B", "ªB"]],
    ["[' a b\\n'.strip(), 'xxaxbyx'.strip('xy'), '\\u00a0\\U0001f600\\u2003'.strip()]", ["a b", "axb", "\u{1f600}"]],
    ["' a '.strip('')", " a "],
    ["[' a  b '.split(), 'a,b,'.split(','), ''.split(), ''.split(',')]", [["a", "b"], ["a", "b", ""], [], [""]]],
    ["[', '.join(['a', 'b']), ''.join([]), '-'.join({'a': 1, 'b': 2})]", ["a, b", "", "a-b"]],
    ["['aXbX'.replace('X', ''), 'aaa'.replace('aa', 'b')]", ["ab", "ba"]],
    ["['\\U0001f600b'.find('b'), 'abc'.find(''), 'abc'.find('x')]", [1, 0, -1]],
    [
      "d = {'a': 1, 'b': [2]}\n[d.items(), d.keys(), d.values()]",
      [
        [
          ["a", 1],
          ["b", [2]],
        ],
        ["a", "b"],
        [1, [2]],
      ],
    ],
    ["d = {'a': 1, 'b': None}\n[d.get('a'), d.get('b', 2), d.get('c'), d.get('c', 3)]", [1, null, null, 3]],
    ["[f'{k}={v}' for k, v in {'a': 1, 'b': 2}.items()]", ["a=1", "b=2"]],
    ["[k for k in {'a': 1, 'b': 2}]", ["a", "b"]],
    ["[x for x, x in [[1, 2]]]", [2]],
    ["[['a', 'b', 'a'].index('a'), ['a', 'b', 'a'].count('a'), [[1]].index([1])]", [0, 2, 0]],
    ["notes.get(id='a/b').text.upper().split(' ')[-1].strip('/')", "A/B"],
    ["notes = {'a': 1}\n[notes.get('a'), notes.get(id='b').id]", [1, "b"]],
  ])("%s", async (program, value) => {
    expect(plain(await valueOf(program))).toEqual(value);
  });
});

describe("a mistake that the checker can find is reported before the run, at its place:", () => {
  test.each([
    ["len(1)", "1:5 type_error len takes a text, a list or a dict, not a number."],
    ["len([1] == 1)", "1:5 type_error len takes a text, a list or a dict, not a boolean."],
    ["len()", "1:1 missing_argument len needs more values: it is len(x)."],
    ["range()", "range(n, stop?, step?), which counts from 0 to n - 1, or from n to stop - 1."],
    ["len('a', 'b')", "1:10 unknown_argument len takes fewer values: it is len(x)."],
    ["len(x=[1])", "1:5 unknown_argument len has no argument x: it is len(x)."],
    [
      "sorted([1], revers=True)",
      "1:13 unknown_argument sorted has no argument revers: it is sorted(xs, key=?, reverse=?). Did you mean reverse?",
    ],
    ["sorted([1], 'a')", "1:13 unknown_argument sorted takes fewer values"],
    ["[i for i in range('3')]", "1:19 type_error range takes a whole number, not a string."],
    ["[i for i in range(-1.5)]", "1:19 type_error range takes a whole number, not -1.5."],
    ["[i for i in range(200001)]", "1:19 too_much_work The program takes more than 200000 steps"],
    ["range(0, 200001, 1)", "too_much_work"],
    ["range(1, 2, 0)", "1:13 value_error The step of a range cannot be 0."],
    ["sum('12')", "1:5 type_error sum takes a list of numbers, not a string."],
    [
      "sum(['1'])",
      "1:5 type_error sum takes a list of numbers, and an item is a string: convert it with float, as in sum([float(x) for x in xs]).",
    ],
    [
      "sum(notes.get(id='a').tags)",
      "1:5 type_error sum takes a list of numbers, and an item is a string: convert it with float, as in sum([float(x) for x in xs]).",
    ],
    ["[x for x in len([])]", "1:13 type_error A comprehension goes over a list, and the value is a number."],
    ["min(1)", "1:5 type_error min takes a list, or several values, not a number."],
    [
      "sorted(notes.list(page_size=2))",
      "1:8 type_error notes.list(…) is a page: its items are in notes.list(…).items.",
    ],
    ["len(notes.list(page_size=2))", "1:5 type_error notes.list(…) is a page"],
    [
      "p = notes.list(page_size=2)\n[k for k, v in p.items()]",
      "2:18 type_error p is a page: its items are in p.items, without the brackets.",
    ],
    [
      "sorted(notes.list(page_size=2).items, key='nmber')",
      "1:43 no_such_member An item has no member nmber. Did you mean number?",
    ],
    [
      "[n.idd for i, n in enumerate(notes.list(page_size=2).items)]",
      "1:4 no_such_member n has no member idd. Did you mean id?",
    ],
    ["[a for a, b, c in enumerate([1])]", "1:19 type_error An item has 2 values, and the `for` takes 3."],
    ["', '.join([1])", "join takes a list of texts, and an item is a number: write `[str(x) for x in xs]`."],
    ["notes.get(id='a').tags.lower()", "1:24 type_error lower is a method of texts, not of a list."],
    ["notes.get(id='a').text.items()", "items is a method of dicts, not of a string."],
    ["'a'.lower('b')", "unknown_argument lower takes fewer values: it is text.lower()."],
    [
      "x = 'a'\nx.find(part='a')",
      "2:1 unknown_function x is a value, not a function. Call its method as text.find(part), without names for the arguments.",
    ],
    [
      "notes.get('a')",
      "1:11 positional_argument notes.get takes its arguments by name, as `name=value`. Write `id=…`.",
    ],
    ["x = 'a'\nx.toLowerCase()", "2:1 unknown_function Write `x.lower()`."],
    [
      "'%s' % 'a'",
      "1:1 type_error `%` takes two whole numbers, not a string and a string. Put values in a text by an f-string",
    ],
    ["'a' - 1", "1:1 type_error `-` takes two numbers, not a string and a number."],
    [
      "[1] * 'a'",
      "1:1 type_error `*` takes two numbers, or a text or list and a whole number, not a list and a string.",
    ],
    ["{'a': 1}[0:1]", "1:9 no_such_member the dict is a dict"],
    ["[1]['a':]", "1:5 type_error An index is a whole number or a key, not a string."],
  ])("%s", async (program, message) => {
    expect(isRight(program)).toBe(false);
    expect(await failureOf(program)).toContain(message);
  });
});

describe("a mistake that only the run can find fails at its place:", () => {
  const echo = (value: string) => `notes.echo(value=${value})`;
  test.each([
    [`len(${echo("1")})`, "1:5 type_error len takes a text, a list or a dict, not a number."],
    ["len(notes.get(id='a').parent)", "1:5 type_error len takes a text, a list or a dict, not a null."],
    [`sum(${echo("1")})`, "1:5 type_error sum takes a list of numbers, not a number."],
    [`sum(${echo("[1, None]")})`, "1:5 type_error sum takes a list of numbers, and an item is a null."],
    [
      "sum([9007199254740991, 1])",
      "1:1 value_error This sum is out of range: integers go from -9007199254740991 to 9007199254740991 (2^53 - 1).",
    ],
    [`[i for i in range(${echo("0.5")})]`, "1:19 type_error range takes a whole number, not 0.5."],
    [`[i for i in range(${echo("'1'")})]`, "1:19 type_error range takes a whole number, not a string."],
    [`[i for i in range(${echo("1000000000")})]`, "1:19 too_much_work The program takes more than"],
    [`range(1, 2, ${echo("0")})`, "1:13 value_error The step of a range cannot be 0."],
    ["min([])", "1:5 value_error min takes a list, or several values, but not an empty list."],
    ["max([1, 'a'])", "1:1 type_error Only two numbers or two texts can be put in order"],
    [
      "sorted([1, 2, 'a'])",
      "1:8 type_error Only two numbers or two texts can be put in order, not a number and a string. `float(x)` is the number in a text. Here item 2 is a string.",
    ],
    ["sorted([True, False])", "Here item 0 is a boolean."],
    [
      `sorted(${echo("[{'n': 1}, {'n': None}]")}, key='n')`,
      "Here the n of item 1 is a null. Leave it out, `[x for x in xs if x.n != None]`.",
    ],
    [`sorted(${echo("[{'n': 1}, {'m': 1}]")}, key='n')`, "no_such_member item 1 has no member n."],
    [
      `sorted(${echo("{'items': [1]}")})`,
      "1:8 type_error notes.echo(…) is a page: its items are in notes.echo(…).items.",
    ],
    [`[x for x, y in ${echo("[[1]]")}]`, "1:16 type_error The names x, y take lists of 2, and an item is a list of 1."],
    ["int('1.5')", '1:5 value_error int reads a whole number written in digits, and this is "1.5".'],
    [
      "int('9007199254740992')",
      "1:5 value_error Integers end at 9007199254740991 (2^53 - 1): keep this one as a text.",
    ],
    ["float('nan')", '1:7 value_error float reads a number written in digits, and this is "nan".'],
    ["dict([['a']])", "1:6 value_error dict takes a list of `[key, value]`."],
    ["dict([[1, 2]])", "1:6 type_error A key of a dict is a text, not a number."],
    ["dict([['__proto__', 2]])", "The name __proto__ is not allowed."],
    ["{'a': 1}.get('constructor')", "The name constructor is not allowed."],
    ["'a'.split('')", "1:11 value_error split takes a separator that is not empty."],
    ["'a'.replace('', 'b')", "1:13 value_error replace takes an old text that is not empty."],
    ["[1].index(2)", "1:5 value_error index finds no such item: ask `item in xs` first."],
    [`', '.join(${echo("['a', 1]")})`, "join takes a list of texts, and an item is a number"],
    [`${echo("1")}.lower()`, "1:21 type_error lower is a method of texts, not of a number."],
    [`${echo("1")}[0:1]`, "type_error Only a list or a text can be sliced, and notes.echo(…) is a number."],
    [`[1][${echo("'a'")}:]`, "1:5 type_error An index is a whole number or a key, not a string."],
    ["1 // 0", "1:1 value_error `//` cannot divide by 0."],
    ["1 % 0", "1:1 value_error `%` cannot divide by 0."],
    ["7.5 // 2", "1:1 type_error `//` takes two whole numbers, not 7.5."],
    [
      "9007199254740991 * 2",
      "1:1 value_error This product is out of range: integers go from -9007199254740991 to 9007199254740991 (2^53 - 1).",
    ],
    [
      "-9007199254740991 - 1",
      "1:1 value_error This difference is out of range: integers go from -9007199254740991 to 9007199254740991 (2^53 - 1).",
    ],
    ["1.5 * float('1e308') * 1.5", "1:1 value_error This product is out of range: numbers go from -1.79"],
    ["'a' * 1.5", "1:1 type_error A text or list is repeated a whole number of times, not 1.5 times."],
  ])("%s", async (program, message) => {
    expect(isRight(program)).toBe(true);
    expect(await failureOf(program)).toContain(message);
  });
});

describe("a program fails at the limit of steps or of the size of a value:", () => {
  const text = `t = '${"x".repeat(60_000)}'\n`;
  const long = `${text}${"t = t + t\n".repeat(5)}`;
  const numbers = "xs = [i for i in range(900)]\n";
  test.each([
    ["the length of a text", `${text}[len(t) for i in range(100)]`],
    ["a sum", `${numbers}[sum(xs) for j in range(220)]`],
    ["ranges", "[range(600) for j in range(400)]"],
    ["a repeated text", "'a' * 10000000000"],
    ["a text repeated by a text", `${long}t * 1000`],
    ["a repeated list", "[1] * 1000000"],
    ["a list repeated in a list", "x = [[1] * 1000] * 1000\n[x] * 100"],
    ["sorting", "xs = range(30000)\n[sorted(xs), sorted(xs)]"],
    ["sorting long texts", `${text}[sorted([t, t, t]) for i in range(20)]`],
    ["reversing", `${numbers}[reversed(xs) for i in range(220)]`],
    ["copies", `${numbers}[list(xs) for i in range(220)]`],
    ["enumerate", `${numbers}[enumerate(xs) for i in range(60)]`],
    ["zips", `${numbers}[zip(xs, xs, xs) for i in range(60)]`],
    ["min", `${numbers}[min(xs) for i in range(220)]`],
    ["any", `xs = [0] * 900\n[any(xs) for i in range(220)]`],
    ["searching", `${text}[t.find(t + 'b') for i in range(9)]`],
    ["counting", "xs = [0] * 900\n[xs.count(1) for i in range(220)]"],
    ["a list as a text", `${numbers}[str(xs) for i in range(1000)]`],
    ["a replacement with a huge result", `${text}t.replace('x', t)`],
    ["a join with a huge result", `${text}t.join(['a'] * 1000)`],
    ["a join of a text again and again", `${text}''.join([t] * 1000)`],
    ["a split with a huge result", `${long}t.split('x')`],
    ["stripping", `${text}[t.strip() for i in range(20)]`],
    ["stripping many characters", `${text}['a'.strip(t) for i in range(20)]`],
    ["upper case", `${text}[t.upper() for i in range(60)]`],
    ["slices", `${numbers}[xs[1:] for i in range(220)]`],
    ["slices of a text", `${text}[t[1:] for i in range(60)]`],
    ["short slices of a text", `${text}[t[0:1] for i in range(300)]`],
    ["items of a text", `${text}[t[0] for i in range(20)]`],
    ["copies of a dict", "d = dict([[str(i), i] for i in range(900)])\n[len(dict(d)) for j in range(220)]"],
    ["keys of a dict", "d = dict([[str(i), i] for i in range(900)])\n[zip(d, []) for j in range(220)]"],
    ["a number with many digits", `t = '${"1".repeat(60_000)}'\n[float('1.' + t) for i in range(60)]`],
    ["a dict of many pairs", "[dict([[str(i), i] for i in range(900)]) for j in range(60)]"],
    ["the items of a dict", "d = dict([[str(i), i] for i in range(900)])\n[d.items() for j in range(80)]"],
  ])("%s", async (_, program) => {
    expect(await failureOf(program)).toMatch(/^\d+:\d+ (?:too_much_work|value_too_large) /);
  });
});

test.each(["float('1' * 900000 + 'x')", "float('1' * 200000 + '.' + '1' * 200000 + 'e')", "int('1' * 900000 + 'x')"])(
  "a long text that is not a number is refused: %s",
  async (program) => {
    expect(await failureOf(program)).toMatch(/^1:\d+ value_error /);
  },
);
