/** What to write instead of the words and signs of other languages, and of those parts of Starlark that are not here. */
const hints: Record<string, string> = {
  else: "There is no `if` expression: write `condition and value or other`, or a comprehension with `if`.",
  elif: "There is no `if` statement: filter in a comprehension, `[f(x=m.id) for m in page.items if m.active]`.",
  while: "There are no loops but comprehensions: write `[f(x=m.id) for m in page.items]`.",
  def: "Functions cannot be defined: write the calls one after another, or a comprehension.",
  lambda: "Functions cannot be defined: write the expression where it is needed.",
  return: "There is no `return`: end with the value alone on the last line, and it is answered as last_value.",
  import: "Nothing is imported: every function is there by its full name, as in `workspaces.list(account_id=…)`.",
  from: 'Nothing is imported: every function is there by its full name. A member of this name is read by `x["from"]`.',
  load: "Nothing is loaded: every function is there by its full name, as in `workspaces.list(account_id=…)`.",
  await: "Leave out `await`: a call stands for its result.",
  async: "Leave out `async`: a call stands for its result.",
  is: "Write `==` for `is`, and `!=` for `is not`.",
  try: "Errors are not caught: the first call that fails ends the program, and its answer says which calls completed.",
  raise: "Errors are not raised: leave this out.",
  assert: "There is no `assert`: leave it out, and read the answer.",
  pass: "There is no `pass`: leave it out.",
  del: "Variables are not deleted: leave this out, or give the name another value.",
  "=>": "Arguments are given as `name=value`, and functions cannot be defined: `=>` is not known.",
  "->": "A member is read by `x.name`: `->` is not known.",
  ":=": "A value gets its name on a line of its own: `name = value`.",
  "===": "Write `==` for `===`.",
  "!==": "Write `!=` for `!==`.",
  "&&": "Write `and` for `&&`.",
  "||": "Write `or` for `||`.",
  "!": "Write `not` for `!`. A value in an f-string stands alone in its braces, without a conversion.",
  "//": "A comment begins with `#`, and there is no division: `//` is not known.",
  "**": "Arguments are given as `name=value`, each by itself: `**` is not known.",
  "*": "Arguments are given as `name=value`, each by itself, and there is no multiplication: `*` is not known.",
  "-=": "Write `x = x + -1`: there is no `-=`.",
  "+=": "Write `x = x + 1`: there is no `+=`.",
  "?": "There is no `?`: write `condition and value or other`.",
  "?.": "There is no `?.`: write `x and x.name`.",
  "%": 'There is no `%`: write an f-string, f"{x} and {y}".',
  "`": 'Text needs straight quotes: "text", or f"{x}" with values in it.',
  "“": 'Text needs straight quotes: "text".',
  "”": 'Text needs straight quotes: "text".',
  "‘": "Text needs straight quotes: 'text'.",
  "’": "Text needs straight quotes: 'text'.",
  $: 'There is no `$`: a value is put in a text by an f-string, f"{x}".',
};
const same: Record<string, string> = { break: "while", continue: "while", with: "try", except: "try", finally: "try" };
const others: Record<string, string> = { class: "def", yield: "return", global: "def", nonlocal: "def", "*=": "*" };

/** The sentence that says what to write instead of a word or sign; undefined where there is none. */
export function hintOf(text: string): string | undefined {
  const key = new Map(Object.entries({ ...same, ...others })).get(text) ?? text;
  return table.get(key);
}
const table = new Map(Object.entries(hints));

const statements = new Map([
  ["for", "There is no `for` statement: write a comprehension, `[f(x=m.id) for m in page.items]`."],
  ["if", "There is no `if` statement: filter in a comprehension, `[f(x=m.id) for m in page.items if m.active]`."],
  ...["const", "let", "var"].map((word): [string, string] => [
    word,
    `Leave out \`${word}\`: a value gets its name by \`name = value\`.`,
  ]),
]);

/** The sentence for the word that a statement of another language begins with. */
export const statementHintOf = (text: string): string | undefined => statements.get(text);

const builtins = new Map([
  ["print", "There is no print: end with the value alone on the last line, and it is answered as last_value."],
  ["str", 'There is no str: write an f-string, f"{x}".'],
  ["enumerate", "There is no enumerate: write `for i in range(len(xs))` and `xs[i]`."],
  ["zip", "There is no zip: write `for i in range(len(xs))`, and `xs[i]` and `ys[i]`."],
  ["dict", 'There is no dict(): write {"key": value}.'],
  ["list", "There is no list(): lists are lists already."],
  ...[
    "int",
    "float",
    "bool",
    "sorted",
    "sum",
    "min",
    "max",
    "any",
    "all",
    "map",
    "filter",
    "set",
    "type",
    "reversed",
  ].map((name): [string, string] => [
    name,
    `There is no ${name}(): the built-in functions are len(x) and, in a comprehension, range(n).`,
  ]),
]);

/** The sentence for a function that other languages have built in. */
export const builtinHintOf = (name: string): string | undefined => builtins.get(name);

/** The sentence for a method that values of other languages have. */
export function methodHintOf(name: string, of: string): string {
  switch (name) {
    case "get":
      return `Write ${of}["key"] for ${of}.get("key").`;
    case "append":
    case "extend":
      return `Write \`${of} + [item]\`, which is a new list.`;
    case "format":
    case "join":
    case "replace":
      return 'A text is made by an f-string, f"{x}", or by `+`.';
    case "items":
    case "keys":
    case "values":
      return `The members of a dict are read by their names; the items of a page are ${of}.items, without the brackets.`;
    case "map":
    case "filter":
    case "forEach":
      return `Write a comprehension: [x.id for x in ${of} if x.active].`;
    case "length":
    case "len":
    case "count":
    case "size":
      return `Write len(${of}).`;
    default:
      return "Values have no methods: only members, as in x.name.";
  }
}
