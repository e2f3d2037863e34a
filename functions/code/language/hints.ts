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

/** The hint for a method of another language. `given` is its first argument if that is a text. */
export const methodHintOf = (name: string, of: string, given = "…"): string =>
  methods.get(name.replaceAll("_", "").toLowerCase())?.(of, given) ??
  "Values have no methods: only members, as in x.name.";

/** Hints that replace words and signs of other languages, and the parts of Starlark that are not supported. */
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
  "!": "Write `not` for `!`.",
  "//": "A comment begins with `#`, and there is no division: `//` is not known.",
  "**": "Arguments are given as `name=value`, each by itself: `**` is not known.",
  "*": "Arguments are given as `name=value`, each by itself: `*` is not known.",
  "/": "There is no division: answer both numbers, and divide them where you read them.",
  "|": "There is no `|`: write `or` between conditions; dicts are not merged, but written member by member.",
  "&": "Write `and` for `&`.",
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
  with: "There is no `with`: write the calls one after another, each on a line of its own.",
  class: 'There are no classes: a dict holds members, {"name": value}.',
  global: "Leave this word out: a name is known to every line after the one that gives it a value.",
  "```": "Leave out the ``` lines: they may stand around the whole program only.",
};
const sameHint: Record<string, string> = { break: "while", continue: "while", except: "try", finally: "try" };
const moreHints: Record<string, string> = { yield: "return", nonlocal: "global", "/=": "/" };

/** The hint for a word or sign; undefined if there is none. */
export function hintOf(text: string): string | undefined {
  const key = new Map(Object.entries({ ...sameHint, ...moreHints })).get(text) ?? text;
  return table.get(key);
}
const table = new Map(Object.entries(hints));

/** Hints for `*` and `**` by the following or preceding token, outside of arguments. */
const stars = new Map([
  ["* value", "There is no multiplication: write the number or the text out, or a list `[x for i in range(3)]`."],
  ["* [", "`*` does not spread a list: write `a + [b]`."],
  ["** value", "There are no powers: write the number out."],
  ["** {", 'Dicts are not merged: write each member, {"name": d.name, "more": 1}.'],
]);

/** The hint for a sign of another language, after tokens of these kinds. */
export function signHintOf(sign: string, before: readonly string[]): string | undefined {
  const isAfterValue = /^(?:name|string|format|number|[)\]}])$/.test(before.at(-1) ?? "");
  const star = sign === "*=" ? "*" : sign;
  return stars.get(`${star} ${isAfterValue ? "value" : openBracket(before)}`) ?? hintOf(star);
}

/** The innermost bracket that is open after tokens of these kinds. */
function openBracket(kinds: readonly string[]): string {
  let closed = 0;
  for (const kind of kinds.toReversed()) {
    if (/^[)\]}]$/.test(kind)) closed += 1;
    else if (/^[([{]$/.test(kind) && (closed -= 1) < 0) return kind;
  }
  return "";
}

/** Tells whether a `for` comes before the closing bracket of the current dict. */
export function isDictComprehension(tokens: readonly { kind: string }[]): boolean {
  let open = 0;
  for (const { kind } of tokens) {
    if (open === 0 && kind === "for") return true;
    if (/^[([{]$/.test(kind)) open += 1;
    else if (/^[)\]}]$/.test(kind) && (open -= 1) < 0) return false;
  }
  return false;
}

const firstLine = /\S[^\r\n]{0,500}/;

/**
 * The hint for a program that begins with plain prose: no line of the language has two names in a row.
 * `missing` has the hints for functions that are builtins of Python only.
 */
export function proseHintOf(source: string, missing: ReadonlyMap<string, string>): string | undefined {
  const [line = ""] = firstLine.exec(source) ?? [];
  const words = line.split(/[\s,]+/);
  const begins = words.slice(0, 2).every((word) => /^[\p{L}'’]+$/u.test(word) && !isWord(word));
  if (words.length < 2 || !begins || /[()[\]{}="#;]/.test(line)) return undefined;
  return (
    missing.get(words[0] ?? "") ??
    'This reads programs, not sentences: write calls, such as `domains.list(account_id="…")`; `functions.search(query="…")` finds functions.'
  );
}

const isWord = (word: string): boolean =>
  /^(?:and|or|not|in|for|if|as)$/.test(word) || table.has(word) || statements.has(word);

const statements = new Map([
  ["for", "There is no `for` statement: write a comprehension, `[f(x=m.id) for m in page.items]`."],
  [
    "if",
    "There is no `if` statement: write `len(xs) == 0 and f(x=1)`, or filter in a comprehension, `[f(x=m.id) for m in page.items if m.active]`.",
  ],
  ["function", "Functions cannot be defined: write the calls one after another, or a comprehension."],
  ...["const", "let", "var"].map((word): [string, string] => [
    word,
    `Leave out \`${word}\`: a value gets its name by \`name = value\`.`,
  ]),
]);

/** The hint for a word that begins a statement in another language. */
export const statementHintOf = (text: string): string | undefined => statements.get(text);
