/** What to write instead of the functions and methods that values of other languages have built in. */
const builtins = new Map([
  ["print", "There is no print: end with the value alone on the last line, and it is answered as last_value."],
  ["str", 'There is no str: write an f-string, f"{x}".'],
  ["enumerate", "There is no enumerate: write `for i in range(len(xs))` and `xs[i]`."],
  ["zip", "There is no zip: write `for i in range(len(xs))`, and `xs[i]` and `ys[i]`."],
  ["dict", 'There is no dict(): write {"key": value}.'],
  ["list", "There is no list(): lists are lists already."],
  ["any", "There is no any(): write `len([x for x in xs if x.active]) > 0`."],
  ["all", "There is no all(): write `len([x for x in xs if not x.active]) == 0`."],
  ["map", "There is no map(): write a comprehension, `[x.id for x in xs]`."],
  ["filter", "There is no filter(): write a comprehension, `[x for x in xs if x.active]`."],
  [
    "sum",
    "There is no sum(): write `a + b`, or end with the numbers, `[x.total for x in xs]`, and add them up where you read them.",
  ],
  ...["sorted", "min", "max", "reversed"].map((name): [string, string] => [
    name,
    `There is no ${name}(): end with the values, \`[x.name for x in xs]\`, and order them where you read them.`,
  ]),
  ...["int", "float", "bool", "set", "type"].map((name): [string, string] => [
    name,
    `There is no ${name}(): the built-in functions are len(x) and, in a comprehension, range(n).`,
  ]),
  ...["help", "dir", "vars"].map((name): [string, string] => [
    name,
    `There is no ${name}(): functions.search(query="…") finds functions, and functions.explain(name="…") tells what one takes and answers.`,
  ]),
]);

/** The sentence for a function that other languages have built in. */
export const builtinHintOf = (name: string): string | undefined => builtins.get(name);

const comprehension = (of: string): string => `Write a comprehension: [x.id for x in ${of} if x.active].`;
const appending = (of: string): string => `Write \`${of} + [item]\`, which is a new list.`;
const length = (of: string): string => `Write len(${of}).`;
const containing = (of: string, given: string): string =>
  `Values have no methods: write \`${JSON.stringify(given)} in ${of}\`, which finds it anywhere in a text; its beginning or end alone cannot be asked for.`;
const making = (): string => 'Values have no methods: a text is made by an f-string, f"{x}", or by `+`.';
const asItIs = (of: string): string =>
  `Values have no methods: a text is used as it is, \`${of}\`, and compared by \`==\`, or by \`in\` with a part of it.`;
const members = (of: string): string =>
  `The members of a dict are read by their names; the items of a page are ${of}.items, without the brackets.`;

const methods = new Map<string, (of: string, given: string) => string>(
  (
    [
      [(of: string) => `Write ${of}["key"] for ${of}.get("key").`, "get"],
      [appending, "append extend push concat"],
      [containing, "endswith startswith includes contains find index indexof match search"],
      [making, "format join replace tostring"],
      [asItIs, "lower upper tolowercase touppercase casefold title capitalize strip trim split"],
      [members, "items keys values"],
      [comprehension, "map filter foreach sort sorted"],
      [length, "length len count size"],
    ] as const
  ).flatMap(([hint, names]) => names.split(" ").map((name) => [name, hint] as const)),
);

/** The sentence for a method that values of other languages have; `given` is its first argument, as far as it is a text. */
export const methodHintOf = (name: string, of: string, given = "…"): string =>
  methods.get(name.replaceAll("_", "").toLowerCase())?.(of, given) ??
  "Values have no methods: only members, as in x.name.";
