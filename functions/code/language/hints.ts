import { builtinHintOf } from "./value-hints.ts";

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
const same: Record<string, string> = { break: "while", continue: "while", except: "try", finally: "try" };
const others: Record<string, string> = { yield: "return", nonlocal: "global", "/=": "/" };

/** The sentence that says what to write instead of a word or sign; undefined where there is none. */
export function hintOf(text: string): string | undefined {
  const key = new Map(Object.entries({ ...same, ...others })).get(text) ?? text;
  return table.get(key);
}
const table = new Map(Object.entries(hints));

/** What `*` and `**` are written for, besides arguments. */
const stars = new Map([
  ["* value", "There is no multiplication: write the number or the text out, or a list `[x for i in range(3)]`."],
  ["* [", "`*` does not spread a list: write `a + [b]`."],
  ["** value", "There are no powers: write the number out."],
  ["** {", 'Dicts are not merged: write each member, {"name": d.name, "more": 1}.'],
]);

/** The sentence for a sign of other languages, after tokens of these kinds. */
export function signHintOf(sign: string, before: readonly string[]): string | undefined {
  const isAfterValue = /^(?:name|string|format|number|[)\]}])$/.test(before.at(-1) ?? "");
  const star = sign === "*=" ? "*" : sign;
  return stars.get(`${star} ${isAfterValue ? "value" : openBracket(before)}`) ?? hintOf(star);
}

/** The bracket that is open after tokens of these kinds. */
function openBracket(kinds: readonly string[]): string {
  let closed = 0;
  for (const kind of kinds.toReversed()) {
    if (/^[)\]}]$/.test(kind)) closed += 1;
    else if (/^[([{]$/.test(kind) && (closed -= 1) < 0) return kind;
  }
  return "";
}

/** Whether there is a `for` among these tokens before the bracket closes that they stand in. */
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

/** The sentence for a program that begins with words as people say them: no line of the language has two names in a row. */
export function proseHintOf(source: string): string | undefined {
  const [line = ""] = firstLine.exec(source) ?? [];
  const words = line.split(/[\s,]+/);
  const begins = words.slice(0, 2).every((word) => /^[\p{L}'’]+$/u.test(word) && !isWord(word));
  if (words.length < 2 || !begins || /[()[\]{}="#;]/.test(line)) return undefined;
  return (
    builtinHintOf(words[0] ?? "") ??
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

/** The sentence for the word that a statement of another language begins with. */
export const statementHintOf = (text: string): string | undefined => statements.get(text);
