import type { Position } from "./ast.ts";
import { LanguageError } from "./errors.ts";
import { clip, messages } from "./messages.ts";
import { closestName } from "./spelling.ts";

const comprehension = (of: string): string => `Write a comprehension: [m.id for m in ${of} if m.active].`;
const appending = (of: string): string => `Write \`${of} + [item]\`, which is a new list.`;
const writeForm = (form: string) => (of: string) => `Write \`${form.replaceAll("x", of)}\`.`;

const methods = new Map<string, (of: string) => string>(
  (
    [
      [appending, "append extend push concat"],
      [writeForm('"…" in x'), "includes contains"],
      [writeForm("x.find(…)"), "indexof"],
      [writeForm("x.startswith(…)"), "startswith"],
      [writeForm("x.endswith(…)"), "endswith"],
      [writeForm("x.lower()"), "tolowercase casefold"],
      [writeForm("x.upper()"), "touppercase"],
      [writeForm("x.strip()"), "trim"],
      [writeForm("str(x)"), "tostring"],
      [writeForm("len(x)"), "length len size"],
      [writeForm('sorted(x, key="name")'), "sort sorted orderby"],
      [writeForm("reversed(x)"), "reverse reversed"],
      [writeForm("x[0:10]"), "slice substring substr"],
      [() => 'A text is made by an f-string, f"{x}".', "format"],
      [() => "There are no patterns: a text is searched by `in`, startswith, endswith and find.", "match search test"],
      [comprehension, "map filter foreach"],
    ] as const
  ).flatMap(([hint, names]) => names.split(" ").map((name) => [name, hint] as const)),
);

/**
 * The hint for a method that is misspelt, or that another language has. `of` is the value before the dot, and
 * `methodNames` are the methods of this language.
 */
export function methodHintOf(name: string, of: string, methodNames: Iterable<string>): string {
  const hint = methods.get(name.replaceAll("_", "").toLowerCase())?.(of);
  if (hint !== undefined) return hint;
  const names = [...methodNames];
  const meant = closestName(name, names);
  return `There is no method ${clip(name)}. ${meant === undefined ? `The methods are ${names.join(", ")}.` : `Did you mean ${meant}?`}`;
}

/** The error for a method that does not exist, on a value that has no name. */
export const unknownMethod = (at: Position, name: string, methodNames: Iterable<string>): LanguageError =>
  new LanguageError(at, methodHintOf(name, "x", methodNames), { code: "unknown_function" });

/**
 * Hints for words and signs of other languages, and for unsupported parts of Starlark. Most say what to write instead.
 */
const hints: Record<string, string> = {
  else: "An `else` belongs to a value with `if`: `x if condition else y`.",
  elif: "There is no `if` statement: filter in a comprehension, `[f(x=m.id) for m in page.items if m.active]`.",
  while: "There are only comprehensions, no other loops: write `[f(x=m.id) for m in page.items]`.",
  def: "Functions cannot be defined: write the calls one after another, or a comprehension.",
  lambda:
    'Functions cannot be defined: `sorted(xs, key="name")` sorts by a member. Elsewhere write the expression where you need it.',
  return: "There is no `return`: write the value alone on the last line. The answer has it as last_value.",
  import: "There are no imports: call every function by its full name, as in `workspaces.list(account_id=…)`.",
  from: 'There are no imports: call every function by its full name. To read a member of this name, write `x["from"]`.',
  load: "There is no `load`: call every function by its full name, as in `workspaces.list(account_id=…)`.",
  await: "Leave out `await`: the value of a call is its result.",
  async: "Leave out `async`: the value of a call is its result.",
  is: "Write `==` for `is`, and `!=` for `is not`.",
  try: "Errors cannot be caught: the first call that fails ends the program. The answer says which calls completed.",
  raise: "Errors cannot be raised: leave this out.",
  assert: "There is no `assert`: leave it out, and read the answer.",
  pass: "There is no `pass`: leave it out.",
  del: "Variables cannot be deleted: leave this out, or assign another value.",
  "=>": "Write arguments as `name=value`. There is no `=>`, because functions cannot be defined.",
  "->": "There is no `->`: write `x.name`.",
  ":=": "Assign on a line of its own: `name = value`.",
  "===": "Write `==` for `===`.",
  "!==": "Write `!=` for `!==`.",
  "&&": "Write `and` for `&&`.",
  "||": "Write `or` for `||`.",
  "!": "Write `not` for `!`.",
  "//": "A comment begins with `#`; `//` divides two whole numbers.",
  "**": "There is no `**` for arguments: write each as `name=value`.",
  "*": "There is no `*` for arguments: write each as `name=value`.",
  "/": "Only whole numbers can be divided: write `a // b`, which rounds down.",
  "|": "There is no `|`: write `or` between conditions. Dicts cannot be merged: write each member.",
  "&": "Write `and` for `&`.",
  "?": "There is no `?`: write `value if condition else other`.",
  "?.": "There is no `?.`: write `x and x.name`.",
  "%": "`%` stands between two whole numbers: it is the remainder of their division.",
  "`": 'Put text in straight quotes: "text", or f"{x}" with values in it.',
  "“": 'Put text in straight quotes: "text".',
  "”": 'Put text in straight quotes: "text".',
  "‘": "Put text in straight quotes: 'text'.",
  "’": "Put text in straight quotes: 'text'.",
  $: 'There is no `$`: put a value into a text with an f-string, f"{x}".',
  with: "There is no `with`: write the calls one after another, each on a line of its own.",
  class: 'There are no classes: use a dict for members, {"name": value}.',
  global: "Leave this word out: every later line can use a variable.",
  "```": "Leave out the ``` lines: they are allowed only around the whole program.",
};
/** Words and signs that have the hint of another word or sign. */
const sameHint = new Map(
  Object.entries({
    break: "while",
    continue: "while",
    except: "try",
    finally: "try",
    yield: "return",
    nonlocal: "global",
    "/=": "/",
  }),
);
const augmentedAssignment = /^(?:\/\/|[-+*%])=$/;

