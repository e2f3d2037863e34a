import { describe, expect, test } from "vitest";

import { isPartlyUnknown, unknownValue } from "../../../functions/code/interpreter/values.ts";
import { valueOf } from "../../support/toy-functions.ts";

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const failure = async (program: string): Promise<string> => {
  try {
    return `no failure, but ${JSON.stringify(await valueOf(program))}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

describe("an expression has this value:", () => {
  test.each([
    ["not [] and not {} and not '' and not 0 and not None and not False", true],
    ["[0] and {'a': 0} and 'x' and -1", -1],
    ["0 or '' or [] or 'last'", "last"],
    ["1 and 0 or 2", 2],
    ["not 1 == 2", true],
    ["(not 1) == 2", false],
    ["1 == 1.0", true],
    ["True == 1", false],
    ["[1, {'a': [2]}] == [1, {'a': [2]}]", true],
    ["{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", true],
    ["{'a': 1} != {'a': 2}", true],
    ["'a' < 'b' and 'a' < 'aa' and 1 <= 1 and 2 > 1 and 'b' >= 'a'", true],
    ["'\\uffff' < '\\U0001f600'", true],
    ["2 in [1, 2] and 3 not in [1, 2]", true],
    ["'k' in {'k': 1} and 'v' not in {'k': 'v'}", true],
    ["'ell' in 'hello'", true],
    ["1 + 2 + -3.5", -0.5],
    ["'a' + 'b' + 'c'", "abc"],
    ["[1] + [2] + []", [1, 2]],
    ["-(1 + 2)", -3],
    ["- -1", 1],
    ["[1, 2, 3][-1] + [1, 2, 3][0]", 4],
    ["{'a': {'b': [7]}}.a['b'][0]", 7],
    ["[x for x in [1, 2, 3] if x > 1]", [2, 3]],
    ["[i + 1 for i in range(3)]", [1, 2, 3]],
    ["[f'{a}{b}' for a in ['x', 'y'] for b in range(2) if a != 'x' or b == 1]", ["x1", "y0", "y1"]],
    ["[[y for y in [x, x]] for x in [1]]", [[1, 1]]],
    ["f\"{'a'}-{1}-{1.5}-{True}-{{}}\"", "a-1-1.5-True-{}"],
    ["f'''{ {\"k\": \"v\"}['k'] } {[1,\n2][1]}'''", "v 2"],
    ["f'\\n{1}\\t'", "\n1\t"],
    ['f\'{None}: {[1, None, "a"]} {{}} { {"a": [True]} }\'', 'None: [1,null,"a"] {} {"a":[true]}'],
    ["{'a': 1, f'{\"b\"}': 2}", { a: 1, b: 2 }],
    ["(1)", 1],
    ["true == True and null == None", true],
  ])("%s", async (program, value) => {
    expect(plain(await valueOf(program))).toEqual(value);
  });
});

describe("an invalid operation is reported with its place and the value's members:", () => {
  const note = "x = notes.get(id='a/b')\n";
  const page = "x = notes.echo(value={'items': []})\n";
  test.each([
    [
      "'a' + 1",
      '1:1 type_error `+` takes two numbers, two texts or two lists, not a string and a number. Put values in a text by an f-string, f"{x}".',
    ],
    ["[1] < [2]", "1:1 type_error Only two numbers or two texts can be put in order, not a list and a list."],
    [
      "1 < 'a'",
      "1:1 type_error Only two numbers or two texts can be put in order, not a number and a string. `float(x)` is the number in a text.",
    ],
    [
      "1 in 2",
      "1:1 type_error `in` looks for an item in a list, a key in a dict or a text in a text, not for a value in a number.",
    ],
    ["-'a'", "1:1 type_error `-` takes a number, not a string."],
    ["[x for x in 'abc']", "1:13 type_error A comprehension goes over a list, and the value is a string."],
    ["{f'{1}': 1, '1': 2}", '1:13 type_error The key "1" is given twice.'],
    [
      "9007199254740991 + 1",
      "1:1 value_error This sum is out of range: integers go from -9007199254740991 to 9007199254740991 (2^53 - 1).",
    ],
    [`${note}x.tags[5]`, "2:7 no_such_member x.tags has items 0 to 1: there is no item 5."],
    [`${note}x.tags[0 + 5]`, "2:7 no_such_member x.tags has items 0 to 1: there is no item 5."],
    ["['a'][-2]", "1:6 no_such_member the list has items 0 to 0: there is no item -2."],
    ["[][0]", "1:3 no_such_member the list is empty: there is no item 0."],
    ["x = notes.get(id='a')\nx.parent.id", "2:10 no_such_member x.parent is a null, which has no member id."],
    ["x = {'name': 1}\nx.nam", "2:3 no_such_member x has no member nam. Did you mean name? It has: name."],
    [
      "x = notes.echo(value={'name': 1})\nx.nam",
      "2:3 no_such_member x has no member nam. Did you mean name? It has: name.",
    ],
    [
      "x = notes.echo(value={'name': 1})\nx.quota",
      '2:3 no_such_member x has no member quota. It has: name. If the member may be missing, test `"quota" in x` first.',
    ],
    ["x = [{'a': 1}]\nx.a", "2:3 no_such_member x is a list: write x[0].a, or [x.a for x in x]."],
    ["x = {'a': 1}\nx[0]", "2:2 no_such_member x is a dict, which has no item 0."],
    [`${page}x[0]`, "2:2 no_such_member x is a page: its items are in x.items."],
    [`${page}x[:1]`, "2:2 type_error x is a page: its items are in x.items."],
    [
      `${page}x + x`,
      "2:1 type_error `+` takes two numbers, two texts or two lists, not a dict and a dict. The items of a page are in its member items: `a.items + b.items`.",
    ],
    ["x = notes.echo(value={'a': 1})\nx[1.5]", "2:2 no_such_member An index is a whole number or a key, not 1.5."],
    ["[x for x in notes.echo(value='abc')]", "1:13 type_error A comprehension goes over a list, not a string."],
    [
      "x = notes.echo(value={'items': []})\n[y for y in x]",
      "2:13 type_error A comprehension goes over a list, not a dict: its items are in x.items.",
    ],
  ])("%s", async (program, message) => {
    expect(await failure(program)).toBe(message);
  });

  test("a name that every JavaScript object has is not a member, however the program writes the name", async () => {
    for (const name of ["toString", "hasOwnProperty", "__defineGetter__", "length"]) {
      expect(await failure(`x = {"a": 1}\nx.${name}`)).toContain(`x has no member ${name}.`);
      expect(await failure(`x = notes.echo(value=["a"])\nx[f"${name}"]`)).toContain("no_such_member x is a list");
      expect(await failure(`x = notes.echo(value="a")\nx[f"${name}"]`)).toContain("no_such_member x is a string");
    }
    for (const name of ["__proto__", "constructor", "prototype"]) {
      expect(await failure(`x = {"a": 1}\nx[f"${name}"]`)).toContain(`The name ${name} is not allowed.`);
      expect(await failure(`{f"${name}": 1}`)).toContain(`The name ${name} is not allowed.`);
      expect(await failure(`x = notes.get(id="a")\nx["${name.slice(0, 3)}" + "${name.slice(3)}"]`)).toContain(
        "is not allowed",
      );
    }
  });
});

describe("the work of a program besides its calls is limited:", () => {
  test.each([
    ["counting", "[1 for a in range(1000000000)]", "too_much_work"],
    ["counting within counting", "[1 for a in range(1000) for b in range(1000)]", "too_much_work"],
    [
      "texts that double",
      Array.from({ length: 60 }, (_, i) => (i === 0 ? "x = 'aaaaaaaa'" : "x = x + x")).join("\n"),
      "too_much_work|value_too_large",
    ],
    [
      "lists that double",
      Array.from({ length: 60 }, (_, i) => (i === 0 ? "x = [1]" : "x = x + x")).join("\n"),
      "too_much_work|value_too_large",
    ],
    [
      "lists that hold the list before twice",
      Array.from({ length: 60 }, (_, i) => (i === 0 ? "x = [1]" : "x = [x, x]")).join("\n"),
      "value_too_large",
    ],
    ["searching", `x = "${"a".repeat(30_000)}"\n[1 for i in range(9) if "b" + x in x + x]`, "too_much_work"],
    [
      "nesting",
      Array.from({ length: 5_000 }, (_, i) => (i === 0 ? "x = []" : "x = [x]")).join("\n"),
      "value_too_large",
    ],
    ["comparing", `x = [${"1,".repeat(5_000)}]\n[1 for a in x if x == x]`, "too_much_work"],
  ])("%s", async (_, program, code) => {
    expect(await failure(program)).toMatch(new RegExp(`^\\d+:\\d+ (${code}) `));
  });

  test("a dict of 100,000 keys does not fit in a program", async () => {
    const dict = `{${Array.from({ length: 100_000 }, (_, index) => `"k${index}": 1`).join(", ")}}`;
    await expect(valueOf(dict)).rejects.toThrow("A program can have 65536 bytes at most.");
  });
});

test("`isPartlyUnknown` looks at each part of a value once, however often the part occurs", () => {
  let looks = 0;
  const ownKeys = (of: unknown[]) => {
    looks += 1;
    return Reflect.ownKeys(of);
  };
  const counted = (parts: unknown[]) => new Proxy(parts, { ownKeys });
  const part = counted([0, 1]);
  const value = [part, [part, part], unknownValue];
  expect([isPartlyUnknown(value), isPartlyUnknown([value]), isPartlyUnknown([part]), looks]).toEqual([
    true,
    true,
    false,
    1,
  ]);
});