/** The hint for a word or sign; undefined if there is none. */
export function hintOf(text: string): string | undefined {
  if (augmentedAssignment.test(text)) return `Write \`x = x ${text.slice(0, -1)} 1\`: there is no \`${text}\`.`;
  return table.get(sameHint.get(text) ?? text);
}
const table = new Map(Object.entries(hints));

/**
 * Hints for `*` and `**`. A key consists of the sign and its place. The place is `value` if the sign follows a value.
 * Otherwise it is the innermost open bracket.
 */
const stars = new Map([
  ["* [", "`*` does not spread a list: write `a + [b]`."],
  ["** value", "There are no powers: write the whole number."],
  ["** {", 'Dicts cannot be merged: write each member, {"name": d.name, "more": 1}.'],
]);

/** The hint for a sign of another language. `before` has the kinds of the tokens before the sign. */
export function signHintOf(sign: string, before: readonly string[]): string | undefined {
  const isAfterValue = /^(?:name|string|format|number|[)\]}])$/.test(before.at(-1) ?? "");
  return stars.get(`${sign} ${isAfterValue ? "value" : openBracket(before)}`) ?? hintOf(sign);
}

const suffix = /:|![a-z]\s*[}:]/y;

/**
 * The message for a format, which begins with a colon, or a conversion, such as `!r`, at this offset in a value of an
 * f-string. The language has neither of them. Undefined if there is none.
 */
export function suffixFaultAt(source: string, offset: number): string | undefined {
  suffix.lastIndex = offset;
  const [found] = suffix.exec(source) ?? [];
  return found && (found === ":" ? messages.format : messages.conversion);
}

/** The innermost bracket that is open after tokens of these kinds; empty if none is open. */
function openBracket(kinds: readonly string[]): string {
  let closed = 0;
  for (const kind of kinds.toReversed()) {
    if (/^[)\]}]$/.test(kind)) closed += 1;
    if (!/^[([{]$/.test(kind)) continue;
    if (closed === 0) return kind;
    closed -= 1;
  }
  return "";
}

/** Tells whether a `for` comes before the closing bracket of the current dict. */
export function isDictComprehension(tokens: readonly { kind: string }[]): boolean {
  let open = 0;
  for (const { kind } of tokens) {
    if (open === 0 && kind === "for") return true;
    if (/^[([{]$/.test(kind)) open += 1;
    if (!/^[)\]}]$/.test(kind)) continue;
    if (open === 0) return false;
    open -= 1;
  }
  return false;
}

const firstLine = /\S[^\r\n]{0,500}/;

/**
 * The hint for a text that begins with prose. Prose begins with two words that have no meaning in this language, and no
 * valid program begins so. A line of single words between commas is a tuple, and no prose. `missing` has the hints for
 * builtins of Python that the language does not have.
 */
export function proseHintOf(source: string, missing: ReadonlyMap<string, string>): string | undefined {
  const [line = ""] = firstLine.exec(source) ?? [];
  const words = line.split(/[\s,]+/);
  const beginsWithWords = words.slice(0, 2).every((word) => /^[\p{L}'’]+$/u.test(word) && !hasMeaning(word));
  const isTuple = /^[\p{L}'’]+(?:\s*,\s*[\p{L}'’]+)+[\s,]*$/u.test(line);
  if (words.length < 2 || !beginsWithWords || isTuple || /[()[\]{}="#;]/.test(line)) return undefined;
  return (
    missing.get(words[0] ?? "") ??
    'This is not a program: write calls, such as `domains.list(account_id="…")`; `functions.search(query="…")` finds functions.'
  );
}

/**
 * Whether a word has a meaning in this language, or a hint of its own. If one of the first two words of a text has one,
 * the text does not count as prose.
 */
const hasMeaning = (word: string): boolean =>
  /^(?:and|or|not|in|for|if|else|as)$/.test(word) || table.has(word) || statements.has(word);

const statements = new Map([
  ["for", "There is no `for` statement: write a comprehension, `[f(x=m.id) for m in page.items]`."],
  [
    "if",
    "There is no `if` statement: write `len(xs) == 0 and f(x=1)`, `f(x=1) if len(xs) == 0 else None`, or filter in a comprehension, `[f(x=m.id) for m in page.items if m.active]`.",
  ],
  ["function", "Functions cannot be defined: write the calls one after another, or a comprehension."],
  ...["const", "let", "var"].map((word): [string, string] => [
    word,
    `Leave out \`${word}\`: assign with \`name = value\`.`,
  ]),
]);

/** The hint for a word that begins a statement in another language. */
export const statementHintOf = (text: string): string | undefined => statements.get(text);
